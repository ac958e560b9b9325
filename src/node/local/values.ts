import { GraphError } from '../graph/graph-errors';
import { type Key, keyId, keyText, type ReadonlyKeyMap } from '../graph/key';
import type { RunPlan } from './plan';
import type { Cache } from './state';

/** The values of a run, by id. */
export type Values = {
  /** What callbacks see. */
  readonly cache: Cache;
  has(id: number): boolean;
  /** @throws GraphError if the value should be there and is not. */
  get(id: number): unknown;
  set(id: number, value: unknown): void;
  delete(id: number): void;
};

/** Values in an array of their own, for runs without a cache of the user's. */
export class OwnValues implements Values {
  private readonly _values: unknown[];
  private readonly _held: Uint8Array;
  readonly cache: Cache = {
    get: key => {
      const id = this._plan.graph.idOf(key);
      return id < 0 ? undefined : this._values[id];
    },
    has: key => this._held[this._plan.graph.idOf(key)] === 1,
    set: (key, value) => this.set(this._idOf(key), value),
    delete: key => this.delete(this._idOf(key))
  };

  constructor(private readonly _plan: RunPlan) {
    this._values = new Array<unknown>(_plan.graph.size);
    this._held = new Uint8Array(_plan.graph.size);
  }

  has(id: number): boolean {
    return this._held[id] === 1;
  }

  get(id: number): unknown {
    return this._values[id];
  }

  set(id: number, value: unknown): void {
    this._values[id] = value;
    this._held[id] = 1;
  }

  delete(id: number): void {
    this._values[id] = undefined;
    this._held[id] = 0;
  }

  private _idOf(key: Key): number {
    const id = this._plan.graph.idOf(key);
    if (id < 0) {
      throw new GraphError(`This run has no key ${keyText(key)}.`);
    }
    return id;
  }
}

/** Values in the user's cache. */
export class CachedValues implements Values {
  /** Ids whose value is `undefined`, which some caches (`lru-cache`) take for "nothing there". */
  private readonly _undefined = new Set<number>();

  constructor(
    private readonly _plan: RunPlan,
    readonly cache: Cache
  ) {}

  has(id: number): boolean {
    return this._undefined.has(id) || this.cache.has(this._plan.keyOf(id));
  }

  get(id: number): unknown {
    const key = this._plan.keyOf(id);
    const value = this.cache.get(key);
    if (value === undefined && !this.has(id)) {
      throw new GraphError(
        `The cache no longer holds the value of ${keyText(key)}, which is still needed. A cache that drops entries must have room for all values that a run needs at once.`
      );
    }
    return value;
  }

  set(id: number, value: unknown): void {
    if (value === undefined) {
      this._undefined.add(id);
    }
    this.cache.set(this._plan.keyOf(id), value);
  }

  delete(id: number): void {
    this._undefined.delete(id);
    this.cache.delete(this._plan.keyOf(id));
  }
}

/** From so many inputs on, a map finds one faster than comparing keys does. */
const MANY_INPUTS = 8;

/** The values of one task's dependencies. There is one for each task, so it holds no list of their keys. */
export class InputValues implements ReadonlyKeyMap<unknown> {
  private _places: Map<string, number> | null = null;

  /**
   * @param _graphKeys - the key of each id.
   * @param _ids - ids of dependencies, of which the task's begin at `_first`.
   * @param _values - the task's, in the same order.
   */
  constructor(
    private readonly _graphKeys: readonly Key[],
    private readonly _ids: Int32Array,
    private readonly _first: number,
    private readonly _values: readonly unknown[]
  ) {}

  get size(): number {
    return this._values.length;
  }

  get(key: Key): unknown {
    return this._values[this._placeOf(key)];
  }

  has(key: Key): boolean {
    return this._placeOf(key) >= 0;
  }

  keys(): IterableIterator<Key> {
    return this._keys().values() as IterableIterator<Key>;
  }

  values(): IterableIterator<unknown> {
    return this._values.values() as IterableIterator<unknown>;
  }

  *entries(): IterableIterator<[Key, unknown]> {
    for (let i = 0; i < this._values.length; i++) {
      yield [this._keyAt(i), this._values[i]];
    }
  }

  forEach(visit: (value: unknown, key: Key) => void): void {
    this._values.forEach((value, i) => visit(value, this._keyAt(i)));
  }

  [Symbol.iterator](): IterableIterator<[Key, unknown]> {
    return this.entries();
  }

  private _keyAt(place: number): Key {
    return this._graphKeys[this._ids[this._first + place]!]!;
  }

  private _keys(): Key[] {
    return this._values.map((_, place) => this._keyAt(place));
  }

  private _placeOf(key: Key): number {
    if (this._values.length <= MANY_INPUTS) {
      for (let place = 0; place < this._values.length; place++) {
        if (this._keyAt(place) === key) {
          return place;
        }
      }
      if (typeof key === 'string') {
        return -1;
      }
    }
    this._places ??= new Map(
      this._keys().map((other, place) => [keyId(other), place])
    );
    return this._places.get(keyId(key)) ?? -1;
  }
}
