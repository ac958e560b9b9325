import { decodeBlock, type Block } from '../../../records/block';
import { EmbeddedClusterLog } from '../../../sources';
import { MemoryRuns } from '../memory-runs';

describe('labelled memory curves', () => {
  it('have stopped when the cluster ends', () => {
    const blocks: Block[] = [];
    let now = 100;
    const log = new EmbeddedClusterLog(100, ({ bytes }) =>
      blocks.push(decodeBlock(bytes))
    );
    const runs = new MemoryRuns(
      log,
      () => now,
      () => [{ process: 9, managed: 4, spilled: 0, unmanagedOld: 1 }]
    );
    runs.start(1, 'A', 'unmanaged', 60);
    now = 103;
    runs.close();
    expect(runs.shortestSeconds).toBeNull();
    log.seal(now);
    const rows = blocks.find(
      (block): block is Block<'memoryRuns'> => block.table === 'memoryRuns'
    )!;
    expect([...rows.columns.stopped]).toEqual([NaN, 3]);
    const samples = blocks.find(
      (block): block is Block<'memorySamples'> =>
        block.table === 'memorySamples'
    )!;
    expect([...samples.columns.bytes]).toEqual([5, 5]);
  });

  /** By a clock of the test's own, which jest's timers do not move. */
  function runsBy(clock: () => number): MemoryRuns {
    return new MemoryRuns(
      new EmbeddedClusterLog(0, () => undefined),
      clock,
      () => [{ process: 9, managed: 4, spilled: 0, unmanagedOld: 1 }]
    );
  }

  it('ask for no time that has passed, however the clock goes on', () => {
    jest.useFakeTimers();
    const asked = jest.spyOn(global, 'setTimeout');
    try {
      // Each look at the clock takes a while: what was due just before is past at the next look.
      let now = 0;
      const runs = runsBy(() => (now += 0.003));
      runs.start(1, 'A', 'process', 0.01);
      for (let i = 0; i < 50; i++) {
        jest.advanceTimersByTime(20);
      }
      runs.close();
      expect(asked.mock.calls.length).toBeGreaterThan(50);
      const shortest = Math.min(...asked.mock.calls.map(([, ms]) => ms ?? 0));
      expect(shortest).toBeGreaterThan(0);
    } finally {
      asked.mockRestore();
      jest.useRealTimers();
    }
  });

  it('begin at the start, end at the end, and have no doubles', () => {
    jest.useFakeTimers();
    try {
      let now = 0;
      const runs = runsBy(() => now);
      runs.start(1, 'A', 'process', 0.1);
      // Node's timer counts from before a long turn of the event loop, and comes 20 µs after the first sample.
      now = 20e-6;
      jest.advanceTimersByTime(100);
      now = 0.1;
      jest.advanceTimersByTime(100);
      // A turn that takes long leaves samples out, and the next come at whole intervals again.
      now = 0.35;
      jest.advanceTimersByTime(100);
      now = 0.4;
      jest.advanceTimersByTime(51);
      now = 0.4 + 20e-6;
      expect(runs.stop(1).t).toEqual([0, 0.1, 0.35, 0.4]);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('have their start and their end, however short they are', () => {
    let now = 5;
    const runs = runsBy(() => now);
    runs.start(1, 'A', 'process', 60);
    now += 20e-6;
    expect(runs.stop(1).t).toEqual([5, now]);
  });

  it('take no sample more often than a worker can measure', () => {
    const log = new EmbeddedClusterLog(0, () => undefined);
    const runs = new MemoryRuns(
      log,
      () => 0,
      () => []
    );
    for (const wanted of [0, -1, NaN]) {
      runs.start(1, 'A', 'process', wanted);
      expect(runs.shortestSeconds).toBe(0.01);
    }
    runs.close();
  });
});
