import { type ShowArgs, SHOWN, shownMap, shownSet } from './shown';

/**
 * A key of several parts: a text, then texts and finite numbers. Tuples are compared by value.
 *
 * @group Keys
 * @example
 * ```ts
 * import { getSync, KeyMap, ref, task, type TupleKey } from 'spanwise';
 *
 * const block = (row: number, column: number): TupleKey => ['block', row, column];
 * const graph = new KeyMap<unknown>()
 *   .set(block(0, 0), 1)
 *   .set(block(0, 1), task((x: number) => x + 1, ref(block(0, 0))));
 * console.log(getSync(graph, block(0, 1))); // → 2
 * ```
 */
export type TupleKey = readonly [string, ...(string | number)[]];

/**
 * The name of a node in a graph: a text or a tuple that begins with one, `'total'` or `['block', 0, 3]`.
 *
 * Tuples are compared by value, which JavaScript's own `Map` and `Set` do not do; {@link KeyMap} and {@link KeySet} do.
 *
 * @group Keys
 * @example
 * ```ts
 * import { getSync, type Key } from 'spanwise';
 *
 * const wanted: Key[] = ['total', ['block', 0]];
 * const graph = new Map<Key, unknown>([
 *   ['total', 10],
 *   [['block', 0], 3]
 * ]);
 * console.log(getSync(graph, wanted)); // → [ 10, 3 ]
 * ```
 */
export type Key = string | TupleKey;

/**
 * A text that is equal for equal keys and different for different ones: a text key is its own id, so that most keys cost nothing.
 *
 * ```
 *   'a,1'      →  'a,1'
 *   ['a', 1]   →  '\0(s1:an1,'        strings carry their length, so that no content can imitate a border
 *   ['a', '1'] →  '\0(s1:as1:1'
 *   '\0…'      →  '\0"\0…'            a text that begins like an id of a tuple is set apart
 * ```
 *
 * @throws TypeError if `key` is neither a text nor a tuple of a text followed by texts and finite numbers.
 */
export function keyId(key: Key): string {
  if (typeof key === 'string') {
    return key.charCodeAt(0) === 0 ? `\0"${key}` : key;
  }
  if (!isTupleKey(key)) {
    throw new TypeError(
      `Not a key: ${describe(key)}. A key is a string, or an array of a string followed by strings and finite numbers.`
    );
  }
  let id = '\0(';
  for (const part of key) {
    // Adding 0 makes −0 the 0 that it equals.
    id +=
      typeof part === 'string' ? `s${part.length}:${part}` : `n${part + 0},`;
  }
  return id;
}

/** Whether the value has the form of a tuple key; a list of text keys has it too. */
export function isTupleKey(value: unknown): value is TupleKey {
  return (
    Array.isArray(value) &&
    typeof value[0] === 'string' &&
    value.every(
      part => typeof part === 'string' || Number.isFinite(part as number)
    )
  );
}

/**
 * A key as people read it. Two keys may have the same text: do not look anything up by it.
 *
 * @group Keys
 * @example
 * ```ts
 * import { keyText } from 'spanwise';
 *
 * console.log(keyText('total')); // → total
 * console.log(keyText(['block', 0, 3])); // → ('block', 0, 3)
 * ```
 */
export function keyText(key: Key): string {
  if (typeof key === 'string') {
    return key;
  }
  const parts = key.map(part =>
    typeof part === 'string' ? `'${part}'` : `${part}`
  );
  return parts.length === 1 ? `(${parts[0]},)` : `(${parts.join(', ')})`;
}

export function sameKey(a: Key, b: Key): boolean {
  return a === b || (typeof a !== 'string' && keyId(a) === keyId(b));
}

/**
 * What can be read of a {@link KeyMap}; the parts of a run's state have this form.
 *
 * @group Keys
 * @example
 * ```ts
 * import { KeyMap, keyText, type ReadonlyKeyMap } from 'spanwise';
 *
 * function largest(sizes: ReadonlyKeyMap<number>): string {
 *   const [[key] = ['nothing']] = [...sizes].sort(([, a], [, b]) => b - a);
 *   return keyText(key);
 * }
 * console.log(largest(new KeyMap([['a', 3], [['block', 0], 8]]))); // → ('block', 0)
 * ```
 */
export type ReadonlyKeyMap<V> = {
  /** How many entries there are. */
  readonly size: number;
  /** The value of an equal key; undefined if there is none. */
  get(key: Key): V | undefined;
  /** Whether there is an equal key. */
  has(key: Key): boolean;
  /** The keys, in the order of insertion. */
  keys(): IterableIterator<Key>;
  /** The values, in the order of insertion. */
  values(): IterableIterator<V>;
  /** Keys and values, in the order of insertion. */
  entries(): IterableIterator<[Key, V]>;
  /** Calls `visit` with each value and its key, in the order of insertion. */
  forEach(visit: (value: V, key: Key) => void): void;
  /** The same as `entries`. */
  [Symbol.iterator](): IterableIterator<[Key, V]>;
};

/**
 * What can be read of a {@link KeySet}.
 *
 * @group Keys
 * @example
 * ```ts
 * import { Callback, getSync, task, type ReadonlyKeySet } from 'spanwise';
 *
 * let finished: ReadonlyKeySet | undefined;
 * const callback = new Callback({ finish: (graph, state) => (finished = state.finished) });
 * callback.run(() => getSync({ a: task(() => 1), b: 2 }, ['a', 'b']));
 * console.log(finished?.has('a'), finished?.has('b')); // → true false
 * ```
 */
export type ReadonlyKeySet = {
  /** How many keys there are. */
  readonly size: number;
  /** Whether there is an equal key. */
  has(key: Key): boolean;
  /** The keys, in the order of insertion. */
  keys(): IterableIterator<Key>;
  /** The same as `keys`. */
  values(): IterableIterator<Key>;
  /** Calls `visit` with each key, in the order of insertion. */
  forEach(visit: (key: Key) => void): void;
  /** The same as `keys`. */
  [Symbol.iterator](): IterableIterator<Key>;
};

/**
 * A map whose tuple keys are compared by value; in the order of insertion, like `Map`.
 *
 * Entries lie in places one after the other, which the scheduler uses as dense ids. A deleted entry leaves a hole until the map closes its
 * holes.
 *
 * ```
 *   places: 'a' → 0, ['b', 1] → 2        keys [ 'a', hole, ['b', 1] ]        values [ …, undefined, … ]
 * ```
 *
 * @group Keys
 * @example
 * ```ts
 * import { KeyMap } from 'spanwise';
 *
 * const rows = new KeyMap<number>([[['block', 0], 80]]);
 * console.log(rows.get(['block', 0])); // → 80
 * console.log(new Map([[['block', 0], 80]]).get(['block', 0])); // → undefined
 * ```
 */
export class KeyMap<V> implements ReadonlyKeyMap<V> {
  private readonly _places = new Map<string, number>();
  private _keys: (Key | undefined)[] = [];
  private _values: (V | undefined)[] = [];
  private _longestTuple = 0;

  constructor(entries?: Iterable<readonly [Key, V]>) {
    if (entries !== undefined) {
      for (const [key, value] of entries) {
        this.set(key, value);
      }
    }
  }

  /** How many entries there are. */
  get size(): number {
    return this._places.size;
  }

  /** No tuple in the map has or had more parts. @internal */
  get longestTuple(): number {
    return this._longestTuple;
  }

  get(key: Key): V | undefined {
    const place = this._places.get(keyId(key));
    return place === undefined ? undefined : this._values[place];
  }

  has(key: Key): boolean {
    return this._places.has(keyId(key));
  }

  /** Sets the value; an equal key that is there already stays the one that is listed. */
  set(key: Key, value: V): this {
    const id = keyId(key);
    const place = this._places.get(id);
    if (place === undefined) {
      this._places.set(id, this._keys.length);
      this._keys.push(key);
      this._values.push(value);
      if (typeof key !== 'string' && key.length > this._longestTuple) {
        this._longestTuple = key.length;
      }
    } else {
      this._values[place] = value;
    }
    return this;
  }

  /** Sets the value of a text that is no key of this map yet: saves looking for it. */
  append(key: string, value: V): void {
    this._places.set(keyId(key), this._keys.length);
    this._keys.push(key);
    this._values.push(value);
  }

  /** Removes the entry of an equal key; false if there is none. */
  delete(key: Key): boolean {
    const id = keyId(key);
    const place = this._places.get(id);
    if (place === undefined) {
      return false;
    }
    this._places.delete(id);
    this._keys[place] = undefined;
    this._values[place] = undefined;
    if (this._keys.length > 2 * this.size + 32) {
      this._closeHoles();
    }
    return true;
  }

  /** Removes all entries. */
  clear(): void {
    this._places.clear();
    this._keys = [];
    this._values = [];
  }

  /**
   * Closes the holes: the places are then 0 … size − 1 in the order of the entries.
   *
   * @returns copies of the keys and the values, by place.
   * @internal
   */
  compact(): { keys: Key[]; values: V[] } {
    this._closeHoles();
    return {
      keys: this._keys.slice() as Key[],
      values: this._values.slice() as V[]
    };
  }

  /** Where the entry is, or −1. Places change when entries are deleted. @internal */
  placeOf(key: Key): number {
    return this._places.get(keyId(key)) ?? -1;
  }

  *keys(): IterableIterator<Key> {
    for (const [key] of this) {
      yield key;
    }
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this) {
      yield value;
    }
  }

  *entries(): IterableIterator<[Key, V]> {
    for (let place = 0; place < this._keys.length; place++) {
      const key = this._keys[place];
      if (key !== undefined) {
        yield [key, this._values[place] as V];
      }
    }
  }

  forEach(visit: (value: V, key: Key) => void): void {
    for (let place = 0; place < this._keys.length; place++) {
      const key = this._keys[place];
      if (key !== undefined) {
        visit(this._values[place] as V, key);
      }
    }
  }

  /** The same as `entries`. */
  [Symbol.iterator](): IterableIterator<[Key, V]> {
    return this.entries();
  }

  /** What consoles print. @internal */
  [SHOWN](...args: ShowArgs): string {
    return shownMap('KeyMap', this, args);
  }

  private _closeHoles(): void {
    if (this._keys.length === this.size) {
      return;
    }
    const entries = [...this];
    this.clear();
    for (const [key, value] of entries) {
      this.set(key, value);
    }
  }
}

/**
 * A set of keys, tuples compared by value; in the order of insertion, like `Set`.
 *
 * @group Keys
 * @example
 * ```ts
 * import { KeySet } from 'spanwise';
 *
 * const done = new KeySet(['a', ['block', 0]]);
 * console.log(done.has(['block', 0]), done.has(['block', 1])); // → true false
 * ```
 */
export class KeySet implements ReadonlyKeySet {
  private readonly _map = new KeyMap<true>();

  constructor(keys?: Iterable<Key>) {
    if (keys !== undefined) {
      for (const key of keys) {
        this.add(key);
      }
    }
  }

  /** How many keys there are. */
  get size(): number {
    return this._map.size;
  }

  has(key: Key): boolean {
    return this._map.has(key);
  }

  /** Adds the key; an equal one that is there already stays the one that is listed. */
  add(key: Key): this {
    this._map.set(key, true);
    return this;
  }

  /** Removes an equal key; false if there is none. */
  delete(key: Key): boolean {
    return this._map.delete(key);
  }

  /** Removes all keys. */
  clear(): void {
    this._map.clear();
  }

  keys(): IterableIterator<Key> {
    return this._map.keys();
  }

  values(): IterableIterator<Key> {
    return this._map.keys();
  }

  forEach(visit: (key: Key) => void): void {
    this._map.forEach((_, key) => visit(key));
  }

  /** The same as `keys`. */
  [Symbol.iterator](): IterableIterator<Key> {
    return this._map.keys();
  }

  /** What consoles print. @internal */
  [SHOWN](...args: ShowArgs): string {
    return shownSet('KeySet', this, args);
  }
}

function describe(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch (error) {
    // This makes the text of another error, so a value that JSON cannot hold is named by its type.
    return `${typeof value} (${String(error)})`;
  }
}
