/** Where tasks may run: each different restriction once, as long as a task has it. */
import { NONE } from './edge-table';
import type { Restriction } from './events';
import { needFrom, type Need } from './worker-resources';
import type { WorkerRecord, WorkerTable } from './worker-table';

/** Of all lists of able workers together: so many entries are remembered, the rest is looked up each time. */
const MOST_REMEMBERED = 1 << 20;

type Entry = {
  readonly key: string;
  readonly restriction: Restriction;
  readonly need: Need | null;
  /** Tasks that have it, and submissions that are being entered. */
  users: number;
  /** The workers that may run its tasks; null: not looked up since a worker came or went. */
  able: readonly WorkerRecord[] | null;
  /** A worker was there that may run its tasks. */
  wasAble: boolean;
  /** Workers were there while its tasks waited, and it names none of them. */
  isInVain: boolean;
};

export class Restrictions {
  private readonly _entries: (Entry | null)[] = [];
  private readonly _byKey = new Map<string, number>();
  private readonly _free: number[] = [];
  /** Entries that remember their able workers, of this version of the table of workers. */
  private readonly _remembering = new Set<Entry>();
  /** What they take of {@link MOST_REMEMBERED}: each its workers, and one. */
  private _remembered = 0;
  private _version = -1;

  constructor(private readonly _workers: WorkerTable) {}

  /** How many different ones there are. */
  get size(): number {
    return this._byKey.size;
  }

  /** The index of a restriction, with one user more; equal ones share one. The caller lets go of it. */
  take(restriction: Restriction): number {
    const { allowOther, workers, resources } = restriction;
    const need = needFrom(resources);
    const key = JSON.stringify([allowOther, workers, need]);
    let index = this._byKey.get(key);
    if (index === undefined) {
      const entry = {
        key,
        restriction,
        need,
        users: 0,
        able: null,
        wasAble: false,
        isInVain: false
      };
      index = this._free.pop() ?? this._entries.length;
      this._entries[index] = entry;
      this._byKey.set(key, index);
    }
    this._entries[index]!.users++;
    return index;
  }

  /** Counts one user more. */
  use(index: number): void {
    this._entries[index]!.users++;
  }

  /** Counts one user less; without any the index is free. */
  letGo(index: number): void {
    const entry = this._entries[index]!;
    if (--entry.users === 0) {
      this._byKey.delete(entry.key);
      this._entries[index] = null;
      this._free.push(index);
      if (entry.able !== null) {
        this._remembering.delete(entry);
        this._remembered -= entry.able.length + 1;
      }
    }
  }

  /** What it has its tasks hold, or null. */
  needOf(index: number): Need | null {
    return index === NONE ? null : this._entries[index]!.need;
  }

  /** Whether it names workers. */
  isBound(index: number): boolean {
    return index !== NONE && this._entries[index]!.restriction.workers !== null;
  }

  /** The workers that it names, as the user wrote them; null: any. */
  namedBy(index: number): Restriction['workers'] {
    return index === NONE ? null : this._entries[index]!.restriction.workers;
  }

  /** How many tasks have it. */
  usersOf(index: number): number {
    return this._entries[index]?.users ?? 0;
  }

  /** A worker has joined: notes whether it names none that is there. Then no other one that is started will be named either. */
  noteInVain(index: number, isInVain: boolean): void {
    if (this.isBound(index)) {
      this._entries[index]!.isInVain = isInVain;
    }
  }

  /** Workers are there, and its task may run at none of them. If one of those that it names has left, the next to start may get that name. */
  noteNone(index: number): void {
    if (this.isBound(index)) {
      this._entries[index]!.isInVain ||= !this._entries[index]!.wasAble;
    }
  }

  isInVain(index: number): boolean {
    return index !== NONE && this._entries[index]!.isInVain;
  }

  /** Whether it lets a task run at this worker, now or when its resources are free. */
  allows(index: number, worker: WorkerRecord): boolean {
    return index === NONE || this._allows(this._entries[index]!, worker);
  }

  /** The workers that it allows, in the order in which they joined. */
  able(index: number): readonly WorkerRecord[] {
    const { all, version } = this._workers;
    if (index === NONE) {
      return all;
    }
    if (version !== this._version) {
      this._remembering.forEach(entry => (entry.able = null));
      this._remembering.clear();
      this._remembered = 0;
      this._version = version;
    }
    const entry = this._entries[index]!;
    if (entry.able !== null) {
      return entry.able;
    }
    const able = all.filter(worker => this._allows(entry, worker));
    entry.wasAble ||= able.length > 0;
    if (this._remembered + able.length < MOST_REMEMBERED) {
      entry.able = able;
      this._remembering.add(entry);
      this._remembered += able.length + 1;
    }
    return able;
  }

  /** Whether what is remembered is that of restrictions that tasks have, and counted; for tests. */
  get isMemoryCounted(): boolean {
    let remembered = 0;
    let entries = 0;
    for (const entry of this._entries) {
      const able = entry?.able ?? null;
      remembered += able === null ? 0 : able.length + 1;
      entries += Number(able !== null);
    }
    return (
      remembered === this._remembered && entries === this._remembering.size
    );
  }

  private _allows({ restriction, need }: Entry, worker: WorkerRecord): boolean {
    const has = (other: WorkerRecord): boolean =>
      need === null || other.resources.has(need);
    if (!has(worker) || isMeant(restriction, worker)) {
      return has(worker);
    }
    return (
      restriction.allowOther &&
      !this._workers.all.some(
        other => has(other) && isMeant(restriction, other)
      )
    );
  }
}

function isMeant({ workers }: Restriction, worker: WorkerRecord): boolean {
  return workers === null || workers.some(named => worker.answersTo(named));
}
