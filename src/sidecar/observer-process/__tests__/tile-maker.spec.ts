import { compileFilter } from '../../../observer/filter';
import { complete } from '../../../observer/folds/context';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import type { TileAnswer } from '../../../observer/tiles/tile';
import { emptyCluster } from '../../../testing/observed-cluster';
import { drawBlocks } from '../../../testing/run-from-text';
import { TileMaker } from '../tile-maker';
import { encoded } from './observer-fixture';

/** Runs of 8 µs, enough of them that a tile is made in several slices; boxes at level 3. */
const blocks = drawBlocks(`0/0 ${'ab'.repeat(10_000)}`, {
  secondsPerColumn: 8e-6
});
const LEVEL = 8;

function filled(): LogStore {
  const store = new LogStore('log');
  blocks.forEach(block => ingestBlock(store, block));
  return store;
}

/** One more run, at the log's beginning. */
function addLateRun(store: LogStore): void {
  const { columns, ...rest } = drawBlocks('0/0 a', {
    secondsPerColumn: 8e-6
  }).find(({ table }) => table === 'runs')!;
  columns['run']![0] = 50_000;
  ingestBlock(store, { ...rest, columns, seq: store.seq + 1 });
}

function tasksOf(tile: TileAnswer): number {
  return tile.columns.tasks.reduce((sum, tasks) => sum + tasks, 0);
}

describe('kept tiles', () => {
  it('are given again until a row comes late', () => {
    const store = filled();
    const maker = new TileMaker(store, compileFilter({}, store));
    const tile = complete(maker.tile(LEVEL, 0, true));
    expect(tile.settled).toBe(true);
    expect(complete(maker.tile(LEVEL, 0, true)).columns).toBe(tile.columns);
    addLateRun(store);
    expect(store.lateSeq).toBeGreaterThan(tile.logSeq);
    const after = complete(maker.tile(LEVEL, 0, true));
    expect(tasksOf(after)).toBe(tasksOf(tile) + 1);
    expect(after.logSeq).toBe(store.lateSeq);
  });

  it('are none that a late row has overtaken while they were made', () => {
    const store = filled();
    const maker = new TileMaker(store, compileFilter({}, store));
    // The settled time is fixed before the first slice.
    store.settledBefore(true);
    const slices = maker.tile(LEVEL, 0, true);
    expect(slices.next().done).toBe(false);
    addLateRun(store);
    // Somebody else's tile: the maker has seen the late row.
    complete(maker.tile(LEVEL, 1, true));
    const overtaken = complete(slices);
    expect(overtaken.logSeq).toBeLessThan(store.lateSeq);
    expect(tasksOf(complete(maker.tile(LEVEL, 0, true)))).toBe(
      tasksOf(complete(new TileMaker(store, maker.filter).tile(LEVEL, 0, true)))
    );
    expect(complete(maker.tile(LEVEL, 0, true)).columns).not.toBe(
      overtaken.columns
    );
  });

  it('are one when two ask for the same at once', () => {
    const store = filled();
    const maker = new TileMaker(store, compileFilter({}, store));
    const first = maker.tile(LEVEL, 0, true);
    const second = maker.tile(LEVEL, 0, true);
    first.next();
    second.next();
    const tile = complete(first);
    complete(second);
    expect(complete(maker.tile(LEVEL, 0, true)).columns).toBe(tile.columns);
  });

  it('are not those of an end that was none', () => {
    const store = filled();
    store.settledBefore(true);
    store.reopen();
    expect(store.lateRows).toBe(1);
    expect(store.lateSeq).toBeGreaterThan(store.seq);
    expect(store.settledBefore(false)).toBeLessThan(store.now);
  });
});

it('are asked for without turning their filter into text for each', () => {
  const cluster = emptyCluster();
  cluster.take(blocks.map(encoded));
  const filter = { functions: ['a'] };
  const maker = cluster.tiles(filter);
  const stringify = jest.spyOn(JSON, 'stringify');
  try {
    for (let i = 0; i < 60; i++) {
      expect(cluster.tiles(filter)).toBe(maker);
    }
    expect(stringify).not.toHaveBeenCalled();
  } finally {
    stringify.mockRestore();
  }
  // The same filter from another page.
  expect(cluster.tiles({ functions: ['a'] })).toBe(maker);
});
