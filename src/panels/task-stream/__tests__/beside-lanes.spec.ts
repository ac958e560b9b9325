import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import type { IWatch, TileData } from '../../../feed/feed-types';
import { runDetail } from '../../../observer/folds/run-detail';
import type { LaneIndex } from '../../../records/ids';
import { drawnTile } from '../../../testing/drawn-lanes';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { drawRuns } from '../../../testing/run-from-text';
import { english as trans } from '../../../testing/translators';
import type { Filter, TaskStreamResult } from '../../../wire/panel-link';
import { taskStreamPanel } from '..';
import { TaskStreamModel } from '../model';
import type { TaskStreamPanel } from '../panel';
import { laneText, stripBars, taskRow, threadText } from '../rows';
import { cellSeconds } from '../tile-plan';

const LEVEL = 14;
const CELL = cellSeconds(LEVEL);

const drawn = ask(drawnStore(firstLook()), 'task-stream', { ended: true });

/** A worker of two threads and two lanes beside these; cells of 16 ms. */
const result: TaskStreamResult = {
  ...drawn,
  live: true,
  from: 0,
  to: 512 * CELL,
  now: 512 * CELL,
  running: [],
  workers: [{ ...drawn.workers[0]!, worker: 0, threads: 2 }],
  lanes: [0, 1, 2, 3].map(thread => ({
    laneIndex: thread as LaneIndex,
    worker: 0,
    thread
  }))
};
const tile = drawnTile(
  ['a'.repeat(100), '', '.'.repeat(40) + 'b'.repeat(60), '.'.repeat(300) + 'c'],
  { level: LEVEL, index: 0 }
);

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

function shownIn(tileOf: () => TileData | null = () => tile) {
  const watch: IWatch = {
    snapshot: null,
    failure: null,
    isAsking: false,
    isDisposed: false,
    tileArrived: new Signal<IWatch, TileData>({} as IWatch),
    change: () => undefined,
    tile: tileOf,
    requestTiles: () => undefined,
    dispose: () => undefined
  };
  const model = new TaskStreamModel();
  model.setResult(result, {}, true);
  model.setWatch(watch);
  const at = (from: number, to: number, filter: Filter = {}): number[] => {
    model.setResult({ ...model.result! }, filter, true);
    model.setView({ from: from * CELL, to: to * CELL });
    model.settleLanes({ level: LEVEL, first: 0, count: 1 });
    return model.shown.lanes.map(({ thread }) => thread);
  };
  return { model, at };
}

describe('lanes beside the threads of a worker', () => {
  it('are shown while something of them is in view, threads always', () => {
    const { model, at } = shownIn();
    expect(model.shown.lanes.map(({ thread }) => thread)).toEqual([0, 1]);
    expect(at(0, 80)).toEqual([0, 1, 2]);
    expect(at(400, 480)).toEqual([0, 1]);
    expect(at(10, 310)).toEqual([0, 1, 2, 3]);
  });

  it('stay until they are empty within half a view, so that the others keep their height', () => {
    const { at } = shownIn();
    expect(at(60, 160)).toEqual([0, 1, 2]);
    expect(at(120, 220)).toEqual([0, 1, 2]);
    expect(at(151, 251)).toEqual([0, 1]);
    // What has gone does not come back before something is in view.
    expect(at(120, 220)).toEqual([0, 1]);
  });

  it('stay while tiles are on their way', () => {
    let here: TileData | null = tile;
    const { at } = shownIn(() => here);
    expect(at(0, 80)).toEqual([0, 1, 2]);
    here = null;
    expect(at(400, 480)).toEqual([0, 1, 2]);
    here = tile;
    expect(at(400, 480)).toEqual([0, 1]);
  });

  it('are shown while a task runs there, and until its box is here', () => {
    let here = tile;
    const { model, at } = shownIn(() => here);
    model.setResult(
      {
        ...result,
        running: [
          {
            laneIndex: 3 as LaneIndex,
            key: 'k',
            function: 'wait',
            span: 0,
            started: 350 * CELL
          }
        ]
      },
      {},
      true
    );
    expect(at(400, 480)).toEqual([0, 1, 3]);
    here = { ...tile, settled: false };
    model.setResult(result, {}, true);
    expect(at(400, 480)).toEqual([0, 1, 3]);
    here = tile;
    expect(at(400, 480)).toEqual([0, 1]);
  });

  it('go at once when a filter leaves nothing of them', () => {
    let here = { ...tile, settled: false };
    const { at } = shownIn(() => here);
    expect(at(0, 80)).toEqual([0, 1, 2]);
    here = { ...drawnTile(['a'.repeat(9)], { level: LEVEL }), settled: false };
    expect(at(0, 80, { functions: ['a'] })).toEqual([0, 1]);
  });

  it('are named so, and are no threads', () => {
    expect([0, 1, 2, 3].map(thread => laneText(thread, 2, trans))).toEqual([
      'thread 1',
      'thread 2',
      'seceded 1',
      'seceded 2'
    ]);
    expect(threadText({ worker: '0', thread: 3, threads: 2 }, trans)).toBe(
      'worker 0, seceded 2'
    );
    expect(threadText({ worker: '0', thread: 3 }, trans)).toBe(
      'worker 0, thread 4'
    );
    const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
    const cellOf = (thread: number, threads?: number) =>
      taskRow({ ...run, thread }, trans, threads)[4];
    expect(cellOf(1, 2)).toEqual({ text: '2', value: 2 });
    expect(cellOf(3, 2)).toEqual({ text: 'seceded 2', value: 4 });
    expect(cellOf(3)).toEqual({ text: '4', value: 4 });
    // A bar as high as the strip is both threads busy.
    const seconds = result.to / result.strip.compute.length;
    const full = result.strip.compute.map(() => 2 * seconds);
    const none = full.map(() => 0);
    const strip = { ...result.strip, compute: full, other: none };
    const bars = stripBars({ ...result, strip }, shownIn().model.lanesBeside);
    expect(bars[0]?.compute).toBeCloseTo(1, 9);
  });
});

it.each([
  ['embedded', [0, 1], 2],
  // Its worker has another thread in place of one that was given away: which of its lanes have seceded its log does not say.
  ['dask', [0, 1, 2, 3], 0],
  ['local', [0, 1, 2, 3], 0]
] as const)(
  'what is beside the threads is told by the source: %s',
  (kind, shown, threads) => {
    const { feed, contexts } = labContext();
    feed.setClusters(clusterInfo({ cluster: 'a', name: 'first-look', kind }));
    const panel = taskStreamPanel.create({
      context: contexts.get({ name: 'first-look' }),
      state: undefined
    }) as TaskStreamPanel;
    Widget.attach(panel, document.body);
    const { model } = panel;
    feed.running[0]!.answer(result);
    expect(model.shown.lanes.map(({ thread }) => thread)).toEqual(shown);
    expect(model.threadsOf(0)).toBe(threads);
    expect(model.lanesBeside).toBe(4 - shown.length);
    panel.dispose();
  }
);

it('of workers of one name the one that is there counts, else the newest', () => {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo({ cluster: 'a', name: 'first-look' }));
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const panel = taskStreamPanel.create({
    context: contexts.get({ name: 'first-look' }),
    state: undefined
  }) as TaskStreamPanel;
  Widget.attach(panel, document.body);
  const threadsOf = (lefts: readonly (number | null)[]) => {
    feed.running[0]!.answer({
      ...result,
      workers: lefts.map((left, worker) => ({
        ...result.workers[0]!,
        worker,
        name: run.worker,
        threads: worker + 1,
        left
      }))
    });
    return panel['_threadsOf'](run.worker);
  };
  expect(threadsOf([1, null, 2])).toBe(2);
  expect(threadsOf([1, 2, 3])).toBe(3);
  expect(threadsOf([])).toBe(0);
  panel.dispose();
});
