/** Finished spans that are folded: no figure of a path changes, and each span is found by its id. */
import fc from 'fast-check';
import { PartKind, RunStatus, TaskOrigin } from '../../records/enumerations';
import { TABLES, type TableName } from '../../records/tables';
import {
  type Row,
  blockOfZeros,
  rowsToBlock
} from '../../testing/rows-to-block';
import type {
  FullSpanRow,
  SpanTerm,
  SummaryResult
} from '../../wire/panel-link';
import { complete } from '../folds/context';
import { divided, foldView } from '../folds/fold-view';
import { restartedByFolding } from '../folds/restarted';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { SpanSlots } from '../store/span-slots';
import type { StoreBounds } from '../store/store-bounds';
import { ask, contextOf } from './ask';

const MOST = 8;

const oneIn = (many: number) => fc.nat(many - 1).map(drawn => drawn === 0);
const anySpan = fc.record({
  parent: fc.nat(4),
  tag: fc.constantFrom('a', 'b'),
  client: oneIn(4).map(Number),
  staysOpen: oneIn(5),
  /** A task of it runs, and goes on. */
  staysBusy: oneIn(5),
  closesAfter: fc.nat(3),
  reused: fc.nat(2),
  tasks: fc.array(
    fc.record({
      fails: fc.boolean(),
      seconds: fc.integer({ min: 1, max: 9 }),
      /** Of one of the newest spans. */
      of: fc.nat(12),
      value: fc.nat(5)
    }),
    { maxLength: 3 }
  )
});
type DrawnSpan = typeof anySpan extends fc.Arbitrary<infer T> ? T : never;

const uuidOf = (id: number): string => `uuid ${id}`;
/** What the log calls the first, second … span: numbers from everywhere, as of several clients. */
const numberOf = (id: number): number =>
  [2 ** 31 + id, id, 70_001 * id, 2 ** 20 + id, 2 ** 32 - 1 - id][id % 5]!;

/** The same rows for logs of different bounds: spans open, run tasks and close, one after another. */
function tell(logs: readonly LogStore[], drawn: readonly DrawnSpan[]): void {
  let seq = 0;
  let run = 0;
  const say = (table: TableName, rows: readonly Row[]): void => {
    seq++;
    for (const log of logs) {
      ingestBlock(log, rowsToBlock(seq, table, rows));
    }
  };
  say('names', [
    { id: 1, text: 'a' },
    { id: 2, text: 'b' },
    { id: 3, text: 'f' },
    { id: 4, text: 'seconds' }
  ]);
  say('clients', [
    { client: 0, name: 'one', left: NaN },
    { client: 1, name: 'two', left: NaN }
  ]);
  const lanes = Array.from({ length: drawn.length + 1 }, (_, lane) => lane);
  say(
    'lanes',
    lanes.map(lane => ({ lane, worker: 0 }))
  );
  const rowOf = (id: number, closed: number) => {
    const { parent, tag, client, reused } = drawn[id - 1]!;
    return {
      id: numberOf(id),
      client,
      // One of those before it, or none.
      parent: parent === 0 || id <= parent ? 0 : numberOf(id - parent),
      tag: tag === 'a' ? 1 : 2,
      opened: id,
      closed,
      uuid: uuidOf(id),
      reused
    };
  };
  drawn.forEach((span, i) => {
    const id = i + 1;
    say('spans', [rowOf(id, NaN)]);
    if (span.staysBusy) {
      say('running', [
        {
          lane: id,
          node: 1000 + id,
          function: 3,
          span: numberOf(id),
          started: 0
        }
      ]);
    }
    for (const { fails, seconds, of, value } of span.tasks) {
      run++;
      const its = { function: 3, span: numberOf(Math.max(1, id - of)) };
      const start = 10 * run;
      say('nodes', [{ ...its, node: run, submitted: start - 1 }]);
      say('runs', [
        {
          ...its,
          run,
          node: run,
          status: fails ? RunStatus.Failed : RunStatus.Ok,
          start,
          duration: seconds,
          cpu: seconds / 2,
          nbytes: fails ? NaN : 8 * value
        }
      ]);
      const part = { ...its, run, kind: PartKind.Transfer, bytes: 16 };
      say('parts', [
        { ...part, held: 1, offset: 0, duration: seconds / 4 },
        { ...part, held: 0, offset: 0, duration: 1 / 2 }
      ]);
      say('meters', [{ ...its, run, label: 3, unit: 3, value, cpu: NaN }]);
      say('fine', [{ ...its, context: 3, activity: 3, unit: 4, value }]);
    }
    const closing = drawn.flatMap((each, at) =>
      !each.staysOpen && at + each.closesAfter === i ? [rowOf(at + 1, id)] : []
    );
    if (closing.length > 0) {
      say('spans', closing);
    }
  });
}

/** The paths of each client. */
const pathsOf = (log: LogStore) => [
  ...new Map(
    [...log.spans.all()].map(({ path, client }) => [
      [client, ...path].join('/'),
      { path, client: log.clients.labelOf(client) }
    ])
  ).values()
];

/** Figures of each client's paths, whatever rows they stand in. */
function byPath(log: LogStore) {
  const { rows } = ask(log, 'spans', { params: { all: true } });
  const sums = new Map<string, number[]>();
  for (const row of rows as readonly FullSpanRow[]) {
    const key = [row.client, ...row.path].join('/');
    const own = [
      row.ownTasks,
      row.ownNanoseconds,
      row.ownReused,
      row.executions,
      row.failed,
      row.submitted,
      row.nbytes,
      row.transferSeconds,
      row.running
    ];
    const before = sums.get(key) ?? own.map(() => 0);
    sums.set(
      key,
      before.map((sum, i) => sum + own[i]!)
    );
  }
  return Object.fromEntries([...sums].sort());
}

function metricsOf(log: LogStore, ...any: readonly SpanTerm[]) {
  const {
    entries = [],
    notes,
    totalNanoseconds,
    attributedNanoseconds
  } = ask(log, 'fine-metrics', {
    filter: { spans: { any } },
    params: { entries: true }
  });
  return {
    entries: entries.map(each => JSON.stringify(each)).sort(),
    notes,
    totalNanoseconds,
    attributedNanoseconds
  };
}

describe('spans that are folded', () => {
  it('keep the idle time of an answer that is being made, in which their place has no runs of its own', () => {
    const log = new LogStore('folded', { spans: MOST });
    const say = (table: TableName, rows: readonly Row[]): void =>
      ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
    const span = (id: number) => ({ id, tag: 1, opened: 0, closed: 1 });
    say('names', [{ id: 1, text: 'a' }]);
    say('workers', [{ worker: 0, threads: 1, left: NaN }]);
    say('lanes', [{ lane: 0, worker: 0 }]);
    say('spans', [span(1), span(2)]);
    // All in the second one, each half a second after it was wanted.
    const runs = blockOfZeros(log.seq + 1, 'runs', 20_000);
    for (let i = 0; i < runs.rows; i++) {
      runs.columns['run']![i] = i;
      runs.columns['span']![i] = 2;
      runs.columns['start']![i] = i + 0.5;
      runs.columns['duration']![i] = 0.5;
      runs.columns['waitReady']![i] = 0.5;
    }
    ingestBlock(log, runs);
    const slices = foldView('summary', contextOf(log), {});
    expect(slices.next().done).toBe(false);
    say(
      'spans',
      Array.from({ length: MOST }, (_, i) => span(3 + i))
    );
    expect(log.spanFolds).toBe(1);
    const { result } = complete(slices);
    const { spans, idleSeconds } = result as SummaryResult;
    expect(idleSeconds).toBeCloseTo(9999.5, 0);
    const ofSpans = spans.reduce((sum, row) => sum + (row.idleSeconds ?? 0), 0);
    expect(ofSpans).toBeCloseTo(idleSeconds, 6);
  });

  it('leave all figures of their paths, and are found by their ids', () => {
    fc.assert(
      fc.property(
        fc.array(anySpan, { minLength: 20, maxLength: 40, size: 'max' }),
        drawn => {
          const whole = new LogStore('whole');
          const log = new LogStore('folded', { spans: MOST });
          tell([whole, log], drawn);
          expect(whole.spans.size).toBe(drawn.length);
          const counted = [...log.spans.all()].reduce(
            (sum, { joined }) => sum + 1 + joined,
            0
          );
          expect(counted).toBe(drawn.length);
          expect(byPath(log)).toEqual(byPath(whole));
          for (const path of pathsOf(whole)) {
            expect(metricsOf(log, path)).toEqual(metricsOf(whole, path));
          }
          drawn.forEach(({ staysOpen, staysBusy }, i) => {
            const id = uuidOf(i + 1);
            const own = whole.spans.get(whole.spans.byId(id)[0]!)!;
            const found = log.spans.byId(id).map(each => log.spans.get(each)!);
            expect(found).toMatchObject([
              { path: own.path, client: own.client }
            ]);
            if (staysOpen || staysBusy) {
              expect(found).toMatchObject([{ uuid: id, joined: 0 }]);
            }
          });
        }
      ),
      { numRuns: 15 }
    );
  });

  /** Finished steps of one name, one after another, with a task each. */
  const steps = (log: LogStore, last: number): void => {
    const IN_A_BLOCK = Math.ceil(log.mostSpans / 4);
    for (let first = 1; first <= last; first += IN_A_BLOCK) {
      const length = Math.min(IN_A_BLOCK, last + 1 - first);
      const ids = Array.from({ length }, (_, i) => first + i);
      const rows = ids.map(id => ({
        id,
        tag: 1,
        opened: id,
        closed: id,
        uuid: uuidOf(id),
        reused: 1
      }));
      const runs = ids.map(id => ({ run: id, span: id, duration: 1 }));
      ingestBlock(log, rowsToBlock(log.seq + 1, 'spans', rows));
      ingestBlock(log, rowsToBlock(log.seq + 1, 'runs', runs));
    }
  };

  it('are the oldest: the newest keep rows of their own, however many there were', () => {
    const log = new LogStore('long', { spans: 400 });
    const COUNT = 5000;
    steps(log, COUNT);
    expect(log.spans.size).toBeLessThanOrEqual(500);
    const { rows, folded } = ask(log, 'spans');
    expect(rows.length + (folded ?? 0)).toBe(COUNT);
    expect(rows.at(-1)).toMatchObject({ span: COUNT, ownTasks: 1 });
    expect(rows.reduce((sum, { ownTasks }) => sum + ownTasks, 0)).toBe(COUNT);
  });

  it('are any number over the life of a log, from several clients', () => {
    const log = new LogStore('life');
    const COUNT = 75_000;
    const IN_A_BLOCK = 1000;
    // Four clients and the scheduler give numbers in turn.
    const number = (id: number): number =>
      id % 5 === 4 ? 2 ** 31 + id : (id % 5) * 2 ** 20 + Math.ceil(id / 5);
    for (let first = 1; first <= COUNT; first += IN_A_BLOCK) {
      const ids = Array.from({ length: IN_A_BLOCK }, (_, i) => first + i);
      ingestBlock(
        log,
        rowsToBlock(
          log.seq + 1,
          'spans',
          ids.map(id => ({
            id: number(id),
            tag: id % 5,
            opened: id,
            closed: id,
            uuid: uuidOf(id),
            reused: 1
          }))
        )
      );
      // Each has a run, and the first of all has one more from time to time.
      const runs = [...ids.map(number), number(1)];
      ingestBlock(
        log,
        rowsToBlock(
          log.seq + 1,
          'runs',
          runs.map((span, i) => ({
            run: 2 * first + i,
            span,
            nbytes: 8,
            duration: 1
          }))
        )
      );
    }
    expect(log.spans.size).toBeLessThanOrEqual(log.mostSpans);
    const rows: FullSpanRow[] = [];
    let next: number | null | undefined = 0;
    const pageFrom = (after: number) =>
      ask(log, 'spans', { params: { all: true, after } });
    while (typeof next === 'number') {
      const page = pageFrom(next);
      rows.push(...(page.rows as readonly FullSpanRow[]));
      next = page.next;
    }
    const sum = (of: (row: FullSpanRow) => number): number =>
      rows.reduce((all, row) => all + of(row), 0);
    const runs = COUNT + COUNT / IN_A_BLOCK;
    expect(sum(row => 1 + row.joined)).toBe(COUNT);
    expect(sum(row => row.ownReused)).toBe(COUNT);
    expect(sum(row => row.ownTasks)).toBe(runs);
    expect(sum(row => row.nbytes)).toBe(8 * runs);
    expect(sum(row => row.ownNanoseconds)).toBe(runs * 1e9);
    expect(rows.at(-1)).toMatchObject({
      span: number(COUNT),
      id: uuidOf(COUNT),
      joined: 0,
      ownTasks: 1
    });
    const first = log.spans.byId(uuidOf(1))[0]!;
    expect(log.spans.get(first)!.joined).toBeGreaterThan(10_000);
    expect(log.spans.byId(`span-${number(6)}`)).toEqual([first]);
  });

  it('take what is told of them late, each result once', () => {
    const log = new LogStore('late', { spans: MOST });
    steps(log, 20);
    const tell = (seq: number, reused: number, code = '') =>
      ingestBlock(
        log,
        rowsToBlock(1000 + seq, 'spans', [
          { id: 3, tag: 1, opened: 3, closed: 3, reused, code }
        ])
      );
    tell(1, 2, '["late"]');
    tell(2, 5);
    ingestBlock(log, rowsToBlock(2000, 'runs', [{ run: 99, span: 3 }]));
    const { rows, countedIn } = ask(log, 'spans', {
      params: { all: true, numbers: [3, 20, 0] }
    });
    expect(rows).toEqual([]);
    expect(countedIn).toEqual([
      [3, 1],
      [20, 20],
      [0, 0]
    ]);
    const all = ask(log, 'spans', { params: { all: true } });
    const [first] = all.rows as readonly FullSpanRow[];
    expect(first).toMatchObject({
      span: 1,
      id: uuidOf(1),
      // (5 by the third one alone, which had told 1 before)
      ownReused: 5 + first!.joined,
      code: ['["late"]']
    });
    expect(first!.ownTasks).toBe(first!.joined + 2);
    expect(log.spans.byId('span-3')).toEqual(log.spans.byId('span-1'));
  });

  it('count once when they are told again of which nothing else is known', () => {
    const log = new LogStore('dropped', { spans: MOST });
    // Those of the span around the steps, and of the first step, into which the others fold, stay.
    Object.assign(log, { spanSlots: new SpanSlots(3) });
    const say = (...rows: readonly Row[]) =>
      ingestBlock(log, rowsToBlock(log.seq + 1, 'spans', rows));
    const step = (id: number, reused = 1) => ({
      id,
      parent: 1,
      tag: 1,
      closed: 1,
      reused
    });
    const firstOfPage = (page: number) => 256 * page;
    say({ id: 1, tag: 2, closed: NaN });
    for (let page = 1; page <= 4; page++) {
      const at = firstOfPage(page);
      say(...Array.from({ length: 2 * MOST }, (_, i) => step(at + i)));
    }
    const figures = () => {
      let [spans, reused] = [0, 0];
      for (const { span, joined } of log.spans.all()) {
        spans += 1 + joined;
        reused += log.spans.reusedOf(span);
      }
      return [spans, reused];
    };
    const STEPS = 4 * 2 * MOST;
    const dropped = firstOfPage(2);
    expect(log.spanSlots.find(dropped)).toBe(0);
    expect(figures()).toEqual([1 + STEPS, STEPS]);
    say(step(dropped));
    expect(figures()).toEqual([1 + STEPS, STEPS]);
    say(step(dropped, 3));
    expect(figures()).toEqual([1 + STEPS, STEPS + 2]);
    // Of a number beside it nothing was told before.
    say(step(dropped + 2 * MOST));
    expect(figures()).toEqual([2 + STEPS, STEPS + 3]);
  });

  it('have been folded themselves, and are all counted', () => {
    const log = new LogStore('twice', { spans: MOST });
    const step = (id: number, parent: number) => ({
      id,
      parent,
      tag: parent === 0 ? 1 : 2,
      closed: 1
    });
    const say = (...rows: readonly Row[]) =>
      ingestBlock(log, rowsToBlock(log.seq + 1, 'spans', rows));
    // Of two loops, the second one's steps are folded before both have ended.
    const loops = [step(1, 0), step(3, 0)].map(row => ({
      ...row,
      closed: NaN
    }));
    say(...loops, step(2, 1), ...[4, 5, 6, 7, 8].map(id => step(id, 3)));
    expect(log.spans.get(log.spans.byId('span-4')[0]!)?.joined).toBe(2);
    say(step(1, 0), step(3, 0), ...[9, 10].map(id => step(id, 3)));
    const { rows } = ask(log, 'spans', { params: { all: true } });
    const figures = (rows as readonly FullSpanRow[]).map(row => [
      row.path.length,
      row.joined
    ]);
    // The other loop, and seven of eight steps.
    expect(figures).toEqual([
      [1, 8],
      [2, 7]
    ]);
  });

  it('are told of where one is asked for that shares its row', () => {
    const log = new LogStore('shared', { spans: MOST });
    steps(log, 20);
    const notesOf = (...ids: number[]) => {
      const terms = ids.map(id => ({ path: [], id: uuidOf(id) }));
      return metricsOf(log, ...terms).notes;
    };
    const last =
      'counted in a row with other finished spans of the same path: the figures are of all in';
    const one = `A span that was asked for by its id is ${last} that row.`;
    expect([notesOf(1), notesOf(3), notesOf(20)]).toEqual([[one], [one], []]);
    expect(notesOf(1, 2, 20)).toEqual([
      `2 spans that were asked for by their ids are ${last} those rows.`
    ]);
  });

  /** One row in each table for the spans 1 to 12, of which the first are folded into 1. */
  function everyTable(bounds: StoreBounds): LogStore {
    const log = new LogStore('every table', bounds);
    const ids = Array.from({ length: 12 }, (_, i) => i + 1);
    const say = (table: TableName, rows: readonly Row[]) =>
      ingestBlock(log, rowsToBlock(log.seq + 1, table, rows));
    const sums = { kind: 'dask', capabilities: { taskSums: true } };
    say('header', [{ json: JSON.stringify(sums) }]);
    say('names', [
      { id: 1, text: 'execute' },
      { id: 2, text: 'seconds' }
    ]);
    say('lanes', [{ lane: 0, worker: 0 }]);
    for (const table of TABLES_OF_SPANS) {
      const row = { context: 1, unit: 2, value: 1, duration: 1 };
      const { columns } = TABLES[table];
      const own = Object.entries(row).filter(([column]) => column in columns);
      say(
        table,
        ids.map(span => ({
          ...Object.fromEntries(own),
          span,
          ...('node' in columns ? { node: span } : {}),
          ...('run' in columns ? { run: span } : {}),
          ...('origin' in columns
            ? { origin: span % 2 === 0 ? TaskOrigin.Inferred : 0 }
            : {})
        }))
      );
    }
    say(
      'spans',
      ids.map(id => ({ id, closed: 1, uuid: uuidOf(id) }))
    );
    return log;
  }
  const TABLES_OF_SPANS = (Object.keys(TABLES) as TableName[]).filter(
    table => 'span' in TABLES[table].columns && table !== 'running'
  );

  it('leave no row of any table behind', () => {
    const log = everyTable({ spans: MOST });
    expect(log.spans.size).toBe(6);
    for (const table of TABLES_OF_SPANS) {
      const { chunks } = log[table as 'runs'];
      const [chunk] = chunks;
      const spans = [...chunk!.columns.span].slice(0, chunk!.rows);
      expect([table, spans]).toEqual([
        table,
        [1, 1, 1, 1, 1, 1, 1, 8, 9, 10, 11, 12]
      ]);
    }
  });

  it('take what a Dask cluster has told of them along', () => {
    const log = everyTable({ spans: MOST });
    const asked = (path: object) => {
      const filter = { spans: { any: [{ path: [], ...path }] } };
      const { attributedNanoseconds } = ask(log, 'fine-metrics', { filter });
      return attributedNanoseconds / 1e9;
    };
    expect([{}, { id: uuidOf(3) }, { id: uuidOf(12) }].map(asked)).toEqual([
      12, 7, 1
    ]);
    const share = (id: number) =>
      log.inferredTime.share(span => log.spans.byId(uuidOf(id)).includes(span));
    expect([share(3), share(11), share(12)]).toEqual([3 / 7, 0, 1]);
  });

  it('are looked for no more with each row where none can be folded', () => {
    const log = new LogStore('unlike', { spans: MOST });
    let looks = 0;
    const fold = log.spans.fold.bind(log.spans);
    log.spans.fold = (...given) => {
      looks++;
      return fold(...given);
    };
    for (let id = 1; id <= 40; id++) {
      const row = { id, tag: id, closed: 1 };
      ingestBlock(log, rowsToBlock(id, 'spans', [row]));
    }
    expect(log.spans.size).toBe(40);
    expect(looks).toBe((40 - MOST) / (MOST / 4) + 1);
  });
});

describe('a question', () => {
  it('begins again when spans are folded meanwhile, and ends', () => {
    const log = new LogStore('asked');
    let begun = 0;
    const answerAfter = (folds: number): number => {
      begun = 0;
      return complete(
        restartedByFolding(
          log,
          function* () {
            begun++;
            yield;
            if (begun <= folds) {
              log.spanFolds++;
            }
            return begun;
          },
          answer => -answer
        )
      );
    };
    // The last one was counted by two divisions.
    expect([0, 1, 2, 3].map(answerAfter)).toEqual([1, 2, 3, -3]);
  });

  it('is answered with a note if spans were folded meanwhile all the same', () => {
    const log = new LogStore('divided');
    const result = ask(log, 'fine-metrics');
    const why = /^Spans were folded while this was counted/u;
    const exact = divided({ result, honoured: { how: 'exact' } });
    expect(exact.honoured).toEqual({
      how: 'approximate',
      why: expect.stringMatching(why) as string
    });
    expect(exact.result).toMatchObject({
      notes: [expect.stringMatching(why)]
    });
    const honoured = { how: 'not known', why: 'Dask.' } as const;
    const { how, why: both } = divided({ result, honoured }).honoured;
    expect([how, both?.startsWith('Dask. Spans were')]).toEqual([
      'not known',
      true
    ]);
  });
});

describe('the slots of spans', () => {
  it('are the numbers as long as they can', () => {
    const slots = new SpanSlots();
    const numbers = Uint32Array.of(0, 3, 5, 3);
    // (the first time they are given)
    const slotsNow = () => slots.ofColumn(numbers, 4);
    expect([slotsNow(), slotsNow()]).toEqual([
      Uint16Array.of(0, 3, 5, 3),
      Uint16Array.of(0, 3, 5, 3)
    ]);
    const into = Uint16Array.from({ length: 65_536 }, (_, slot) => slot);
    into[5] = 3;
    slots.fold(into);
    expect([...slots.ofColumn(numbers, 4)]).toEqual([0, 3, 3, 3]);
    const others = new SpanSlots();
    expect([...others.ofColumn([3, 70_000], 2)]).toEqual([3, 1]);
    expect([...others.ofColumn([1, 3], 2)]).toEqual([2, 3]);
    expect([...others.ofColumn([1, 3], 2)]).toEqual([2, 3]);
  });

  it('lead from old numbers as long as there are few, and from those of live spans', () => {
    const slots = new SpanSlots(3);
    const numbers = [5, 300, 2 ** 31, 2 ** 32 - 1];
    const [live, gone, ...others] = numbers.map(number => slots.take(number));
    expect(new Set([live, gone, ...others]).size).toBe(4);
    const into = Uint16Array.from({ length: 65_536 }, (_, slot) => slot);
    into[gone!] = live!;
    slots.fold(into);
    expect(slots.find(300)).toBe(live);
    const next = slots.take(1000);
    expect(
      [5, 300, 2 ** 31, 2 ** 32 - 1, 1000].map(n => slots.find(n))
    ).toEqual([live, 0, ...others, next]);
    // Of the page's numbers this one alone was told before.
    expect([300, 301].map(number => slots.isKnown(number))).toEqual([
      true,
      false
    ]);
    expect(slots.take(300, next)).toBe(next);
    expect(slots.numberOf(slots.take(301, next))).toBe(301);
  });

  it('are free again for later numbers, but not at once', () => {
    const slots = new SpanSlots();
    const all = Array.from({ length: 65_534 }, (_, i) => 70_000 + i);
    expect(new Set(all.map(number => slots.take(number))).size).toBe(65_534);
    // None is left: a number shares its parent's.
    const first = slots.take(70_000);
    expect(slots.take(5, first)).toBe(first);
    expect(slots.take(6)).toBe(0);
    expect([slots.isKnown(6), slots.isKnown(7)]).toEqual([true, false]);
    const into = Uint16Array.from({ length: 65_536 }, (_, slot) => slot);
    const gone = slots.take(70_001);
    into[gone] = first;
    slots.fold(into);
    expect(slots.find(70_001)).toBe(first);
    expect(slots.take(8)).toBe(0);
    into[gone] = gone;
    slots.fold(into);
    expect(slots.take(9)).toBe(gone);
    expect(slots.numberOf(gone)).toBe(9);
    expect([...slots.ofColumn([0, 9, 9, 70_001, 70_000], 5)]).toEqual([
      0,
      gone,
      gone,
      first,
      first
    ]);
  });
});
