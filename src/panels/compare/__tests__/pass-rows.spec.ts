/** Two passes of a cell side by side: figures of each alone, and a headline by how long each took. */
import { ask } from '../../../observer/__tests__/ask';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import { RunStatus, SpanOrigin } from '../../../records/enumerations';
import type { TableName } from '../../../records/tables';
import { type Row, rowsToBlock } from '../../../testing/rows-to-block';
import { english } from '../../../testing/translators';
import type { Filter } from '../../../wire/panel-link';
import { tookSeconds } from '../../passes';
import {
  type ChosenPass,
  passesToChoose,
  rowsOfPass,
  shortName,
  withinPass
} from '../chosen-pass';
import { METRICS_PARAMS } from '../model';
import {
  type By,
  type Figure,
  figureRows,
  headline,
  matchText,
  shortHeadline,
  namedRows,
  type Side,
  type Sides,
  tableOf
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

const NAMES = ['a.ipynb', '# fit', 'train', 'f', 'g', 'seconds'];
const name = (text: string) => NAMES.indexOf(text) + 1;

type Over = {
  /** The last task of the first pass. */
  readonly lastOfFirst?: Row;
  /** The last task of the second pass. */
  readonly last?: Row;
  /** Null: it is open. */
  readonly closed?: number | null;
  readonly reused?: number;
  /** When the tasks of the first pass were, f and g; left out: it is not told. */
  readonly submitted?: readonly [number, number];
  /** Those of the second. */
  readonly submittedLast?: readonly [number, number];
  readonly without?: readonly string[];
};

/**
 *     [3]  0 ├ f: 1–4 (train) · g: 4–5 ┤ 5           [7]  10 ├ f: 10.5–12.5 (train) · g: 12.5–13.5 ┤ 13.5
 */
function notebook({
  lastOfFirst = {},
  last = {},
  closed = 13.5,
  reused = 0,
  submitted,
  submittedLast,
  without = []
}: Over = {}) {
  const log = new LogStore('passes');
  const say = (table: TableName, rows: readonly Row[]): void =>
    ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
  say(
    'names',
    NAMES.map((text, i) => ({ id: i + 1, text }))
  );
  say('workers', [{ worker: 0, threads: 1, left: NaN }]);
  say('lanes', [{ lane: 0, worker: 0 }]);
  const cell = (id: number, execution: number) => ({
    id,
    parent: 1,
    tag: name('# fit'),
    origin: SpanOrigin.Cell,
    uuid: `cell ${id}`,
    code: JSON.stringify([{ filename: `In [${execution}]`, cell: 'c0ffee' }])
  });
  const train = (id: number, parent: number, opened: number) => ({
    id,
    parent,
    opened,
    tag: name('train'),
    origin: SpanOrigin.User,
    uuid: `train ${id}`,
    closed: 13
  });
  say('spans', [
    {
      id: 1,
      tag: name('a.ipynb'),
      origin: SpanOrigin.Notebook,
      uuid: 'root',
      closed: NaN
    },
    { ...cell(2, 3), opened: 0, closed: 5 },
    { ...cell(3, 7), opened: 10, closed: closed ?? NaN, reused },
    train(4, 2, 1),
    train(5, 3, 10.5)
  ]);
  const runs = [
    { of: '3 f', span: 4, function: name('f'), start: 1, duration: 3 },
    {
      of: '3 g',
      span: 2,
      function: name('g'),
      start: 4,
      duration: 1,
      ...lastOfFirst
    },
    { of: '7 f', span: 5, function: name('f'), start: 10.5, duration: 2 },
    {
      of: '7 g',
      span: 3,
      function: name('g'),
      start: 12.5,
      duration: 1,
      ...last
    }
  ];
  const nodes = (spans: readonly number[], times: readonly number[]) =>
    times.map((time, i) => ({
      node: 10 + i,
      span: spans[i]!,
      submitted: time
    }));
  say('nodes', [
    ...nodes([4, 2], submitted ?? []),
    ...nodes([5, 3], submittedLast ?? [])
  ]);
  say(
    'runs',
    runs
      .filter(({ of }) => !without.includes(of))
      .map(({ of: _of, ...run }, i) => ({
        ...run,
        run: i,
        node: i,
        lane: 0,
        cpu: run.duration / 2
      }))
  );
  return log;
}

function sidesOf(log: LogStore, filter: Filter = {}, isOver = false): Sides {
  const spans = ask(log, 'spans');
  const passSide = (pass: ChosenPass): Side['pass'] => {
    const rows = rowsOfPass(spans, pass);
    return { rows, took: tookSeconds(rows), isOver };
  };
  const side = (pass: ChosenPass): Side => ({
    name: shortName(pass, 0, english),
    kind: 'embedded',
    metrics: ask(log, 'fine-metrics', {
      params: METRICS_PARAMS,
      filter: withinPass(filter, pass)
    }),
    spans,
    memory: null,
    pass: passSide(pass)
  });
  const passes = new Map(
    spans.rows
      .filter(({ origin }) => origin === 'cell')
      .map(row => [row.execution, row])
  );
  const of = (execution: number): ChosenPass => {
    const row = passes.get(execution)!;
    return {
      cluster: 'k',
      id: row.id!,
      path: row.path,
      title: row.tag,
      opened: row.opened,
      execution,
      place: null
    };
  };
  return [side(of(3)), side(of(7))];
}

function said(over?: Over, filter: Filter = {}, isOver = false): string {
  const isFiltered = Object.keys(filter).length > 0;
  return plain(
    headline(sidesOf(notebook(over), filter, isOver), isFiltered, english)
  );
}

describe('two passes of a cell', () => {
  const sides = sidesOf(notebook());

  it('have a headline by how long each took', () => {
    expect(said()).toBe(
      '# fit [7] is 1.50 s faster: 3.50 s instead of 5.00 s (−30 %)'
    );
    expect(plain(matchText(sides, english))).toBe(
      '2 of 2 functions ran in both · 1 and 1 threads'
    );
  });

  it('are compared by figures of each alone; those of the whole run are left out', () => {
    const figures = Object.fromEntries(
      figureRows(sides, false, english).map(({ id, values }) => [id, values])
    );
    expect(figures).toMatchObject({
      took: [5, 3.5],
      tasks: [2, 2],
      executions: [2, 2],
      busy: [4, 3],
      cpu: [2, 1.5]
    });
    expect(Object.keys(figures)).not.toContain('wall');
    expect(Object.keys(figures)).not.toContain('peak');
    const named = (by: By, figure: Figure) =>
      Object.fromEntries(
        namedRows(sides, by, figure).map(row => [row.name, row.values])
      );
    expect(named('function', 'thread')).toEqual({ f: [3, 2], g: [1, 1] });
    expect(named('span', 'thread')).toEqual({ train: [3, 2], default: [1, 1] });
    expect(named('span', 'tasks')).toEqual({ train: [1, 1], default: [1, 1] });
    expect(
      tableOf(sides, false, english).rows[0]?.map(({ text }) => text)
    ).toEqual(expect.arrayContaining(['Pass', 'Time taken']));
  });

  it('are listed by the number that stood beside the cell, with the spans in them', () => {
    const listed = passesToChoose('k', ask(notebook(), 'spans'));
    expect(listed.map(pass => shortName(pass, 0, english))).toEqual([
      'train (2 of 2)',
      '# fit [7]',
      'train (1 of 2)',
      '# fit [3]'
    ]);
  });

  it('are compared by thread time under a filter, and beside a whole run', () => {
    expect(said({}, { functions: ['f'] })).toBe(
      '# fit [7] held threads 1.00 s less: 2.00 s instead of 3.00 s (−33 %)'
    );
    const [, second] = sides;
    const log = notebook();
    const whole: Side = {
      ...second,
      name: 'first-look',
      metrics: ask(log, 'fine-metrics', { params: METRICS_PARAMS }),
      pass: null
    };
    expect(plain(headline([whole, second], false, english))).toBe(
      '# fit [7] held threads 4.00 s less: 3.00 s instead of 7.00 s (−57 %)'
    );
  });

  it('are not called faster or slower where one goes on, failed, ran nothing or stands for several, and that is said', () => {
    expect(said({ closed: null })).toBe('# fit [7] still runs');
    expect(said({ closed: null }, {}, true)).toBe(
      'nobody has told when # fit [7] ended'
    );
    expect(said({ last: { status: RunStatus.Failed } })).toBe(
      '# fit [7] took 3.50 s, # fit [3] took 5.00 s: 1 of 2 task runs of # fit [7] failed'
    );
    const failed = { status: RunStatus.Failed };
    expect(said({ lastOfFirst: failed, last: failed })).toBe(
      '# fit [7] took 3.50 s, # fit [3] took 5.00 s: 1 of 2 task runs of # fit [3] failed, 1 of 2 task runs of # fit [7] failed'
    );
    // Also where the other one has done no more.
    expect(said({ without: ['3 g'], last: failed })).toBe(
      '# fit [7] took 3.50 s, # fit [3] took 5.00 s: 1 of 2 task runs of # fit [7] failed'
    );
    expect(said({ without: ['7 f', '7 g'] })).toBe(
      '# fit [7] took 3.50 s, # fit [3] took 5.00 s: no task of # fit [7] has ended'
    );
    expect(said({ without: ['7 f', '7 g'], reused: 2 })).toBe(
      '# fit [7] took 3.50 s, # fit [3] took 5.00 s: nothing ran in # fit [7], 2 results of # fit [7] were there already'
    );
    const [first, second] = sides;
    const shared: Side = {
      ...second,
      pass: { rows: [], took: null, isOver: false }
    };
    expect(plain(headline([first, shared], false, english))).toBe(
      '# fit [7] is counted together with others'
    );
    const took = figureRows([first, shared], false, english)[0]!;
    expect([took.values, took.why[1]]).toEqual([
      [5, null],
      'It is counted together with others.'
    ]);
  });

  it('have a line that is read at a glance, with short names or none, and the rest below it', () => {
    const short = (over?: Over, isOver = false) => {
      const { line, details } = shortHeadline(
        sidesOf(notebook(over), {}, isOver),
        false,
        english
      );
      return [line, ...details].map(plain);
    };
    const cancelled = { status: RunStatus.Cancelled };
    expect(short({ last: cancelled, without: ['7 f'] })).toEqual([
      'No verdict: tasks of the second pass were cancelled',
      '1.00 s of thread time of # fit [7] went into failed, cancelled or lost tasks'
    ]);
    const failed = { status: RunStatus.Failed };
    expect(short({ lastOfFirst: failed, last: failed })).toEqual([
      'No verdict: tasks of both passes failed',
      '1 of 2 task runs of # fit [3] failed',
      '1 of 2 task runs of # fit [7] failed'
    ]);
    expect(short({ lastOfFirst: failed })[0]).toBe(
      'No verdict: tasks of the first pass failed'
    );
    expect(short({ lastOfFirst: failed, without: ['7 f', '7 g'] })).toEqual([
      'No verdict: neither pass has done all of its work',
      '1 of 2 task runs of # fit [3] failed',
      'no task of # fit [7] has ended'
    ]);
    expect(short({ without: ['7 f', '7 g'], reused: 2 })).toEqual([
      'No verdict: nothing has run in the second pass',
      'nothing ran in # fit [7]',
      '2 results of # fit [7] were there already'
    ]);
    expect(short({ closed: null })).toEqual(['# fit [7] still runs']);
    const [first, second] = sides;
    const long = '# fit the model to all that was prepared';
    const { line } = shortHeadline(
      [
        { ...first, name: `${long} [3]` },
        { ...second, name: `${long} [7]` }
      ],
      false,
      english
    );
    expect(plain(line)).toBe(
      '# fit the model…prepared [7] is 1.50 s faster: 3.50 s instead of 5.00 s (−30 %)'
    );
    expect(short({ reused: 1, without: ['7 g'] })).toEqual([
      '# fit [7] is 1.50 s faster: 3.50 s instead of 5.00 s (−30 %)',
      '1 result of # fit [7] was there already'
    ]);
  });

  it('have no verdict in one sentence, which the translator is asked for as a whole', () => {
    const failed = { status: RunStatus.Failed };
    const cancelled = { status: RunStatus.Cancelled };
    const pairs = [
      sidesOf(notebook({ lastOfFirst: failed, last: failed })),
      sidesOf(notebook({ lastOfFirst: failed })),
      sidesOf(notebook({ last: cancelled, without: ['7 f'] })),
      sidesOf(notebook({ without: ['7 f', '7 g'] }))
    ];
    const asked = new Set<string>();
    const noting = {
      ...english,
      __: (text: string, ...args: unknown[]) => {
        asked.add(text);
        return english.__(text, ...args);
      }
    } as typeof english;
    for (const pair of pairs) {
      const { line } = shortHeadline(pair, false, noting);
      expect(line).toMatch(/^No verdict: /);
      expect(asked).toContain(line);
    }
  });

  it('are told of what one of them had not to compute', () => {
    expect(said({ reused: 1, without: ['7 g'] })).toBe(
      '# fit [7] is 1.50 s faster: 3.50 s instead of 5.00 s (−30 %); 1 result of # fit [7] was there already'
    );
  });

  it('are compared by thread time where tasks ran after one had ended, whoever computed them', () => {
    const sidesThen = sidesOf(notebook({ last: { start: 3600 } }));
    expect(plain(headline(sidesThen, false, english))).toBe(
      '# fit [7] held threads 1.00 s less: 3.00 s instead of 4.00 s (−25 %)'
    );
    const [took, tasks] = figureRows(sidesThen, false, english);
    expect([took!.values, took!.why[1]]).toEqual([
      [5, null],
      'Some of its tasks ran after it had ended.'
    ]);
    expect(tasks!.values).toEqual([2, 2]);
    // Also when nothing more is to come.
    const over = sidesOf(notebook({ last: { start: 3600 } }), {}, true);
    expect(figureRows(over, false, english)[0]!.why[1]).toBe(took!.why[1]);
    const open = sidesOf(notebook({ closed: null }), {}, true);
    expect(figureRows(open, false, english)[0]!.why[1]).toBe(
      'Nobody has told when it ended.'
    );
    // What the clocks of two processes may differ by is no later task.
    expect(said({ closed: 13.495 })).toContain('is 1.51 s faster');
    expect(said({ last: { start: 3600, status: RunStatus.Failed } })).toBe(
      '# fit [7] held threads for 3.00 s, # fit [3] for 4.00 s: 1 of 2 task runs of # fit [7] failed'
    );
  });

  it('have no verdict where tasks of one ran while the other did', () => {
    // [7] computes what [3] wrote and computed: these runs are of [3]
    const within = sidesOf(
      notebook({ lastOfFirst: { start: 11, duration: 1 }, without: ['7 g'] })
    );
    const why =
      'tasks of # fit [3] ran while # fit [7] did, or later: they count to # fit [3], which wrote them';
    expect(shortHeadline(within, false, english)).toEqual({
      line: 'No verdict: tasks of the first pass ran after it had ended',
      details: [
        why,
        'run the cell that wrote them twice more: those two passes can be compared'
      ]
    });
    expect(plain(headline(within, false, english))).toBe(
      `# fit [7] held threads for 2.00 s, # fit [3] for 4.00 s: ${why}`
    );
    const [before, after] = within;
    const swapped = shortHeadline([after, before], false, english);
    expect(swapped.line).toBe(
      'No verdict: tasks of the second pass ran after it had ended'
    );
    expect(swapped.details[0]).toBe(why);
    // A filter has them, too.
    const filter = { functions: ['g', 'f'] };
    const filtered = sidesOf(
      notebook({ lastOfFirst: { start: 11, duration: 1 } }),
      filter
    );
    expect(shortHeadline(filtered, true, english).line).toContain('No verdict');
    // What was over before the other began may be compared, whoever computed it.
    const between = sidesOf(notebook({ lastOfFirst: { start: 8 } }));
    expect(plain(headline(between, false, english))).toBe(
      '# fit [7] held threads 1.00 s less: 3.00 s instead of 4.00 s (−25 %)'
    );
  });

  it('have no verdict where other code computed more of one than the pass itself', () => {
    const line = (submitted: readonly [number, number]) =>
      shortHeadline(
        sidesOf(notebook({ lastOfFirst: { start: 8 }, submitted })),
        false,
        english
      );
    expect(line([1, 7.9])).toEqual({
      line: 'No verdict: tasks of the first pass ran after it had ended',
      details: [
        'tasks of # fit [3] were also computed after it had ended: they count to # fit [3], which wrote them',
        'run the cell that wrote them twice more: those two passes can be compared'
      ]
    });
    // All of them by another cell; all within the pass, which did not wait for them.
    for (const submitted of [
      [7, 7.9],
      [4, 5.01]
    ] as const) {
      expect(plain(line(submitted).line)).toBe(
        '# fit [7] held threads 1.00 s less: 3.00 s instead of 4.00 s (−25 %)'
      );
    }
    const both = sidesOf(
      notebook({
        lastOfFirst: { start: 11, duration: 1 },
        last: { start: 20 },
        submittedLast: [11, 19]
      })
    );
    expect(shortHeadline(both, false, english).line).toBe(
      'No verdict: tasks of both passes ran after they had ended'
    );
  });

  it('have no function in common after an edit, and then no verdict', () => {
    expect(said({ without: ['3 f', '7 g'] })).toBe(
      '# fit [3] and # fit [7] have nothing in common'
    );
  });
});
