/**
 * What happens to a log's replay ring, drawn, and what the ring gives: the file `src/link/replay-trace.json`, which the rings of both languages
 * replay.
 *
 *     ['push', table, rows, bytes, at]        a block of the log
 *     ['take', most bytes, [seq …]]           what is sent next
 *     ['gaps', [[table, rows, from, to] …]]   what the observer lacks, to be written into the log
 *     ['acknowledge', seq]                    the observer has all up to it
 *     ['resume', seq]                         an observer has come (0), or come back, and has all up to it
 */
import { SeededRandom } from '../base/seeded-random';
import { ReplayRing } from '../link/replay-ring';
import { TABLES } from '../records/tables';

type ReplayStep =
  | readonly ['push', number, number, number, number]
  | readonly ['take', number, readonly number[]]
  | readonly ['gaps', readonly (readonly [number, number, number, number])[]]
  | readonly ['acknowledge', number]
  | readonly ['resume', number];
export type ReplayRun = {
  readonly ringBytes: number;
  readonly lastingBytes: number;
  /** Few where the observer may be told of more than it lacks anyway. */
  readonly mostUncertain: number;
  /** An observer of before may come back after another one: then it may be told of more than it lacks. */
  readonly isSeveral: boolean;
  readonly steps: readonly ReplayStep[];
};

const RUNS = 24;
const STEPS = 90;
/** A block's header, which the ring reads. */
const LEAST_BYTES = 24;
const { names, spans, runs, parts, memory, gaps: gapTable } = TABLES;
const DRAWN = [names, spans, runs, runs, runs, parts, memory].map(
  table => table.number
);

export function replayTrace(): { readonly runs: readonly ReplayRun[] } {
  return { runs: Array.from({ length: RUNS }, (_, i) => drawRun(i + 1)) };
}

/** As much of a block as the ring looks at. */
export function blockLike(
  table: number,
  rows: number,
  nbytes: number
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(nbytes);
  const view = new DataView(bytes.buffer);
  view.setUint16(8, table, true);
  view.setUint32(12, rows, true);
  return bytes;
}

function drawRun(seed: number): ReplayRun {
  const random = new SeededRandom(seed);
  const between = (least: number, most: number): number =>
    least + random.below(most - least + 1);
  const ringBytes = between(150, 500);
  const lastingBytes = between(30, 250);
  const isSeveral = seed % 3 === 0;
  const mostUncertain = isSeveral ? between(2, 12) : 1000;
  const ring = new ReplayRing(ringBytes, lastingBytes, mostUncertain);
  const steps: ReplayStep[] = [];
  const seqOf = new Map<Uint8Array, number>();
  const push = (table: number, rows: number): void => {
    const seq = ring.newest + 1;
    const bytes = blockLike(table, rows, between(LEAST_BYTES, 120));
    seqOf.set(bytes, seq);
    ring.push({ seq, bytes }, seq / 4);
    steps.push(['push', table, rows, bytes.length, seq / 4]);
  };
  const take = (most: number): number => {
    const seqs = ring.take(most).map(bytes => seqOf.get(bytes)!);
    steps.push(['take', most, seqs]);
    const gaps = ring.takeGaps();
    steps.push([
      'gaps',
      gaps.map(({ table, rows, from, to }) => [table, rows, from, to] as const)
    ]);
    if (gaps.length > 0) {
      push(gapTable.number, gaps.length);
    }
    return seqs.length + gaps.length;
  };
  const resume = (seq: number): void => {
    ring.resume(seq);
    steps.push(['resume', seq]);
  };
  /** What earlier observers had when they went. */
  const before: number[] = [];
  resume(0);
  for (let i = 0; i < STEPS; i++) {
    const what = random.below(12);
    if (what < 6) {
      push(random.pick(DRAWN), between(1, 9));
    } else if (what < 9) {
      take(between(1, 400));
    } else if (what === 9) {
      const seq = between(ring.acknowledged, ring.sent);
      ring.acknowledge(seq);
      steps.push(['acknowledge', seq]);
    } else if (what === 10) {
      // Some of what was on its way arrived.
      resume(between(ring.acknowledged, ring.sent));
    } else {
      before.push(ring.sent);
      resume(isSeveral && random.chance(0.5) ? random.pick(before) : 0);
    }
  }
  while (take(1000) > 0);
  return { ringBytes, lastingBytes, mostUncertain, isSeveral, steps };
}
