import type { LaneIndex } from '../../../records/ids';
import { idOf } from '../../../testing/ids';
import fc from 'fast-check';

import { rowsInLane } from '../../../charts/lane-fills';
import { HEADER_HEIGHT, laneAt, layOutLanes } from '../lane-layout';

const lanesOf = (workers: number, threads: number) =>
  Array.from({ length: workers * threads }, (_, laneIndex) => ({
    laneIndex: idOf<LaneIndex>(laneIndex),
    worker: Math.floor(laneIndex / threads),
    thread: laneIndex % threads
  }));

describe('the layout of lanes', () => {
  it('fills the height between 14 and 43 px', () => {
    const at = (available: number) =>
      layOutLanes(lanesOf(4, 2), [0, 1, 2, 3], new Set(), available);
    expect(at(4 * HEADER_HEIGHT + 8 * 20).laneHeight).toBe(20);
    expect(at(0).laneHeight).toBe(14);
    expect(at(5000).laneHeight).toBe(43);
  });

  it('leaves only the header of a collapsed worker', () => {
    const layout = layOutLanes(lanesOf(2, 2), [0, 1], new Set([0]), 400);
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
    const layout = layOutLanes(lanes, [0, 1], new Set(), 400);
    expect(layout.workers[0]?.lanes.map(lane => lane.laneIndex)).toEqual([
      0, 2
    ]);
  });

  it('shows a lane whose worker is not known yet', () => {
    const layout = layOutLanes(
      [{ laneIndex: idOf(0), worker: 9, thread: 0 }],
      [],
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
            lanesOf(workers, threads),
            [...Array(workers).keys()],
            new Set(),
            available
          );
          for (const row of layout.workers) {
            expect(laneAt(layout, row.top + 1)).toBeNull();
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

  it('gives the strip the lower quarter', () => {
    for (let height = 14; height <= 43; height += 1) {
      const rows = rowsInLane(height);
      expect(rows.workHeight + rows.stripHeight).toBe(rows.fullHeight);
      expect(rows.stripHeight / rows.fullHeight).toBeGreaterThan(0.2);
      expect(rows.stripHeight / rows.fullHeight).toBeLessThan(0.32);
    }
  });
});
