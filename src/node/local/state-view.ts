import type { Edges } from '../../order/edges';
import {
  type Key,
  KeySet,
  type ReadonlyKeyMap,
  type ReadonlyKeySet
} from '../graph/key';
import { type ShowArgs, SHOWN, shownMap, shownSet } from '../graph/shown';
import type { RunPlan } from './plan';
import type { Cache, RunState } from './state';
import { Phase, type RunTables } from './tables';
import type { Values } from './values';

/** What callbacks see of a run: nothing is copied, every question is answered from the tables. */
export class StateView implements RunState {
  readonly dependencies: ReadonlyKeyMap<ReadonlyKeySet>;
  readonly dependents: ReadonlyKeyMap<ReadonlyKeySet>;
  readonly waiting: ReadonlyKeyMap<ReadonlyKeySet>;
  readonly waitingData: ReadonlyKeyMap<ReadonlyKeySet>;
  readonly cache: Cache;
  readonly ready: readonly Key[];
  readonly running: ReadonlyKeySet;
  readonly finished: ReadonlyKeySet;
  readonly released: ReadonlyKeySet;

  constructor(plan: RunPlan, tables: RunTables, values: Values) {
    const { phases, counts } = tables;
    const inPhase = (phase: number) =>
      new IdSet(
        plan,
        () => counts[phase]!,
        id => phases[id] === phase
      );
    const reached = new IdSet(
      plan,
      () => plan.reachedCount,
      id => plan.reached[id] === 1
    );
    const held = new IdSet(
      plan,
      () => plan.reachedCount - tables.releasedCount,
      id => plan.reached[id] === 1 && tables.released[id] === 0
    );
    const none = () => false;
    this.dependencies = new SetPerId(plan, reached, plan.dependencies, none);
    this.dependents = new SetPerId(plan, reached, plan.dependents, none);
    this.waiting = new SetPerId(
      plan,
      inPhase(Phase.waiting),
      plan.dependencies,
      id => !tables.isMissing(id)
    );
    this.waitingData = new SetPerId(plan, held, plan.dependents, id =>
      tables.isFinished(id)
    );
    this.cache = values.cache;
    this.ready = tables.readyKeys;
    this.running = inPhase(Phase.running);
    this.finished = inPhase(Phase.finished);
    this.released = new IdSet(
      plan,
      () => tables.releasedCount,
      id => tables.released[id] === 1
    );
  }
}

/** A set of a run's state as it is now, whatever the run does next. Keeps the plan of the run alive, but none of its values. */
export function fixedSet(set: ReadonlyKeySet): ReadonlyKeySet {
  return set instanceof IdSet ? set.fixed() : new KeySet(set);
}

/** The ids for which a test holds. */
class IdSet implements ReadonlyKeySet {
  constructor(
    private readonly _plan: RunPlan,
    private readonly _size: () => number,
    readonly hasId: (id: number) => boolean
  ) {}

  get size(): number {
    return this._size();
  }

  has(key: Key): boolean {
    const id = this._plan.graph.idOf(key);
    return id >= 0 && this.hasId(id);
  }

  *ids(): Iterable<number> {
    for (let id = 0; id < this._plan.graph.size; id++) {
      if (this.hasId(id)) {
        yield id;
      }
    }
  }

  fixed(): IdSet {
    const holds = new Uint8Array(this._plan.graph.size);
    for (const id of this.ids()) {
      holds[id] = 1;
    }
    return setOf(this._plan, holds, this.size);
  }

  *keys(): IterableIterator<Key> {
    for (const id of this.ids()) {
      yield this._plan.keyOf(id);
    }
  }

  values(): IterableIterator<Key> {
    return this.keys();
  }

  forEach(visit: (key: Key) => void): void {
    for (const key of this.keys()) {
      visit(key);
    }
  }

  [Symbol.iterator](): IterableIterator<Key> {
    return this.keys();
  }

  [SHOWN](...args: ShowArgs): string {
    return shownSet('ReadonlyKeySet', this, args);
  }
}

// On its own, so that the set's functions hold nothing else of the run.
function setOf(plan: RunPlan, holds: Uint8Array, size: number): IdSet {
  return new IdSet(
    plan,
    () => size,
    id => holds[id] === 1
  );
}

/** The ids in one list of edges, except for those that do not count any more. */
class ListedIds implements ReadonlyKeySet {
  constructor(
    private readonly _plan: RunPlan,
    private readonly _edges: Edges,
    private readonly _of: number,
    private readonly _isGone: (id: number) => boolean
  ) {}

  get size(): number {
    return Array.from(this._ids()).length;
  }

  has(key: Key): boolean {
    const sought = this._plan.graph.idOf(key);
    for (const id of this._ids()) {
      if (id === sought) {
        return true;
      }
    }
    return false;
  }

  *keys(): IterableIterator<Key> {
    for (const id of this._ids()) {
      yield this._plan.keyOf(id);
    }
  }

  values(): IterableIterator<Key> {
    return this.keys();
  }

  /** Without iterators: profilers ask this after every task. */
  forEach(visit: (key: Key) => void): void {
    const { start, ids } = this._edges;
    for (let at = start[this._of]!; at < start[this._of + 1]!; at++) {
      if (!this._isGone(ids[at]!)) {
        visit(this._plan.keyOf(ids[at]!));
      }
    }
  }

  [Symbol.iterator](): IterableIterator<Key> {
    return this.keys();
  }

  [SHOWN](...args: ShowArgs): string {
    return shownSet('ReadonlyKeySet', this, args);
  }

  private *_ids(): Iterable<number> {
    const { start, ids } = this._edges;
    for (let at = start[this._of]!; at < start[this._of + 1]!; at++) {
      if (!this._isGone(ids[at]!)) {
        yield ids[at]!;
      }
    }
  }
}

/** For each id of a set the ids in its list of edges. */
class SetPerId implements ReadonlyKeyMap<ReadonlyKeySet> {
  constructor(
    private readonly _plan: RunPlan,
    private readonly _domain: IdSet,
    private readonly _edges: Edges,
    private readonly _isGone: (id: number) => boolean
  ) {}

  get size(): number {
    return this._domain.size;
  }

  get(key: Key): ReadonlyKeySet | undefined {
    const id = this._plan.graph.idOf(key);
    return id >= 0 && this._domain.hasId(id) ? this._listOf(id) : undefined;
  }

  has(key: Key): boolean {
    return this._domain.has(key);
  }

  keys(): IterableIterator<Key> {
    return this._domain.keys();
  }

  *values(): IterableIterator<ReadonlyKeySet> {
    for (const id of this._domain.ids()) {
      yield this._listOf(id);
    }
  }

  *entries(): IterableIterator<[Key, ReadonlyKeySet]> {
    for (const id of this._domain.ids()) {
      yield [this._plan.keyOf(id), this._listOf(id)];
    }
  }

  forEach(visit: (set: ReadonlyKeySet, key: Key) => void): void {
    for (const [key, set] of this.entries()) {
      visit(set, key);
    }
  }

  [Symbol.iterator](): IterableIterator<[Key, ReadonlyKeySet]> {
    return this.entries();
  }

  [SHOWN](...args: ShowArgs): string {
    return shownMap('ReadonlyKeyMap', this, args);
  }

  private _listOf(id: number): ReadonlyKeySet {
    return new ListedIds(this._plan, this._edges, id, this._isGone);
  }
}
