/** The account of idle time is done in slices, between which the oldest rows may be dropped. */
import { idOf } from '../../testing/ids';
import { blockOfZeros, rowsToBlock } from '../../testing/rows-to-block';
import type { LaneIndex } from '../../records/ids';
import { complete, type Slices } from '../folds/context';
import { fineCells } from '../folds/fine-cells';
import { accountIdle, type IdleAccount } from '../folds/idle';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { contextOf } from './ask';

function accountOf(log: LogStore, to: number): Slices<IdleAccount> {
  return accountIdle({
    context: contextOf(log),
    range: { from: 0, to },
    perSpan: false
  });
}

describe('idle time in slices', () => {
  it('takes a break after some thousands of intervals that threads did not use', () => {
    const breaks = (count: number, wait: number, threads: number): number => {
      const log = new LogStore('many intervals');
      const workers = Array.from({ length: threads }, (_, worker) => ({
        worker,
        threads: 1,
        left: NaN
      }));
      ingestBlock(log, rowsToBlock(1, 'workers', workers));
      ingestBlock(log, rowsToBlock(2, 'lanes', [{ lane: 0, worker: 0 }]));
      const runs = blockOfZeros(3, 'runs', count);
      runs.columns['run']!.forEach((_, i, ids) => (ids[i] = i));
      runs.columns['start']!.forEach((_, i, starts) => (starts[i] = i / 64));
      runs.columns['duration']!.fill(1 / 256);
      runs.columns['waitThread']!.fill(wait);
      ingestBlock(log, runs);
      const slices = accountOf(log, log.lastStop);
      let breaks = 0;
      while (slices.next().done !== true) {
        breaks++;
      }
      return breaks;
    };
    // One before the rest of each thread, which has 6,001: after each second thread.
    expect([1, 2, 7].map(threads => breaks(3000, 1 / 256, threads))).toEqual([
      1, 2, 4
    ]);
    // 8,192 for a thread.
    expect([1, 3].map(threads => breaks(8191, 0, threads))).toEqual([2, 4]);
    // Of the runs two, of their thread one.
    expect(breaks(16_384, 0, 1)).toBe(4);
  });

  it('goes on when the oldest rows are dropped, of lanes that are out of order too', () => {
    const CHUNK = 65_536;
    const STEP = 1 / 1024;
    const log = new LogStore('long', { runs: CHUNK });
    const lanes = [0, 1].map(lane => ({ lane, worker: 0, thread: lane }));
    ingestBlock(
      log,
      rowsToBlock(1, 'workers', [{ worker: 0, threads: 2, left: NaN }])
    );
    ingestBlock(log, rowsToBlock(2, 'lanes', lanes));
    const block = blockOfZeros(3, 'runs', CHUNK);
    block.columns['run']!.forEach((_, i, runs) => (runs[i] = i));
    block.columns['start']!.forEach((_, i, starts) => (starts[i] = i * STEP));
    block.columns['duration']!.fill(STEP);
    block.columns['lane']!.forEach((_, i, ids) => (ids[i] = i & 1));
    ingestBlock(log, block);
    log.laneDisorder[idOf<LaneIndex>(1)] = true;
    const slices = accountOf(log, CHUNK * STEP);
    expect(slices.next().done).toBe(false);
    const next = { run: CHUNK, lane: 1, start: 64, duration: 1 };
    ingestBlock(log, rowsToBlock(4, 'runs', [next]));
    expect(log.runs.firstRow).toBe(CHUNK);
    const { executeSeconds } = complete(slices);
    // What was seen before that of the one lane; nothing that is left of the other.
    expect(executeSeconds).toBeGreaterThan(0);
    expect(executeSeconds).toBeLessThan((CHUNK * STEP) / 4);
  });

  it.each<[string, (log: LogStore) => Slices<unknown>]>([
    ['idle time', log => accountOf(log, 64)],
    [
      'fine cells',
      log => fineCells(contextOf(log, { filter: { workers: [0] } }))
    ]
  ])('lets %s be made though rows are gone that were listed', (_, fold) => {
    const log = new LogStore('gone');
    ingestBlock(log, rowsToBlock(1, 'lanes', [{ lane: 0, worker: 0 }]));
    const runs = blockOfZeros(2, 'runs', 9000);
    runs.columns['run']!.forEach((_, i, ids) => (ids[i] = i));
    ingestBlock(log, runs);
    const slices = fold(log);
    expect(slices.next().done).toBe(false);
    jest.spyOn(log.runs, 'chunkOf').mockReturnValue(undefined);
    expect(() => complete(slices)).not.toThrow();
  });
});
