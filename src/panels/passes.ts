/**
 * The passes of a path: each time that a `with` block was entered or a cell was run. Each is a row of the spans; where there are many, rows have
 * several together.
 *
 *     rows   fit 10:02 · fit 10:05 (and 3 others) · fit 10:07        10:07 and 10:02 apart, four together
 */
import type { Trans } from '../base/trans';
import type { SpanRow } from '../wire/panel-link';
import { formatClock } from './format';

/** Facts that name one pass among others. */
export type PassName = {
  /** Seconds since the cluster's start. */
  readonly opened: number;
  /** The number that Jupyter showed beside the cell; null: it is no cell, or not known. */
  readonly execution: number | null;
  /** The first, second, … of so many; null: not known, for the others are not all told apart. */
  readonly place: { readonly at: number; readonly of: number } | null;
};

type Pass<T extends SpanRow> = PassName & {
  readonly id: string;
  /** More than one if several clients computed in the same block. */
  readonly rows: readonly T[];
};

export type Passes<T extends SpanRow> = {
  /** How many there were; 1 if it is not known. */
  readonly count: number;
  /** The newest first. */
  readonly apart: readonly Pass<T>[];
  /** Rows that have several. */
  readonly together: {
    readonly count: number;
    readonly rows: readonly T[];
  };
};

/** @param rows - of one path. */
export function passesOf<T extends SpanRow>(rows: readonly T[]): Passes<T> {
  const byId = new Map<string, T[]>();
  const together: T[] = [];
  for (const row of rows) {
    const same = row.id === undefined ? together : (byId.get(row.id) ?? []);
    same.push(row);
    if (row.id !== undefined) {
      byId.set(row.id, same);
    }
  }
  if (byId.size === 0) {
    return { count: 1, apart: [], together: { count: 0, rows: [] } };
  }
  const alone: [string, readonly T[]][] = [];
  for (const [id, of] of byId) {
    if (of.some(({ others }) => (others ?? 0) > 0)) {
      together.push(...of);
    } else {
      alone.push([id, of]);
    }
  }
  const countTogether = together.reduce(
    (sum, { others }) => sum + 1 + (others ?? 0),
    0
  );
  const apart = alone
    .map(([id, of]) => ({
      id,
      rows: of,
      opened: Math.min(...of.map(({ opened }) => opened)),
      execution: of[0]?.execution ?? null
    }))
    .sort((a, b) => b.opened - a.opened)
    .map((pass, i, { length }) => ({
      ...pass,
      place: countTogether > 0 ? null : { at: length - i, of: length }
    }));
  return {
    count: apart.length + countTogether,
    apart,
    together: { count: countTogether, rows: together }
  };
}

/** By so much a task may seem to end after who waited for it: clocks of processes may differ, off Linux. */
const CLOCK_SLACK_SECONDS = 0.01;

/**
 * How long one pass took. Null: it has not ended; or tasks of it ran later. Those may be of another cell that computes what was written in this
 * one, an hour after it, so that nothing can be said but how long its tasks held threads.
 *
 * @param rows - its own; none: it is not told apart.
 */
export function tookSeconds(rows: readonly SpanRow[]): number | null {
  const hasEnded = rows.every(
    ({ closed, running }) => closed !== null && running === 0
  );
  if (rows.length === 0 || !hasEnded) {
    return null;
  }
  const closed = Math.max(...rows.map(row => row.closed!));
  const lastStop = Math.max(...rows.map(row => row.lastStop ?? 0));
  return lastStop > closed + CLOCK_SLACK_SECONDS
    ? null
    : closed - Math.min(...rows.map(({ opened }) => opened));
}

/**
 * "[7] · 14:03:12", "2 of 3 · 14:03:12", "14:03:12".
 *
 * @param startedAt - of its cluster, by the wall clock.
 */
export function passText(
  { opened, execution, place }: PassName,
  startedAt: number,
  trans: Trans
): string {
  const time = formatClock(startedAt + opened, Date.now() / 1000);
  return execution !== null
    ? trans.__('[%1] · %2', execution, time)
    : place !== null
      ? trans.__('%1 of %2 · %3', place.at, place.of, time)
      : time;
}
