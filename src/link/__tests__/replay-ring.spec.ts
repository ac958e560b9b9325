/** The ring replays the trace that Python's replays too; and an account of its own holds the trace to what it is for. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TABLES } from '../../records/tables';
import {
  blockLike,
  type ReplayRun,
  replayTrace
} from '../../testing/replay-trace';
import { ReplayRing } from '../replay-ring';

const GAPS = TABLES.gaps.number;
const { runs } = JSON.parse(
  readFileSync(join(__dirname, '..', 'replay-trace.json'), 'utf8')
) as { readonly runs: readonly ReplayRun[] };

describe('the replay ring', () => {
  it('does what the trace says', () => {
    for (const { ringBytes, lastingBytes, mostUncertain, steps } of runs) {
      const ring = new ReplayRing(ringBytes, lastingBytes, mostUncertain);
      const blocks = new Map<Uint8Array, number>();
      for (const step of steps) {
        switch (step[0]) {
          case 'push': {
            const [, table, rows, nbytes, at] = step;
            const bytes = blockLike(table, rows, nbytes);
            blocks.set(bytes, blocks.size + 1);
            ring.push({ seq: blocks.size, bytes }, at);
            break;
          }
          case 'take':
            expect(ring.take(step[1]).map(each => blocks.get(each))).toEqual(
              step[2]
            );
            break;
          case 'gaps':
            expect(
              ring
                .takeGaps()
                .map(({ table, rows, from, to }) => [table, rows, from, to])
            ).toEqual(step[1]);
            break;
          case 'acknowledge':
            ring.acknowledge(step[1]);
            break;
          case 'resume':
            ring.resume(step[1]);
            break;
        }
      }
    }
  });

  it('has a trace in which much is lost, sent again and told of', () => {
    const steps = runs.flatMap(run => run.steps);
    const count = (what: string): number =>
      steps.filter(([kind]) => kind === what).length;
    expect(count('push')).toBeGreaterThan(1000);
    expect(count('resume')).toBeGreaterThan(200);
    expect(
      steps.filter(step => step[0] === 'gaps' && step[1].length > 0).length
    ).toBeGreaterThan(100);
    expect(replayTrace().runs).toEqual(runs);
  });

  it('does not grow with an observer that acknowledges nothing', () => {
    const ring = new ReplayRing(1000, 1000);
    const count = 20_000;
    for (let seq = 1; seq <= count; seq++) {
      const table = seq % 2 === 0 ? TABLES.runs : TABLES.memory;
      ring.push({ seq, bytes: blockLike(table.number, 3, 100) }, seq);
      ring.take(1000);
    }
    const { _uncertain } = ring as unknown as { _uncertain: unknown[] };
    expect(_uncertain.length).toBeLessThanOrEqual(1000);
    // It comes back with half of them: it is told of no row less than it lacks.
    ring.resume(count / 2);
    const sent = ring.take(1e6).length;
    const told = ring.takeGaps().reduce((sum, { rows }) => sum + rows, 0);
    expect(told).toBeGreaterThanOrEqual(3 * (count / 2 - sent));
    expect(told).toBeLessThanOrEqual(3 * (count - sent));
  });

  it('gives the last observer of a run each row, or tells of it once, table by table', () => {
    for (const { steps, isSeveral } of runs) {
      const pushed: { table: number; rows: number }[] = [];
      /** Block of gaps → what it tells. */
      const tells = new Map<number, readonly (readonly number[])[]>();
      const got = new Set<number>();
      let newGaps: readonly (readonly number[])[] = [];
      for (const step of steps) {
        switch (step[0]) {
          case 'push':
            pushed.push({ table: step[1], rows: step[2] });
            if (step[1] === GAPS) {
              tells.set(pushed.length, newGaps);
            }
            break;
          case 'take':
            for (const seq of step[2]) {
              expect(got.has(seq)).toBe(false);
              got.add(seq);
            }
            break;
          case 'gaps':
            newGaps = step[1];
            break;
          case 'acknowledge':
            break;
          case 'resume':
            // It is another one, or what was on its way beyond this did not arrive.
            [...got]
              .filter(seq => seq > step[1])
              .forEach(seq => got.delete(seq));
            break;
        }
      }
      if (isSeveral) {
        continue;
      }
      const sums = new Map<number, number>();
      const add = (table: number, rows: number): void =>
        void sums.set(table, (sums.get(table) ?? 0) + rows);
      pushed.forEach(({ table, rows }, i) => {
        if (table !== GAPS) {
          add(table, got.has(i + 1) ? 0 : rows);
        }
      });
      for (const [seq, gaps] of tells) {
        if (got.has(seq)) {
          gaps.forEach(([table, rows]) => add(table!, -rows!));
        }
      }
      expect([...sums].filter(([, rows]) => rows !== 0)).toEqual([]);
    }
  });
});
