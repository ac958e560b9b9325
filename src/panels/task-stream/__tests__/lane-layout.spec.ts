import type { LaneIndex } from '../../../records/ids';
import { idOf } from '../../../testing/ids';
import fc from 'fast-check';

import { rowsInLane } from '../../../charts/lane-fills';
import {
  HEADER_HEIGHT,
  heightBesideLanes,
  laneAt,
  layOutLanes
} from '../lane-layout';

const lanesOf = (workers: number, threads: number) =>
  Array.from({ length: workers * threads }, (_, laneIndex) => ({
    laneIndex: idOf<LaneIndex>(laneIndex),
    worker: Math.floor(laneIndex / threads),
    thread: laneIndex % threads
  }));

describe('the layout of lanes', () => {
  it('fills the height between 14 and 43 px', () => {
    const at = (available: number) =>
      layOutLanes(
        { lanes: lanesOf(4, 2), workers: [0, 1, 2, 3] },
        new Set(),
        available
      );
    expect(at(4 * HEADER_HEIGHT + 8 * 20).laneHeight).toBe(20);
    expect(at(0).laneHeight).toBe(14);
    expect(at(5000).laneHeight).toBe(43);
  });

  it('leaves only the header of a collapsed worker', () => {
    const layout = layOutLanes(
      { lanes: lanesOf(2, 2), workers: [0, 1] },
      new Set([0]),
      400
    );
    expect(
      layout.workers.map(row => [row.top, row.height, row.lanes.length])
    ).toEqual([
      [0, HEADER_HEIGHT, 0],
      [HEADER_HEIGHT, HEADER_HEIGHT + 2 * 43, 2]
    ]);
  });

  it('keeps lanes of a worker together, also those that came later', () => {
    const lanes = [
      ...lanesOf(2, 1),
      { laneIndex: idOf<LaneIndex>(2), worker: 0, thread: 1 }
    ];
    const layout = layOutLanes({ lanes, workers: [0, 1] }, new Set(), 400);
    expect(layout.workers[0]?.lanes.map(lane => lane.laneIndex)).toEqual([
      0, 2
    ]);
  });

  it('shows a lane whose worker is not known yet', () => {
    const layout = layOutLanes(
      {
        lanes: [{ laneIndex: idOf(0), worker: 9, thread: 0 }],
        workers: []
      },
      new Set(),
      400
    );
    expect(layout.workers.map(row => row.worker)).toEqual([9]);
  });

  it('finds each lane where it was put, and nothing on headers', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 900 }),
        (workers, threads, available) => {
          const layout = layOutLanes(
            {
              lanes: lanesOf(workers, threads),
              workers: [...Array(workers).keys()]
            },
            new Set(),
            available
          );
          for (const row of layout.workers) {
            expect(laneAt(layout, row.top + 1)?.worker).toBe(
              threads === 1 ? row.worker : undefined
            );
            for (const lane of row.lanes) {
              const found = laneAt(layout, lane.top + 1);
              expect(found?.lane.laneIndex).toBe(lane.laneIndex);
              expect(found?.inStrip).toBe(false);
              expect(
                laneAt(layout, lane.top + layout.laneHeight - 2)?.inStrip
              ).toBe(true);
            }
          }
          expect(laneAt(layout, layout.height + 1)).toBeNull();
        }
      )
    );
  });

  it('has no header over a single lane, whose label is the name of its worker', () => {
    const workers = [...Array(16).keys()];
    const shown = { lanes: lanesOf(16, 1), workers };
    const layout = layOutLanes(shown, new Set(), 16 * 20);
    expect(layout.laneHeight).toBe(20);
    expect(layout.height).toBe(16 * 20);
    for (const { top, height, headerHeight, lanes } of layout.workers) {
      expect([headerHeight, height, lanes[0]!.top]).toEqual([0, 20, top]);
    }
    // Folded it has one, with which it is unfolded.
    const folded = layOutLanes(shown, new Set([1]), 16 * 20).workers;
    expect(
      folded.slice(0, 3).map(row => [row.headerHeight, row.lanes.length])
    ).toEqual([
      [0, 1],
      [HEADER_HEIGHT, 0],
      [0, 1]
    ]);
    expect(heightBesideLanes(shown, new Set([1]), 1000)).toBe(
      1000 - 15 * 28 - HEADER_HEIGHT
    );
  });

  it('has headers over several lanes, over none, and where it is told so', () => {
    const lanes = lanesOf(4, 2).filter(
      ({ worker, thread }) => worker === 0 || (worker < 3 && thread === 0)
    );
    const headed = new Set([2]);
    const shown = { lanes, workers: [0, 1, 2, 3], headed };
    const layout = layOutLanes(shown, new Set(), 0);
    expect(
      layout.workers.map(row => [row.lanes.length, row.headerHeight])
    ).toEqual([
      [2, HEADER_HEIGHT],
      [1, 0],
      [1, HEADER_HEIGHT],
      [0, HEADER_HEIGHT]
    ]);
    // (a lane beside the threads takes no room from spans: it comes and goes)
    const beside = ['seceded', 1] as const;
    const seceded = { ...lanes[2]!, laneIndex: idOf<LaneIndex>(9), beside };
    for (const each of [lanes, [...lanes, seceded]]) {
      expect(
        heightBesideLanes({ ...shown, lanes: each }, new Set(), 1000)
      ).toBe(1000 - 3 * HEADER_HEIGHT - 4 * 28);
    }
  });

  it('gives the strip the lower quarter', () => {
    for (let height = 14; height <= 43; height += 1) {
      const rows = rowsInLane(height);
      expect(rows.workHeight + rows.stripHeight).toBe(rows.fullHeight);
      expect(rows.stripHeight / rows.fullHeight).toBeGreaterThan(0.2);
      expect(rows.stripHeight / rows.fullHeight).toBeLessThan(0.32);
    }
  });
});
