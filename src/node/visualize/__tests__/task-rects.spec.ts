import * as fc from 'fast-check';
import { taskPlot } from '../task-plot';
import { taskRects } from '../task-rects';
import { drawnRecords, taskRecord } from './records';

describe('§4.1, issue 4 point 6: rectangles that can be told apart', () => {
  it('draws each task that is wide enough', () => {
    const plot = taskPlot(
      [taskRecord(0, 1, 0, 1), taskRecord(1, 2, 0, 5)],
      1000,
      60
    );
    const rects = taskRects(plot, 0, 10, 800);
    expect(rects.map(({ task, count }) => [task, count])).toEqual([
      [0, 1],
      [1, 1]
    ]);
  });

  it('puts what lies in one pixel together, and says what is most of it and how busy it was', () => {
    const records = Array.from({ length: 100 }, (_, index) =>
      taskRecord(index % 4 === 0 ? 1 : 0, 1, index * 1e-4, index * 1e-4 + 5e-5)
    );
    const plot = taskPlot(records, 1000, 60);
    const [rect, ...others] = taskRects(plot, 0, 10, 800);
    expect(others).toEqual([]);
    expect(rect).toMatchObject({ count: 100, task: -1, start: 0 });
    expect(plot.labels[rect!.label]).toBe('add(_, *)');
    expect(rect!.busyShare).toBeCloseTo(0.5, 1);
    // Near enough they are told apart.
    expect(taskRects(plot, 0, 0.01, 800)).toHaveLength(100);
  });

  it('draws a few thousand of any number of tasks', () => {
    const records = Array.from({ length: 50_000 }, (_, index) => {
      const from = Math.floor(index / 16) * 1e-3;
      return taskRecord(index % 3, index % 16, from, from + 9e-4);
    });
    const plot = taskPlot(records, 1000, 60);
    const rects = taskRects(plot, 0, 3.2, 800);
    expect(rects.length).toBeLessThanOrEqual(3100);
    expect(rects.reduce((sum, { count }) => sum + count, 0)).toBe(50_000);
  });

  it('covers every task in view once, at any zoom', () => {
    fc.assert(
      fc.property(
        drawnRecords,
        fc.double({ min: 0, max: 9, noNaN: true }),
        fc.double({ min: 0.0001, max: 10, noNaN: true }),
        fc.integer({ min: 50, max: 2000 }),
        (records, from, span, pixels) => {
          const plot = taskPlot(records, 1000, 60);
          const rects = taskRects(plot, from, from + span, pixels);
          const seen = plot.start.filter(
            (start, task) =>
              start + plot.duration[task]! >= from && start <= from + span
          );
          expect(rects.reduce((sum, { count }) => sum + count, 0)).toBe(
            seen.length
          );
          const cell = span / pixels;
          const lanes = plot.rows.reduce((sum, row) => sum + row.lanes, 0);
          for (const { start, end, count } of rects) {
            expect(end).toBeGreaterThanOrEqual(start);
            if (count > 1) {
              // Two cells at most, and a cell is a pixel while there are few lanes.
              expect(end - start).toBeLessThanOrEqual(
                3 * cell * Math.max(1, (lanes * pixels) / 2000) + 1e-9
              );
            }
          }
        }
      )
    );
  });
});
