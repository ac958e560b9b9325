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
      () => [{ process: 9, managed: 4, spilled: 0 }]
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
