import fc from 'fast-check';
import { ask } from '../../../observer/__tests__/ask';
import type { LaneIndex } from '../../../records/ids';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import type { TaskStreamResult } from '../../../wire/panel-link';
import {
  groupHeaders,
  groupSizeFor,
  laneGroups,
  shownLanes
} from '../lane-groups';
import { TaskStreamModel } from '../model';
import { english as trans } from '../../../testing/translators';

const small = ask(drawnStore(firstLook()), 'task-stream', { ended: true });

/** So many workers of two threads, whose lanes came in another order. */
function many(count: number): TaskStreamResult {
  const numbers = Array.from({ length: count }, (_, worker) => worker);
  const workers = numbers.map(worker => ({
    worker,
    name: `worker-${worker}`,
    threads: 2,
    busy: worker < 50 ? 1 : 0,
    capacity: 2,
    process: 0,
    memoryLimit: 0,
    left: worker === 3 ? 5 : null
  }));
  const lanes = [...numbers, ...numbers].map((worker, index) => ({
    laneIndex: index as LaneIndex,
    worker: count - 1 - worker,
    thread: index < count ? 0 : 1
  }));
  return { ...small, workers, lanes, running: [] };
}

describe('few workers', () => {
  it('of several threads have headers, also while one lane of them is known', () => {
    const result = many(3);
    const workers = result.workers.map((each, i) => ({
      ...each,
      threads: i === 1 ? 1 : 2
    }));
    const { headed } = shownLanes({ ...result, workers }, null);
    expect([...headed]).toEqual([0, 2]);
  });

  it('are in the order of their numbers, those that have left below the others', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.nat(100)), { minLength: 1, maxLength: 64 }),
        left => {
          const result = many(left.length);
          const workers = result.workers.map((each, i) => ({
            ...each,
            left: left[i]!
          }));
          const { workers: shown, lanes } = shownLanes(
            { ...result, workers },
            null
          );
          expect([...shown].sort((a, b) => a - b)).toEqual(
            workers.map(({ worker }) => worker)
          );
          expect(lanes).toBe(result.lanes);
          // Of a cluster that has ended those that stayed to its end are as those that are there.
          const last = left.includes(null)
            ? Infinity
            : Math.max(...left.map(Number));
          const hasLeft = shown.map(
            worker => (left[worker] ?? last) < last - 2
          );
          const places = hasLeft.map(
            (isGone, i) => shown[i]! + (isGone ? 100 : 0)
          );
          expect(places).toEqual([...places].sort((a, b) => a - b));
        }
      )
    );
  });
});

it('lanes of workers that others came in the place of are below these', () => {
  const result = many(3);
  const times = [
    [0, 12],
    [12.2, 12.8],
    [0, 12.9]
  ] as const;
  const workers = result.workers.map((each, i) => ({
    ...each,
    joined: times[i]![0],
    left: times[i]![1]
  }));
  expect(shownLanes({ ...result, workers }, null).workers).toEqual([1, 2, 0]);
});

describe('groups of workers', () => {
  it('are made of more than 64 workers, and are few', () => {
    expect([1, 64].map(groupSizeFor)).toEqual([0, 0]);
    for (let workers = 65; workers < 70_000; workers += 97) {
      const size = groupSizeFor(workers);
      expect(Math.ceil(workers / size)).toBeLessThanOrEqual(24);
      expect(Math.ceil(workers / size)).toBeGreaterThanOrEqual(7);
    }
    expect(groupSizeFor(1000)).toBe(50);
  });

  it('have every lane once', () => {
    const result = many(130);
    const all = shownLanes(result, null);
    expect(all.rows).toEqual({ groupSize: 10, group: null });
    expect([...all.headed]).toEqual(all.workers);
    expect(all.lanes.map(({ laneIndex }) => Number(laneIndex))).toEqual([
      ...Array(13).keys()
    ]);
    const opened = all.workers.flatMap(group => {
      const shown = shownLanes(result, group * 10 + 7);
      expect(shown.rows).toEqual({ groupSize: 10, group });
      expect(shown.workers).toHaveLength(10);
      return shown.lanes;
    });
    expect(new Set(opened)).toEqual(new Set(result.lanes));
    expect(opened).toHaveLength(result.lanes.length);
  });

  it('are told by their first and last worker, and by what these did together', () => {
    const result = many(1000);
    expect(laneGroups(result, trans).map(({ name }) => name)[1]).toBe(
      'worker 50 – worker 99'
    );
    expect(
      groupHeaders(result, trans, false)
        .slice(0, 2)
        .map(({ text }) => text.replace(/\u00a0/g, ' '))
    ).toEqual([
      '50 workers · 100 threads · busy 50 % · 1 left',
      '50 workers · 100 threads · busy 0 %'
    ]);
    // Of an observation the first is the program itself.
    const [program, next] = groupHeaders(result, trans, true);
    expect(program?.text).toMatch(/^49\u00a0processes and the main program · /);
    expect(next?.text).toBe(
      '50\u00a0processes · 100\u00a0threads · busy 0\u00a0%'
    );
    expect(laneGroups(small, trans)).toEqual([]);
    // No range of names that do not count up: others lie between.
    const workers = result.workers.map(each =>
      each.worker === 7 ? { ...each, name: 'worker-700' } : each
    );
    const [first, second] = laneGroups({ ...result, workers }, trans);
    expect([first?.name, second?.name]).toEqual([
      'worker 0 and 49\u00a0more',
      'worker 50 – worker 99'
    ]);
  });
});

describe('the model', () => {
  it('has the selected task in the row that is shown of its lane', () => {
    const model = new TaskStreamModel();
    const result = many(1000);
    model.setResult(result);
    // Worker 123 is in the third group of fifty.
    const { laneIndex } = result.lanes.find(({ worker }) => worker === 123)!;
    const place = { run: 7, laneIndex, from: 1, to: 2 };
    expect(model.selectedRow).toBeNull();
    model.setSelectedPlace(place);
    expect(model.selectedRow).toEqual({ ...place, laneIndex: 2 });
    model.openGroup(123);
    expect(model.selectedRow).toBe(place);
    model.setResult(many(4));
    model.setSelectedPlace({ ...place, laneIndex: 1 as LaneIndex });
    expect(model.selectedRow?.laneIndex).toBe(1);
    expect(model.rowOf(1 as LaneIndex)).toBe(1);
  });

  it('asks for tiles of groups, and of the lanes of the one that is opened', () => {
    const model = new TaskStreamModel();
    const asked: unknown[] = [];
    model.setResult(many(1000));
    model.setWatch({
      snapshot: null,
      failure: null,
      isAsking: false,
      isDisposed: false,
      change: () => undefined,
      dispose: () => undefined,
      tile: (_level, _index, rows) => {
        asked.push(rows);
        return null;
      },
      isFresh: () => true,
      requestTiles: (_level, _first, _count, rows) => asked.push(rows),
      tileArrived: { connect: () => true, disconnect: () => true }
    });
    const askedFor = () => {
      asked.length = 0;
      model.wantTiles(1000);
      model.tileOf(3, 0);
      return [...new Set(asked.map(rows => JSON.stringify(rows)))];
    };
    expect(model.showsGroups).toBe(true);
    expect(askedFor()).toEqual(['{"groupSize":50,"group":null}']);
    model.openGroup(123);
    expect([model.showsGroups, model.openedGroup]).toEqual([false, 2]);
    expect(model.shown.workers[0]).toBe(100);
    expect(askedFor()).toEqual(['{"groupSize":50,"group":2}']);
    const { opened = null } = model.savedState();
    expect(new TaskStreamModel({ opened }).savedState().opened).toBe(123);
    model.openGroup(null);
    expect(model.showsGroups).toBe(true);
  });
});
