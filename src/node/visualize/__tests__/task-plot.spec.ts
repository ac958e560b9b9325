import * as fc from 'fast-check';
import { rowOrder, taskPlot } from '../task-plot';
import { drawnRecords, taskRecord } from './records';

describe('§4.1 the plot of tasks', () => {
  it('§4.1: rows by the durations of each worker in the order of its records, greatest first', () => {
    const records = [
      taskRecord(0, 11, 0, 1),
      taskRecord(0, 12, 0, 2),
      taskRecord(0, 11, 1, 9),
      taskRecord(0, 13, 0, 1),
      taskRecord(0, 13, 2, 2.5)
    ];
    // Not the most time in all (11), but the longest first task (12); then 11 by its second.
    expect(rowOrder(records)).toEqual([12, 11, 13]);
    expect(taskPlot(records, 1000, 60).rows.map(row => row.workerId)).toEqual([
      12, 11, 13
    ]);
  });

  it('§4.1: has key, label, start and duration of each record', () => {
    const plot = taskPlot(
      [taskRecord(0, 1, 2, 3, 'k'), taskRecord(1, 1, 1, 2)],
      1000,
      60
    );
    expect(plot.keys).toEqual(['x1', 'k']);
    expect(plot.start).toEqual([1, 2]);
    expect(plot.duration).toEqual([1, 1]);
    expect(plot.label.map(label => plot.labels[label])).toEqual([
      'mul(_, *)',
      'add(_, *)'
    ]);
  });

  it('§4.1: tasks that one worker runs at the same time lie in lanes beside each other', () => {
    const plot = taskPlot(
      [
        taskRecord(0, null, 0, 3),
        taskRecord(0, null, 1, 2),
        taskRecord(0, null, 2, 4),
        taskRecord(0, null, 3, 4)
      ],
      1000,
      60
    );
    expect(plot.rows).toEqual([{ workerId: null, lanes: 2 }]);
    expect(plot.lane).toEqual([0, 1, 1, 0]);
    expect(plot.lanes).toEqual([2, 2, 2, 2]);
  });

  it('§4.1: where nothing overlaps a task has the whole height of its row', () => {
    const plot = taskPlot(
      [
        taskRecord(0, 5, 0, 1),
        taskRecord(0, 5, 1, 4),
        taskRecord(0, 5, 2, 3),
        taskRecord(0, 5, 2, 5),
        taskRecord(0, 5, 5, 6)
      ],
      1000,
      60
    );
    expect(plot.lanes).toEqual([1, 3, 3, 3, 1]);
    expect(plot.lane).toEqual([0, 0, 1, 2, 0]);
    expect(plot.rows).toEqual([{ workerId: 5, lanes: 3 }]);
  });

  it('§4.1: no two tasks of one lane overlap, and every row is used', () => {
    fc.assert(
      fc.property(drawnRecords, records => {
        const plot = taskPlot(records, 1000, 60);
        expect(plot.keys).toHaveLength(records.length);
        const ends = new Map<string, number>();
        plot.start.forEach((start, task) => {
          const lane = `${plot.row[task]} ${plot.lane[task]}`;
          expect(start).toBeGreaterThanOrEqual((ends.get(lane) ?? 0) - 1e-9);
          ends.set(lane, start + plot.duration[task]!);
          expect(plot.lane[task]).toBeLessThan(plot.lanes[task]!);
          expect(plot.lanes[task]).toBeLessThanOrEqual(
            plot.rows[plot.row[task]!]!.lanes
          );
        });
        expect(new Set(plot.row).size).toBe(plot.rows.length);
      })
    );
  });
});
