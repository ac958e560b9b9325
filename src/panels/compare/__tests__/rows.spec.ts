/** Two drawn runs of one piece of work: a cluster that knows the CPU, and one that does not. */
import { ask } from '../../../observer/__tests__/ask';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import { PartKind, RunStatus } from '../../../records/enumerations';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { drawRuns } from '../../../testing/run-from-text';
import { english } from '../../../testing/translators';
import type { Filter } from '../../../wire/panel-link';
import { METRICS_PARAMS, commonFilter } from '../model';
import {
  areComparable,
  type By,
  type Figure,
  figureRows,
  headline,
  matchText,
  namedRows,
  notKnown,
  shortHeadline,
  type Side,
  type Sides,
  tableOf
} from '../rows';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

const MB = 1_000_000;
const own = drawRuns(
  `
    0/0 aaaabbb.
    0/1 cccc....
  `,
  {
    tasks: {
      a: {
        function: 'load',
        span: 'work',
        cpu: 1,
        parts: [
          {
            kind: PartKind.Transfer,
            held: true,
            offset: 0,
            duration: 2,
            bytes: 3 * MB
          },
          {
            kind: PartKind.Compute,
            held: true,
            offset: 2,
            duration: 2,
            cpu: 1,
            function: 'load',
            span: 'work'
          }
        ]
      },
      b: { function: 'fit', span: 'work/fit', cpu: 3 },
      c: { function: 'load', span: 'work', cpu: 4 }
    }
  }
);
const dask = drawRuns(
  `
    0/0 aabb
    1/0 cd..
  `,
  {
    tasks: {
      a: {
        function: 'load',
        span: 'work',
        cpu: NaN
      },
      b: {
        function: 'fit',
        span: 'work/fit',
        cpu: NaN,
        parts: [
          {
            kind: PartKind.Transfer,
            held: false,
            offset: -1,
            duration: 1,
            bytes: NaN
          }
        ]
      },
      c: { function: 'load', span: 'work', cpu: NaN },
      d: { function: 'score', span: 'score', cpu: NaN }
    }
  }
);

function side(
  log: LogStore,
  name: string,
  kind: Side['kind'],
  filter: Filter = {}
): Side {
  return {
    name,
    kind,
    metrics: ask(log, 'fine-metrics', { params: METRICS_PARAMS, filter }),
    spans: ask(log, 'spans'),
    memory: ask(log, 'memory', {
      params: { measure: 'process', show: 'cluster' }
    })
  };
}

const sides: Sides = [
  side(own, 'first-look', 'embedded'),
  side(dask, 'survey', 'dask')
];

function figure(id: string, of = sides, isFiltered = false) {
  return figureRows(of, isFiltered, english).find(row => row.id === id)?.values;
}

function named(by: By, what: Figure) {
  return namedRows(sides, by, what).map(({ name, values, difference }) => [
    name,
    ...values,
    difference
  ]);
}

describe('two runs', () => {
  it('are compared figure by figure', () => {
    expect(figure('wall')).toEqual([7, 4]);
    expect(figure('tasks')).toEqual([3, 4]);
    expect(figure('executions')).toEqual([3, 4]);
    expect(figure('busy')).toEqual([11, 6]);
    expect(figure('held')).toEqual([2, 0]);
    expect(figure('behind')).toEqual([0, 1]);
    // Two threads for 7 s and for 4 s, less what they were busy.
    expect(figure('idle')).toEqual([3, 2]);
  });

  it('say what one of them does not tell, and why, and never that it is 0', () => {
    expect(figure('cpu')).toEqual([8, null]);
    expect(figure('bytes')).toEqual([3 * MB, null]);
    const rows = figureRows(sides, false, english);
    const notes = notKnown(sides, rows, english);
    expect(notes).toContain(
      'CPU of survey: Dask does not tell the CPU seconds of tasks.'
    );
    expect(notes).toContain(
      'Bytes transferred of survey: Dask does not tell the bytes of transfers.'
    );
    expect(notes.filter(note => note.includes('CPU of first-look'))).toEqual(
      []
    );
    const { rows: table, note } = tableOf(sides, false, english);
    expect(note).toContain('CPU of survey');
    const cpu = table.find(row => row[2]!.text === 'CPU')!;
    expect(cpu.map(({ value }) => value)).toEqual([
      'Run',
      'all',
      'CPU',
      8,
      null,
      null,
      null
    ]);
  });

  it('are compared by function, by span of the same tags, and by activity', () => {
    expect(named('function', 'thread')).toEqual([
      ['load', 8, 3, -5],
      ['fit', 3, 2, -1],
      ['score', null, 1, null]
    ]);
    expect(named('function', 'tasks')[0]).toEqual(
      expect.arrayContaining(['score'])
    );
    expect(named('span', 'thread')).toEqual([
      ['work', 11, 5, -6],
      ['score', null, 1, null],
      ['work › fit', 3, 2, -1]
    ]);
    expect(named('span', 'wall')).toContainEqual(['work', 7, 4, -3]);
    expect(named('span', 'cpu')).toContainEqual(['work', 8, null, null]);
    expect(named('activity', 'thread')).toContainEqual([
      'transfer, waited for',
      2,
      null,
      null
    ]);
  });

  it('name causes of idleness as both runs can have them', () => {
    const [first] = sides;
    const kinds = (...of: [Side['kind'], Side['kind']]): Sides => {
      const [a, b] = of.map(kind => ({
        ...first,
        kind,
        metrics: {
          ...first.metrics!,
          idle: [{ cause: 'held-elsewhere', seconds: 2 }]
        }
      }));
      return [a!, b!];
    };
    const held = (of: Sides) =>
      namedRows(of, 'activity', 'thread')
        .filter(({ name }) => name.startsWith('held'))
        .map(({ name, values }) => [name, ...values]);
    expect(held(kinds('local', 'local'))).toEqual([
      ['held on another thread', 2, 2]
    ]);
    expect(held(kinds('local', 'embedded'))).toEqual([
      ['held on another worker', 2, 2]
    ]);
  });

  it('have a word for waits of Dask’s tasks where both have these', () => {
    const [first] = sides;
    const rest = (...told: [boolean, boolean]) => {
      const [a, b] = told.map((isTold): Side => ({
        ...first,
        metrics: {
          ...first.metrics!,
          byActivity: [{ activity: 'other', value: 2, share: null }],
          idle: [],
          ...(isTold ? { account: 'told' } : {})
        }
      }));
      return namedRows([a!, b!], 'activity', 'thread').map(
        ({ name, values }) => [name, ...values]
      );
    };
    expect(rest(true, true)).toEqual([['waiting for the event loop', 2, 2]]);
    expect(rest(true, false)).toEqual([['rest of the task', 2, 2]]);
    expect(rest(false, false)).toEqual([['rest of the task', 2, 2]]);
  });

  it('know of waits what could be divided, if anything could', () => {
    const [first] = sides;
    const withActivities = (...names: string[]): Side => ({
      ...first,
      metrics: {
        ...first.metrics!,
        byActivity: names.map((activity, i) => ({
          activity,
          value: i + 1,
          share: null
        }))
      }
    });
    const gil = (...names: string[]) =>
      figure('gil', [withActivities(...names), first])?.[0];
    expect(gil('thread-cpu')).toBe(0);
    expect(gil('thread-cpu', 'thread-noncpu')).toBeNull();
    expect(gil('thread-noncpu', 'blocked', 'gil')).toBe(3);
    expect(gil('compute', 'blocked', 'gil')).toBeNull();
  });

  it('have a headline and a sentence on what they share', () => {
    expect(plain(headline(sides, false, english))).toBe(
      'survey is 3.00 s faster: 4.00 s instead of 7.00 s (−43 %)'
    );
    const [first, second] = sides;
    expect(plain(headline([second, first], false, english))).toBe(
      'first-look is 3.00 s slower: 7.00 s instead of 4.00 s (+75 %)'
    );
    const twin = { ...first, name: 'again' };
    expect(plain(headline([first, twin], false, english))).toBe(
      'again takes as long as first-look: 7.00 s'
    );
    const lasting = (wallSeconds: number): Side => ({
      ...twin,
      metrics: { ...first.metrics!, wallSeconds }
    });
    const said = (of: Side) => plain(headline([first, of], false, english));
    expect(said(lasting(7.07))).toBe(
      'again took about the same as first-look (+1 %): 7.07 s instead of 7.00 s'
    );
    expect(said(lasting(6.83))).toBe(
      'again took about the same as first-look (−2 %): 6.83 s instead of 7.00 s'
    );
    // (2.6 %, which are printed as 3)
    expect(said(lasting(7.18))).toBe(
      'again is 180 ms slower: 7.18 s instead of 7.00 s (+3 %)'
    );
    expect(said(lasting(6.79))).toMatch(/^again is .* faster/u);
    // The table calls these the same, too.
    const [short, shorter] = [1.9e-6, 1.2e-6].map((wallSeconds): Side => ({
      ...twin,
      metrics: { ...first.metrics!, wallSeconds }
    }));
    expect(
      plain(headline([{ ...short!, name: 'first' }, shorter!], false, english))
    ).toMatch(/^again takes as long as first: /u);
    expect(
      headline([first, { ...second, metrics: null }], false, english)
    ).toBe('');
    expect(matchText(sides, english)).toBe(
      '2 of 3 functions ran in both · 2 and 2 threads'
    );
  });

  it('are not called faster or slower where one has not done the work, and that is said', () => {
    const said = (of: Sides, isFiltered = false) =>
      plain(headline(of, isFiltered, english));
    const [first] = sides;
    const ended = (status: RunStatus, log = '0/0 ab..') =>
      side(
        drawRuns(log, {
          tasks: {
            a: { function: 'load', span: 'work' },
            b: { function: 'fit', span: 'work', status }
          }
        }),
        'survey',
        'embedded'
      );
    const failed = ended(RunStatus.Failed);
    expect(said([first, failed])).toBe(
      'survey took 2.00 s, first-look took 7.00 s: 1 of 2 task runs of survey failed'
    );
    expect(said([failed, first])).toBe(
      'first-look took 7.00 s, survey took 2.00 s: 1 of 2 task runs of survey failed'
    );
    expect(said([first, failed], true)).toBe(
      'survey held threads 9.00 s less: 2.00 s instead of 11.0 s (−82 %); 1.00 s of thread time of survey went into failed, cancelled or lost tasks'
    );
    // Nobody knows whether both lack the same.
    expect(said([failed, { ...failed, name: 'again' }])).toBe(
      'again took 2.00 s, survey took 2.00 s: 1 of 2 task runs of survey failed, 1 of 2 task runs of again failed'
    );
    for (const status of [RunStatus.Cancelled, RunStatus.Lost]) {
      expect(said([first, ended(status)])).toBe(
        'survey took 2.00 s, first-look took 7.00 s: 1.00 s of thread time of survey went into failed, cancelled or lost tasks'
      );
    }
    // What was lost in both was made up for in both.
    const lost = (name: string, wallSeconds: number): Side => {
      const { metrics, ...rest } = ended(RunStatus.Lost);
      return { ...rest, name, metrics: { ...metrics!, wallSeconds } };
    };
    expect(said([lost('survey', 4), lost('again', 2)])).toBe(
      'again is 2.00 s faster: 2.00 s instead of 4.00 s (−50 %); 1.00 s of thread time of survey went into failed, cancelled or lost tasks, 1.00 s of thread time of again went into failed, cancelled or lost tasks'
    );
    const ok = ended(RunStatus.Ok);
    expect(said([first, ok])).toBe(
      'survey is 5.00 s faster: 2.00 s instead of 7.00 s (−71 %)'
    );
    expect(said([first, { ...failed, spans: null }])).toBe('');
    expect(said([{ ...first, spans: null }, failed])).toBe('');
    const going: Side = {
      ...ok,
      metrics: { ...ok.metrics!, runningSeconds: 1 }
    };
    expect(said([first, going])).toBe(
      'survey took 2.00 s, first-look took 7.00 s: survey still runs'
    );
    // What failed at first and was made up for withholds no verdict.
    const again: Side = {
      ...first,
      name: 'again',
      metrics: { ...first.metrics!, wallSeconds: 5 },
      spans: {
        ...first.spans!,
        totalTasks: first.spans!.totalTasks + 1,
        rows: first.spans!.rows.map(row => ({
          ...row,
          failed: row.parent === null ? 1 : 0
        }))
      }
    };
    expect(again.spans!.rows.filter(row => row.failed > 0)).toHaveLength(1);
    expect(said([first, again])).toMatch(
      /^again is 2\.00 s faster: 5\.00 s instead of 7\.00 s \(−29 %\); 1 of \d task runs of again failed$/
    );
    const none: Side = {
      ...ok,
      metrics: {
        ...ok.metrics!,
        wallSeconds: 0,
        attributedNanoseconds: 0,
        byActivity: [],
        byFunction: []
      },
      spans: { ...ok.spans!, rows: [], totalTasks: 0, totalThreadSeconds: 0 }
    };
    expect(said([first, none])).toBe(
      'survey took 0 s, first-look took 7.00 s: no task of survey has ended'
    );
    expect(said([none, first])).toBe(
      'first-look took 7.00 s, survey took 0 s: no task of survey has ended'
    );
    expect(said([none, { ...none, name: 'again' }])).toBe(
      'no task of survey has ended, no task of again has ended'
    );
    expect(said([none, first], true)).toBe(
      'The filter leaves nothing of survey, so nothing can be compared; of first-look it leaves 11.0 s of thread time.'
    );
  });

  it('are not called faster where all tasks were cancelled before one began', () => {
    const begun = {
      start: 1,
      duration: 2,
      waitThread: 0,
      status: RunStatus.Ok
    };
    const never = {
      start: 1,
      duration: 0,
      waitThread: NaN,
      status: RunStatus.Cancelled
    };
    const of = (...runs: (typeof begun)[]): Side => {
      const log = new LogStore('run');
      [
        rowsToBlock(1, 'names', [{ id: 1, text: 'load' }]),
        rowsToBlock(
          2,
          'runs',
          runs.map((run, i) => ({ ...run, run: i, function: 1, cpu: NaN }))
        )
      ].forEach(block => ingestBlock(log, block));
      return side(log, runs.includes(begun) ? 'done' : 'given up', 'embedded');
    };
    const [done, givenUp] = [of(begun, begun), of(never, never)];
    expect(givenUp.spans!.totalTasks).toBe(2);
    expect(plain(headline([done, givenUp], false, english))).toBe(
      'given up took 0 s, done took 2.00 s: no task of given up has held a thread'
    );
    expect(plain(headline([givenUp, done], false, english))).toBe(
      'done took 2.00 s, given up took 0 s: no task of given up has held a thread'
    );
    // Of a Dask cluster whose own sums have not come yet the tasks tell it.
    const { metrics } = done;
    const early: Side = {
      ...done,
      name: 'early',
      kind: 'dask',
      metrics: { ...metrics!, attributedNanoseconds: 0, byActivity: [] }
    };
    expect(plain(headline([done, early], false, english))).toBe(
      'early takes as long as done: 2.00 s'
    );
  });

  it('are not called faster or slower where they have no function in common', () => {
    const [first, second] = sides;
    const elsewhere = side(
      drawRuns('0/0 zz', { tasks: { z: { function: 'sort' } } }),
      'elsewhere',
      'embedded'
    );
    expect(headline([first, elsewhere], false, english)).toBe(
      'first-look and elsewhere have nothing in common'
    );
    expect(headline([first, elsewhere], true, english)).toBe(
      'first-look and elsewhere have nothing in common'
    );
    // It may still run the same.
    const going: Side = {
      ...elsewhere,
      metrics: { ...elsewhere.metrics!, runningSeconds: 1 }
    };
    expect(plain(headline([first, going], false, english))).toMatch(
      /elsewhere still runs$/
    );
    // What was added up may have run in both.
    const others = { functions: 9, total: 90, executions: 90, activities: {} };
    expect(
      headline(
        [
          {
            ...first,
            metrics: { ...first.metrics!, others }
          },
          elsewhere
        ],
        false,
        english
      )
    ).toMatch(/^elsewhere took 5\.00.s less/u);
    expect(headline([first, second], false, english)).toContain('faster');
  });

  describe('of which one lacks functions of the other', () => {
    type Of = { readonly function: string; readonly seconds: number };
    const run = (name: string, ...of: readonly Of[]): Side =>
      side(
        drawRuns(
          `0/0 ${of.map(({ seconds }, i) => 'abcdef'[i]!.repeat(seconds)).join('')}`,
          {
            tasks: Object.fromEntries(
              of.map((each, i) => ['abcdef'[i]!, { function: each.function }])
            )
          }
        ),
        name,
        'embedded'
      );
    const short = (name: string) => ({ function: name, seconds: 1 });
    const line = (of: Sides) => {
      const { line: said, details } = shortHeadline(of, false, english);
      return [said, ...details].map(plain);
    };
    const load = run('again', short('load'));

    it('have no verdict if these are most executions or most time of it', () => {
      const many = run(
        'first',
        { function: 'load', seconds: 9 },
        short('fit'),
        short('score')
      );
      const long = run('first', short('load'), { function: 'fit', seconds: 9 });
      expect(line([many, load])).toEqual([
        'No verdict: not the same work',
        '67 % of executions of first are of functions that did not run in again'
      ]);
      expect(line([load, long])).toEqual([
        'No verdict: not the same work',
        '90 % of thread time of first is of functions that did not run in again'
      ]);
      expect(plain(headline([many, load], false, english))).toBe(
        'again took 1.00 s, first took 11.0 s: 67 % of executions of first are of functions that did not run in again'
      );
    });

    it('are compared if half of it is the same, or what the other ran is not all known', () => {
      const half = run('first', short('load'), short('fit'));
      expect(line([half, load])[0]).toMatch(/^again is 1\.00 s faster/u);
      const long = run('first', short('load'), { function: 'fit', seconds: 9 });
      const others = { functions: 9, total: 9, executions: 9, activities: {} };
      expect(
        line([long, { ...load, metrics: { ...load.metrics!, others } }])[0]
      ).toMatch(/^again is 9\.00 s faster/u);
      // (Dask has other names of what is fused)
      expect(line([long, { ...load, kind: 'dask' }])[0]).toMatch(
        /^again is 9\.00 s faster/u
      );
    });

    it('are not called faster or slower by a run of the same functions that did far less, or more', () => {
      const five = run(
        'first',
        ...Array.from({ length: 5 }, () => short('load'))
      );
      expect(line([five, load])).toEqual([
        'again took 4.00 s less, with 80 % fewer task runs: 1.00 s instead of 5.00 s (−80 %)'
      ]);
      expect(line([load, five])).toEqual([
        'first took 4.00 s more, with 400 % more task runs: 5.00 s instead of 1.00 s (+400 %)'
      ]);
      const slow = run('again', { function: 'load', seconds: 9 });
      expect(line([five, slow])).toEqual([
        'again took 4.00 s more, with 80 % fewer task runs: 9.00 s instead of 5.00 s (+80 %)'
      ]);
      expect(line([slow, five])).toEqual([
        'first took 4.00 s less, with 400 % more task runs: 5.00 s instead of 9.00 s (−44 %)'
      ]);
      const two = run('again', short('load'), short('load'));
      expect(line([two, run('x', short('load'))])[0]).toMatch(
        /^x is .* faster/u
      );
    });
  });

  describe('that were on a CPU as long', () => {
    const of = (
      name: string,
      seconds: number,
      cpu: number,
      waits: Record<string, number>
    ): Side => {
      const sound = side(
        drawRuns(`0/0 ${'a'.repeat(seconds)}`, {
          tasks: { a: { function: 'load', cpu } }
        }),
        name,
        'embedded'
      );
      const byActivity = Object.entries({ 'thread-cpu': cpu, ...waits }).map(
        ([activity, value]) => ({ activity, value, share: null })
      );
      return { ...sound, metrics: { ...sound.metrics!, byActivity } };
    };
    const details = (first: Side, second: Side) =>
      shortHeadline([first, second], false, english).details.map(plain);
    const slow = of('slow', 9, 2, { core: 7 });
    const fast = of('fast', 4, 2, { core: 2 });

    it('say which wait differs', () => {
      expect(details(slow, fast)).toEqual([
        'CPU is about the same (2.00 s): what differs is waiting for a core, 2.00 s instead of 7.00 s'
      ]);
      expect(plain(headline([slow, fast], false, english))).toBe(
        'fast is 5.00 s faster: 4.00 s instead of 9.00 s (−56 %); CPU is about the same (2.00 s): what differs is waiting for a core, 2.00 s instead of 7.00 s'
      );
      const held = of('held', 9, 2, { core: 2, gil: 5 });
      expect(details(fast, held)).toEqual([
        'CPU is about the same (2.00 s): what differs is waiting for the GIL, 5.00 s instead of 0 s'
      ]);
      const blocked = of('blocked', 9, 2, { core: 2, blocked: 5 });
      expect(details(fast, blocked)).toEqual([
        'CPU is about the same (2.00 s): what differs is how long threads were blocked, 5.00 s instead of 0 s'
      ]);
    });

    it('say that one of them had to import modules', () => {
      const first = of('first', 9, 2, { import: 5, core: 2 });
      expect(details(first, fast)).toEqual([
        'what differs most is importing modules, which each worker does once: 0 s of thread time instead of 5.00 s'
      ]);
      // Also where the CPU of functions differs; not where it is less than half of it.
      expect(details(fast, of('x', 9, 3, { import: 4, core: 2 }))).toEqual([
        'what differs most is importing modules, which each worker does once: 4.00 s of thread time instead of 0 s'
      ]);
      expect(details(of('x', 9, 5, { import: 2, core: 2 }), fast)).toEqual([]);
      expect(details(of('x', 4, 0, { import: 4 }), fast)).toEqual([]);
    });

    it('say so where CPU differs by little of it, as on cores that others use, too', () => {
      const busy = of('busy', 9, 2.3, { core: 6.7 });
      expect(details(fast, busy)).toEqual([
        'CPU differs by 300 ms only: what differs more is waiting for a core, 6.70 s instead of 2.00 s'
      ]);
      expect(details(fast, of('busy', 9, 2.6, { core: 6.4 }))).toEqual([]);
    });

    it('do not say so of CPU that is a tenth of what it was, though it is little of what differs', () => {
      const [all, few] = [
        of('all', 90, 4.4, { core: 70, gil: 15 }),
        of('few', 6, 0.4, { core: 4.3, gil: 1.3 })
      ];
      expect(details(all, few)).toEqual([]);
      expect(details(few, all)).toEqual([]);
    });

    it('say nothing of it where CPU differs, or no wait does by half, or it is not known', () => {
      expect(details(slow, of('fast', 4, 1, { core: 2 }))).toEqual([]);
      expect(
        details(
          of('slow', 9, 2, { core: 4, blocked: 2, gil: 1 }),
          of('fast', 4, 2, { core: 2 })
        )
      ).toEqual([]);
      expect(details(slow, of('fast', 4, 2, { 'thread-noncpu': 2 }))).toEqual(
        []
      );
      expect(details(slow, of('fast', 4, 2, { compute: 2 }))).toEqual([]);
      expect(details(slow, { ...slow, name: 'again' })).toEqual([]);
    });
  });

  it('have no differences where they have no function in common, or a filter leaves nothing of one', () => {
    const [first] = sides;
    const other = (filter: Filter = {}) =>
      side(
        drawRuns('0/0 zz', { tasks: { z: { function: 'sort', cpu: 1 } } }),
        'elsewhere',
        'embedded',
        filter
      );
    const numbers = (of: Sides, isFiltered: boolean) =>
      tableOf(of, isFiltered, english)
        .rows.filter(row => row[0]!.text !== 'Span')
        .flatMap(row => row.slice(-2).map(({ text }) => text))
        .filter(text => text !== '');
    expect(numbers(sides, false)).not.toEqual([]);
    expect(numbers([first, other()], false)).toEqual([]);
    const filter = { functions: ['load'] };
    const load = side(own, 'first-look', 'embedded', filter);
    const none = other(filter);
    expect(none.metrics!.byFunction).toEqual([]);
    expect(numbers([load, none], true)).toEqual([]);
    expect(numbers([none, load], true)).toEqual([]);
    expect(plain(headline([none, load], true, english))).toBe(
      'The filter leaves nothing of elsewhere, so nothing can be compared; of first-look it leaves 8.00 s of thread time.'
    );
    // What only runs so far is left, too.
    const runs = {
      ...load,
      metrics: {
        ...load.metrics!,
        attributedNanoseconds: 0,
        runningSeconds: 2
      }
    };
    expect(plain(headline([none, runs], true, english))).toContain(
      'of first-look it leaves 2.00 s of thread time'
    );
    // Of what is not known nobody can say that the filter leaves it.
    const unknown = {
      ...load,
      metrics: { ...load.metrics!, notKnown: 'status' as const }
    };
    expect(plain(headline([none, unknown], true, english))).not.toContain(
      'leaves nothing'
    );
    // Spans are of the whole run, whatever is filtered.
    expect(areComparable([load, none], 'span', true)).toBe(true);
    expect(areComparable([first, other()], 'span', false)).toBe(false);
    // By size: there is no difference to sort by.
    const busy = namedRows([first, other()], 'activity', 'thread');
    expect(busy.every(({ difference }) => difference === null)).toBe(true);
  });

  it('may both have a function that one of them adds up with others', () => {
    const [first, second] = sides;
    const others = {
      functions: 9,
      executions: 9,
      total: 0.1,
      activities: {}
    };
    const cut: Sides = [
      { ...first, metrics: { ...first.metrics!, others } },
      second
    ];
    const onlyOf = (of: Sides, by: By) =>
      namedRows(of, by, 'thread')
        .filter(({ name }) => name === 'score')
        .map(({ only, difference }) => [only, difference]);
    expect(onlyOf(sides, 'function')).toEqual([[1, null]]);
    expect(onlyOf(cut, 'function')).toEqual([[null, null]]);
    expect(onlyOf([cut[1], cut[0]], 'function')).toEqual([[null, null]]);
    // The first has named all of its functions.
    const otherCut: Sides = [
      first,
      { ...second, metrics: { ...second.metrics!, others } }
    ];
    expect(onlyOf(otherCut, 'function')).toEqual([[1, null]]);
    expect(onlyOf(cut, 'span')).toEqual([[1, null]]);
    expect(matchText(cut, english)).toBe(
      'at least 2 functions ran in both · 2 and 2 threads'
    );
  });

  it('are compared in one selection, and then not by figures of the whole', () => {
    const filter = { spans: { any: [{ tag: 'fit' }] } };
    const selected: Sides = [
      side(own, 'first-look', 'embedded', filter),
      side(dask, 'survey', 'dask', filter)
    ];
    expect(figure('busy', selected, true)).toEqual([3, 2]);
    expect(figure('wall', selected, true)).toBeUndefined();
    expect(figure('tasks', selected, true)).toBeUndefined();
    expect(plain(headline(selected, true, english))).toBe(
      'survey held threads 1.00 s less: 2.00 s instead of 3.00 s (−33 %)'
    );
    const [first] = selected;
    const longer: Side = {
      ...first,
      name: 'again',
      metrics: { ...first.metrics!, attributedNanoseconds: 3.05e9 }
    };
    expect(plain(headline([first, longer], true, english))).toBe(
      'again held threads about as long as first-look (+2 %): 3.05 s instead of 3.00 s'
    );
  });
});

it('what two runs share of a filter are tags and functions', () => {
  expect(
    commonFilter({
      spans: {
        any: [{ path: ['a.ipynb', 'cell 1', 'load'] }, { tag: 'fit' }],
        not: [{ path: [], client: 'b.ipynb' }]
      },
      functions: ['inc'],
      workers: [1],
      status: ['failed']
    })
  ).toEqual({
    spans: { any: [{ tag: 'load' }, { tag: 'fit' }] },
    functions: ['inc']
  });
  expect(commonFilter({ workers: [1] })).toEqual({});
});

it('notebooks and cells are no part of a path: what runs in them alone is of the default span', () => {
  const first = sides[0];
  const [work, fit] = ['work', 'fit'].map(tag =>
    first.spans!.rows.find(row => row.tag === tag)!
  );
  const automatic = { ...work!, ownTasks: 0, ownNanoseconds: 0 };
  const spans = {
    ...first.spans!,
    rows: [
      {
        ...automatic,
        span: 90,
        parent: null,
        tag: 'a.ipynb',
        origin: 'notebook'
      },
      { ...automatic, span: 91, parent: 90, tag: 'cell 1', origin: 'cell' },
      { ...work!, span: 92, parent: 91 },
      { ...fit!, span: 93, parent: 92 },
      // The same cell once more, with a task that is in no span of the program.
      {
        ...work!,
        span: 94,
        parent: 90,
        tag: 'cell 1',
        origin: 'cell',
        ownTasks: 1,
        ownNanoseconds: 2e9,
        cpuSeconds: 9
      },
      { ...work!, span: 95, parent: 94, firstStart: 10, lastStop: 12 },
      // Nothing ran in it.
      {
        ...work!,
        span: 0,
        parent: null,
        tag: 'default',
        origin: 'default',
        tasks: 0,
        threadSeconds: 0
      }
    ]
  } as NonNullable<Side['spans']>;
  const values = (what: Figure) =>
    namedRows([{ ...first, spans }, sides[1]], 'span', what).map(
      ({ name, values }) => [name, ...values]
    );
  expect(values('thread')).toEqual([
    ['work', 22, 5],
    ['default', 2, null],
    ['score', null, 1],
    ['work › fit', 3, 2]
  ]);
  expect(values('tasks')).toContainEqual(['default', 1, null]);
  expect(values('cpu')).toContainEqual(['default', 1, null]);
  expect(values('wall')).toContainEqual(['work', 12, 4]);
  expect(values('wall')).toContainEqual(['default', null, null]);
});
