import { NONE_U32 } from '../../records/enumerations';
import { passesFineRow } from '../filter';
import { type FineSums, IN_TASKS } from '../store/fine-sums';
import type { LogStore } from '../store/log-store';
import type { FoldContext } from './context';
import {
  ENTRY_CHARACTERS,
  FIGURE_CHARACTERS,
  OTHER_LABELS
} from './function-sums';
import { isLockWait } from './lock-waits';

/** What Dask calls the function and the activity of idle time. */
export const IDLE_ENTRY = ['N/A', 'idle or other spans'] as const;

/** Context, function, activity or label, unit. */
type EntryKey = readonly [string, string, string, string];
type Entry = readonly [...EntryKey, number];

/** Entries for `client.fine_metrics`, added up by key. */
export class EntryBook {
  private _room = ENTRY_CHARACTERS;
  private readonly _sums = new Map<string, { key: EntryKey; value: number }>();

  add(key: EntryKey, value: number): void {
    const text = key.join('\0');
    const sum = this._sums.get(text);
    if (sum === undefined) {
      this._sums.set(text, { key, value });
    } else {
      sum.value += value;
    }
  }

  /** What tasks measured themselves, under its label as long as there is room. */
  addOwn(key: EntryKey, value: number): void {
    const [where, fn, , unit] = key;
    const text = key.join('\0');
    const isKnown = this._sums.has(text);
    if (!isKnown) {
      this._room -= text.length + FIGURE_CHARACTERS;
    }
    this.add(
      isKnown || this._room >= 0 ? key : [where, fn, OTHER_LABELS, unit],
      value
    );
  }

  /** Some labels had no room. */
  get isFull(): boolean {
    return this._room < 0;
  }

  /** @param shown - what is told of a sum in its unit. */
  entries(shown: (value: number, unit: string) => number): Entry[] {
    return [...this._sums.values()]
      .filter(({ value }) => value !== 0)
      .map(({ key, value }) => [...key, shown(value, key[3])] as const);
  }
}

export const TOO_MANY = `Tasks measured more labels than one answer holds: the last ones are added up as “${OTHER_LABELS}”.`;

/** Sums that workers measured outside tasks, and how many inputs of tasks they found in memory, unchanged. */
export function fineEntries(
  { log, filter }: FoldContext,
  fine: FineSums
): Entry[] {
  const sums = new Map<string, { ids: readonly number[]; value: number }>();
  for (const row of fine.all()) {
    // Of one status, how many inputs of tasks were in memory is not known.
    const isHidden =
      isLockWait(log, row.context) ||
      ((filter.byStatus || log.hasTaskSums) &&
        log.name(row.context) === IN_TASKS);
    if (isHidden || !passesFineRow(filter, row)) {
      continue;
    }
    const ids = [row.context, row.function, row.activity, row.unit];
    const text = ids.join(' ');
    const sum = sums.get(text);
    if (sum === undefined) {
      sums.set(text, { ids, value: row.value });
    } else {
      sum.value += row.value;
    }
  }
  return [...sums.values()].map(({ ids, value }) => {
    const [where, fn, activity, unit] = ids;
    return [
      log.name(where!),
      fineFunction(log, fn!),
      log.name(activity!),
      log.name(unit!),
      value
    ] as const;
  });
}

function fineFunction(log: LogStore, fn: number): string {
  return fn === NONE_U32 ? '' : log.name(fn);
}
