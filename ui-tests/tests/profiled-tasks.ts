/** The tasks of the Task Stream's table against the records of a profiler that watched the same run: Dask's, or the npm package's. */
import { expect } from '@playwright/test';
import type { Panel } from '../pages/panel';
import { resolutionOf, secondsOf } from './shown-figures';

/** A record of the profiler that ran beside Spanwise. Times count from somewhere between the two ends of the observation's start. */
export type Profiled = {
  readonly key: string;
  /** Which of the graphs. */
  readonly graph: number;
  /** Thread or process; null for the program's own thread. */
  readonly place: number | null;
  readonly earliestStart: number;
  readonly latestStop: number;
  readonly duration: number;
};

type ShownTask = {
  readonly key: string;
  readonly worker: string;
  /** Worker and thread. */
  readonly place: string;
  /** In a lane beside the thread, for something of the thread waits. */
  readonly isBeside: boolean;
  readonly start: string;
  readonly duration: string;
};

/** The rows of the Task Stream's table. */
export async function tasksIn(stream: Panel): Promise<ShownTask[]> {
  const [header = [], ...rows] = await stream.rows();
  return rows.map(row => {
    const cell = (column: string) => row[header.indexOf(column)] ?? '';
    return {
      key: cell('Key'),
      worker: cell('Worker'),
      place: `${cell('Worker')}, ${cell('Thread')}`,
      isBeside: cell('Thread').startsWith('overlapping '),
      start: cell('Start'),
      duration: cell('Duration')
    };
  });
}

async function keysIn(stream: Panel): Promise<string[]> {
  return (await tasksIn(stream)).map(({ key }) => key).sort();
}

/** The Task Stream, as a table, comes to have these tasks and no others; keys are sorted. */
export async function expectKeys(
  stream: Panel,
  keys: readonly string[]
): Promise<void> {
  await stream.showTable(true);
  await expect(async () => {
    expect(await keysIn(stream)).toEqual(keys);
  }).toPass({ timeout: 90_000 });
}

export function keysOf(profiled: readonly Profiled[]): string[] {
  return profiled.map(({ key }) => key).sort();
}

/**
 * A profiler counts seconds since 1970: 1.8e9 of them leave a float64 steps of 2^-22 s, 0.24 µs, and 1.8e12 ms as large ones. The npm package
 * adds milliseconds and divides: each stamp is rounded twice, by half a step, and a duration is the difference of two.
 */
const CLOCK_STEP = 2 * 2 ** -22;

/** Each interval lies within the profiler's, which also holds what the scheduler's loop adds. */
export function compareTimes(
  rows: readonly ShownTask[],
  profiled: readonly Profiled[]
): void {
  const records = new Map(profiled.map(record => [record.key, record]));
  for (const { key, start, duration } of rows) {
    const record = records.get(key)!;
    const [shownStart, shownDuration] = [secondsOf(start), secondsOf(duration)];
    const rounding = resolutionOf(start) + resolutionOf(duration);
    expect(shownDuration, key).toBeLessThan(
      record.duration + resolutionOf(duration) + CLOCK_STEP
    );
    expect(shownStart, key).toBeGreaterThan(
      record.earliestStart - resolutionOf(start) - CLOCK_STEP
    );
    expect(shownStart + shownDuration, key).toBeLessThan(
      record.latestStop + rounding + CLOCK_STEP
    );
  }
}

/**
 * Of each graph: a thread of the profiler's has one place in the panel. Two threads share a place only one after the other: a pool gives the
 * work of a worker that stays silent to a new one. Each run on processes has a pool of its own. Promises wait in the program's own thread: what
 * begins meanwhile is beside it.
 */
export function comparePlaces(
  rows: readonly ShownTask[],
  profiled: readonly Profiled[]
): void {
  const shown = new Map(rows.map(row => [row.key, row]));
  for (const graph of new Set(profiled.map(record => record.graph))) {
    const records = profiled.filter(record => record.graph === graph);
    expect(records.length).toBeGreaterThan(5);
    const places = new Map<string, ShownTask[]>();
    const pairs = new Set<string>();
    for (const { key, place } of records) {
      const row = shown.get(key)!;
      places.set(row.place, [...(places.get(row.place) ?? []), row]);
      if (row.isBeside) {
        expect(place, key).toBeNull();
        expectBesideAnother(row, rows);
      } else {
        pairs.add(`${row.place} ${place}`);
      }
    }
    const threads = new Set(records.map(({ place }) => place)).size;
    expect(pairs.size).toBe(threads);
    expect(places.size).toBeGreaterThanOrEqual(Math.min(threads, 2));
    for (const tasks of places.values()) {
      expectOneAfterTheOther(tasks);
    }
  }
}

/** Another task of the worker is under way when it begins. */
function expectBesideAnother(
  { key, worker, start }: ShownTask,
  rows: readonly ShownTask[]
): void {
  const begin = secondsOf(start);
  const underWay = rows.filter(other => {
    const rounding =
      resolutionOf(start) +
      resolutionOf(other.start) +
      resolutionOf(other.duration);
    const from = secondsOf(other.start);
    return (
      other.key !== key &&
      other.worker === worker &&
      from <= begin + rounding &&
      from + secondsOf(other.duration) >= begin - rounding
    );
  });
  expect(underWay, `beside ${key}`).not.toEqual([]);
}

function expectOneAfterTheOther(tasks: readonly ShownTask[]): void {
  const inOrder = tasks
    .slice()
    // Starts are rounded: of two that look the same the shorter one was first.
    .sort(
      (a, b) =>
        secondsOf(a.start) - secondsOf(b.start) ||
        secondsOf(a.duration) - secondsOf(b.duration)
    );
  inOrder.slice(1).forEach(({ key, start }, index) => {
    const before = inOrder[index]!;
    expect(
      secondsOf(before.start) + secondsOf(before.duration),
      `${before.key}, before ${key}`
    ).toBeLessThanOrEqual(
      secondsOf(start) +
        resolutionOf(start) +
        resolutionOf(before.start) +
        resolutionOf(before.duration)
    );
  });
}
