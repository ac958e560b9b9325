import * as fc from 'fast-check';
import type { CacheData, TaskData } from '../../diagnostics/records';
import { ref, task } from '../../graph/nodes';
import type { IPlottable, Plot, TimeRange } from '../plots';

const NAMES = ['add', 'mul', 'sum'];

/** The first three have names of their own. */
function functionOf(index: number) {
  const name = NAMES[index] ?? `f${index}`;
  return Object.defineProperty(() => 0, 'name', { value: name });
}

/** A record of a run that began at 1000 s. */
export function taskRecord(
  fn: number,
  workerId: number | null,
  from: number,
  to: number,
  key = `x${from}`
): TaskData {
  return {
    key,
    task: task(functionOf(fn), ref('a'), fn),
    startTime: 1000 + from,
    endTime: 1000 + to,
    workerId
  };
}

export function cacheRecord(
  fn: number,
  from: number,
  to: number,
  metric = 1
): CacheData {
  const { key, task: node } = taskRecord(fn, null, from, to);
  return {
    key,
    task: node,
    metric,
    cacheTime: 1000 + from,
    freeTime: 1000 + to
  };
}

export function plottable(
  plot: (origin: number, labelSize: number) => Plot,
  timeRange: TimeRange | null = { start: 1000, end: 1010 }
): IPlottable {
  return { timeRange, plot };
}

/** Tasks of a few workers, overlapping or not. */
export const drawnRecords: fc.Arbitrary<TaskData[]> = fc.array(
  fc
    .record({
      fn: fc.integer({ min: 0, max: 2 }),
      workerId: fc.option(fc.integer({ min: 1, max: 4 })),
      from: fc.integer({ min: 0, max: 1_000_000 }),
      length: fc.oneof(
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 0, max: 500_000 })
      )
    })
    .map(({ fn, workerId, from, length }) =>
      taskRecord(fn, workerId, from / 1e5, (from + length) / 1e5)
    ),
  { maxLength: 60 }
);
