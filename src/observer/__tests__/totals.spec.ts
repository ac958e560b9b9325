import fc from 'fast-check';
import { rowsToBlock } from '../../testing/rows-to-block';
import type { Filter } from '../../wire/panel-link';
import { ingestBlock } from '../store/ingest';
import type { BlockRows } from '../store/column-table';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

/**
 * The account is done twice: by the store and its folds, and here, row by row in BigInt nanoseconds.
 */
const KINDS = [1, 2, 3, 4, 5, 6, 7];
const run = fc.record({
  function: fc.integer({ min: 1, max: 4 }),
  // Spans 1 … 4 are described, 5 is not.
  span: fc.integer({ min: 0, max: 5 }),
  lane: fc.integer({ min: 0, max: 3 }),
  start: fc.double({ min: 0, max: 100, noNaN: true }),
  duration: fc.double({ min: 0, max: 20, noNaN: true }).map(Math.fround),
  cpuShare: fc.double({ min: 0, max: 1.1, noNaN: true }),
  parts: fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      held: fc.constantFrom(0, 1),
      function: fc.integer({ min: 1, max: 4 }),
      span: fc.integer({ min: 0, max: 4 }),
      share: fc.double({ min: 0, max: 0.25, noNaN: true })
    }),
    { maxLength: 4 }
  )
});
type Run = typeof run extends fc.Arbitrary<infer R> ? R : never;

function blocksOf(runs: readonly Run[], partsFirst: boolean): BlockRows[] {
  const head = [
    rowsToBlock(
      1,
      'names',
      [1, 2, 3, 4].map(id => ({ id, text: `f${id}` }))
    ),
    rowsToBlock(2, 'spans', [
      { id: 1, parent: 0, tag: 1, closed: NaN },
      { id: 2, parent: 1, tag: 2, closed: NaN },
      { id: 3, parent: 1, tag: 3, closed: NaN },
      { id: 4, parent: 2, tag: 4, closed: NaN }
    ]),
    rowsToBlock(
      3,
      'lanes',
      [0, 1, 2, 3].map(lane => ({ lane, worker: lane >> 1, thread: lane & 1 }))
    )
  ];
  const runRows = runs.map((r, i) => ({
    run: i,
    function: r.function,
    span: r.span,
    lane: r.lane,
    start: r.start,
    duration: r.duration,
    cpu: r.duration * r.cpuShare
  }));
  const partRows = runs.flatMap((r, i) =>
    r.parts.map((part, p) => ({
      run: i,
      kind: part.kind,
      held: part.held,
      function: part.function,
      span: part.span,
      offset: (p * r.duration) / 4,
      duration: r.duration * part.share,
      cpu: (r.duration * part.share) / 2
    }))
  );
  const two = (table: 'runs' | 'parts', rows: typeof runRows): BlockRows[] => {
    const cut = rows.length >> 1;
    return [rows.slice(0, cut), rows.slice(cut)].map(half =>
      rowsToBlock(0, table, half)
    );
  };
  const runBlocks = two('runs', runRows);
  const partBlocks = two('parts', partRows as unknown as typeof runRows);
  const work = partsFirst
    ? [...partBlocks, ...runBlocks]
    : [runBlocks[0]!, ...partBlocks, runBlocks[1]!];
  return [...head, ...work].map((block, i) => ({ ...block, seq: i + 1 }));
}

function logOf(blocks: readonly BlockRows[]): LogStore {
  const log = new LogStore('random');
  blocks.forEach(block => ingestBlock(log, block));
  return log;
}

/** Nanoseconds per span, the simple way. */
function byHand(runs: readonly Run[]): Map<number, bigint> {
  const sums = new Map<number, bigint>();
  const add = (span: number, seconds: number, sign = 1n): bigint => {
    const ns = BigInt(Math.round(seconds * 1e9));
    sums.set(span, (sums.get(span) ?? 0n) + sign * ns);
    return ns;
  };
  for (const r of runs) {
    add(r.span, r.duration);
    for (const part of r.parts) {
      if (part.held === 1) {
        const seconds = Math.fround(r.duration * part.share);
        add(part.span, seconds);
        add(r.span, seconds, -1n);
      }
    }
  }
  return sums;
}

describe('totals of any run', () => {
  it('are exact: own rows of all spans and what no span owns make the total', () => {
    fc.assert(
      fc.property(
        fc.array(run, { minLength: 1, maxLength: 30 }),
        fc.boolean(),
        (runs, partsFirst) => {
          const log = logOf(blocksOf(runs, partsFirst));
          const summary = ask(log, 'summary');
          const total = runs.reduce(
            (sum, r) => sum + BigInt(Math.round(r.duration * 1e9)),
            0n
          );
          expect(BigInt(summary.totalNanoseconds)).toBe(total);
          const expected = byHand(runs);
          for (const row of summary.spans) {
            expect(BigInt(row.ownNanoseconds)).toBe(
              expected.get(row.span) ?? 0n
            );
          }
          const own = summary.spans.reduce((s, r) => s + r.ownNanoseconds, 0);
          expect(own + summary.unattributedNanoseconds).toBe(
            summary.totalNanoseconds
          );
        }
      ),
      { numRuns: 150 }
    );
  });

  it('add up over the parts of any partition of spans, in any range', () => {
    const parts: Filter[] = [
      { spans: { any: [{ path: ['f1'] }] } },
      { spans: { not: [{ path: ['f1'] }] } }
    ];
    const range = fc.tuple(
      fc.double({ min: 0, max: 60, noNaN: true }),
      fc.double({ min: 0, max: 60, noNaN: true })
    );
    fc.assert(
      fc.property(
        fc.array(run, { minLength: 1, maxLength: 20 }),
        fc.option(range),
        (runs, drawn) => {
          const log = logOf(blocksOf(runs, true));
          const time =
            drawn === null
              ? ('all' as const)
              : { from: drawn[0], to: drawn[0] + drawn[1] };
          const [inside, outside] = parts.map(filter =>
            ask(log, 'fine-metrics', { filter, time })
          );
          const whole = ask(log, 'fine-metrics', { time });
          expect(
            inside!.attributedNanoseconds + outside!.attributedNanoseconds
          ).toBe(whole.attributedNanoseconds);
          expect(whole.attributedNanoseconds).toBe(whole.totalNanoseconds);
          const idle = (of: typeof whole): number =>
            of.idle.reduce((sum, { seconds }) => sum + seconds, 0);
          expect(idle(inside!) + idle(outside!)).toBeCloseTo(idle(whole), 6);
        }
      ),
      { numRuns: 100 }
    );
  });

  it('are the same after any replay', () => {
    fc.assert(
      fc.property(
        fc.array(run, { minLength: 1, maxLength: 20 }),
        fc.array(fc.nat({ max: 6 }), { maxLength: 6 }),
        (runs, restarts) => {
          const blocks = blocksOf(runs, false);
          const once = logOf(blocks);
          const replayed = new LogStore('random');
          let at = 0;
          for (const back of restarts) {
            for (const block of blocks.slice(Math.max(0, at - back), at + 2)) {
              ingestBlock(replayed, block);
            }
            at = Math.min(blocks.length, at + 2);
          }
          blocks.slice(at).forEach(block => ingestBlock(replayed, block));
          expect(replayed.gaps).toEqual([]);
          expect(ask(replayed, 'summary')).toEqual(ask(once, 'summary'));
          expect(ask(replayed, 'fine-metrics')).toEqual(
            ask(once, 'fine-metrics')
          );
          expect(ask(replayed, 'tasks')).toEqual(ask(once, 'tasks'));
        }
      ),
      { numRuns: 60 }
    );
  });
});

describe('a run that comes twice', () => {
  it('is replaced by the later row in every figure', () => {
    const row = { run: 0, function: 1, span: 1, lane: 0, cpu: 1 };
    const head = blocksOf([], true);
    const seq = head.length;
    const log = logOf([
      ...head,
      rowsToBlock(seq + 1, 'runs', [
        { ...row, start: 0, duration: 2, status: 0 },
        { ...row, start: 0, duration: 5, status: 1, span: 2 }
      ])
    ]);
    const summary = ask(log, 'summary');
    expect(summary.totalNanoseconds).toBe(5e9);
    expect(
      summary.spans.map(({ span, ownTasks, failed }) => [
        span,
        ownTasks,
        failed
      ])
    ).toEqual([
      [1, 0, 1],
      [2, 1, 1],
      [4, 0, 0],
      [3, 0, 0]
    ]);
    expect(ask(log, 'tasks')).toMatchObject({
      total: 1,
      rows: [{ duration: 5, status: 'failed' }]
    });
    expect(ask(log, 'task-stream').tasks).toBe(1);
  });
});
