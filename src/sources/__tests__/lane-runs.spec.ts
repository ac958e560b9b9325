import fc from 'fast-check';
import { MOST_SECEDED } from '../worker-lanes';
import { idOf, spanIds } from '../../testing/ids';
import { LaneRuns, type GoingRun } from '../lane-runs';

const going = (run: number, started: number): GoingRun => ({
  run,
  task: idOf(0),
  node: 0,
  functionId: 0,
  span: spanIds(0)[0]!,
  attempt: 1,
  unfinishedSince: 0,
  started,
  isGivenUp: false
});

/** The runs that are lost if the worker dies now: thread and number. */
function lost(lanes: LaneRuns): [thread: number, run: number][] {
  return [...lanes.unreported()].map(([thread, { run }]) => [thread, run]);
}

function report(
  lanes: LaneRuns,
  thread: number,
  run: number,
  started: number
): void {
  lanes.reported(thread, started, run);
}

describe('the runs of a worker that dies', () => {
  it('are those that were told and not reported, each in its thread', () => {
    const lanes = new LaneRuns(3);
    expect(lost(lanes)).toEqual([]);
    lanes.told(0, going(7, 0));
    lanes.told(2, going(9, 0.5));
    expect(lost(lanes)).toEqual([
      [0, 7],
      [2, 9]
    ]);
    report(lanes, 0, 7, 0);
    expect(lost(lanes)).toEqual([[2, 9]]);
    lanes.told(2, null);
    expect(lost(lanes)).toEqual([]);
  });

  it('are none that ended, however late they are told', () => {
    const lanes = new LaneRuns(1);
    report(lanes, 0, 7, 1);
    // Its worker told it by another reading of the clock.
    lanes.told(0, going(7, 1.001));
    expect(lost(lanes)).toEqual([]);
    report(lanes, 0, 8, 2);
    lanes.told(0, going(7, 1.001));
    expect(lost(lanes)).toEqual([]);
    lanes.told(0, going(9, 2));
    expect(lost(lanes)).toEqual([]);
    lanes.told(0, going(9, 2.5));
    expect(lost(lanes)).toEqual([[0, 9]]);
  });

  it('are in no thread that it does not have', () => {
    const lanes = new LaneRuns(2);
    lanes.told(2 + MOST_SECEDED, going(7, 1));
    lanes.told(65_535, going(7, 1));
    expect(lost(lanes)).toEqual([]);
    lanes.told(1, going(7, 1));
    expect(lost(lanes)).toEqual([[1, 7]]);
  });

  it('may be on lanes beside the threads', () => {
    const lanes = new LaneRuns(2);
    lanes.told(1001, going(7, 1));
    lanes.told(3, going(8, 1));
    lanes.reported(3, 1, 8);
    expect(lost(lanes)).toEqual([[1001, 7]]);
  });

  it('are those of a list for each thread, whoever speaks of it first', () => {
    const anyStep = fc.record({
      isTold: fc.boolean(),
      thread: fc.nat(6),
      run: fc.nat(2),
      start: fc.nat(3)
    });
    fc.assert(
      fc.property(fc.nat(3), fc.array(anyStep), (threads, steps) => {
        const lanes = new LaneRuns(threads);
        const told = new Map<number, GoingRun>();
        const last = new Map<number, { run: number; start: number }>();
        for (const { isTold, thread, run, start } of steps) {
          if (isTold) {
            lanes.told(thread, going(run, start));
            told.set(thread, going(run, start));
          } else {
            report(lanes, thread, run, start);
            last.set(thread, { run, start });
          }
          const expected = [...told]
            .filter(([of, { run, started }]) => {
              const newest = last.get(of);
              return (
                newest === undefined ||
                (newest.run !== run && newest.start < started)
              );
            })
            .map(([of, { run }]) => [of, run] as const)
            .sort(([a], [b]) => a - b);
          expect(lost(lanes)).toEqual(expected);
        }
      })
    );
  });
});
