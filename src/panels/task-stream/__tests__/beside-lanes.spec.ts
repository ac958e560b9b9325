import { Signal } from '@lumino/signaling';
import { ask } from '../../../observer/__tests__/ask';
import type { IWatch, TileData } from '../../../feed/feed-types';
import { runDetail } from '../../../observer/folds/run-detail';
import type { LaneIndex } from '../../../records/ids';
import { drawnTile } from '../../../testing/drawn-lanes';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { drawRuns } from '../../../testing/run-from-text';
import { english as trans } from '../../../testing/translators';
import type {
  Filter,
  RunDetail,
  TaskStreamResult
} from '../../../wire/panel-link';
import { TaskStreamModel } from '../model';
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
    thread,
    ...(thread >= 2 && { beside: ['seceded', thread - 1] as const })
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
    isFresh: () => true,
    requestTiles: () => undefined,
    dispose: () => undefined
  };
  const model = new TaskStreamModel();
  model.setResult(result, {});
  model.setWatch(watch);
  const at = (from: number, to: number, filter: Filter = {}): number[] => {
    model.setResult({ ...model.result! }, filter);
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
      {}
    );
    expect(at(400, 480)).toEqual([0, 1, 3]);
    here = { ...tile, settled: false };
    model.setResult(result, {});
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
    const overlapping = { thread: 32_769, beside: ['overlapping', 2] } as const;
    expect(
      [...result.lanes, overlapping].map(lane => laneText(lane, trans))
    ).toEqual([
      'thread 1',
      'thread 2',
      'seceded 1',
      'seceded 2',
      'overlapping 2'
    ]);
    expect(threadText({ ...result.lanes[3]!, worker: '0' }, trans)).toBe(
      'worker 0, seceded 2'
    );
    const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
    const cellOf = (lane: Pick<RunDetail, 'thread' | 'beside'>) =>
      taskRow({ ...run, ...lane }, trans)[4];
    expect(cellOf({ thread: 1 })).toEqual({ text: '2', value: 2 });
    expect(cellOf({ thread: 3, beside: ['seceded', 2] })).toEqual({
      text: 'seceded 2',
      value: 'seceded 2'
    });
    // A bar as high as the strip is both threads busy.
    const seconds = result.to / result.strip.compute.length;
    const full = result.strip.compute.map(() => 2 * seconds);
    const none = full.map(() => 0);
    const strip = { ...result.strip, compute: full, other: none };
    const bars = stripBars({ ...result, strip });
    expect(bars[0]?.compute).toBeCloseTo(1, 9);
  });
});
