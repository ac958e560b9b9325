/**
 * Keys: the names of a graph's nodes. A key is a text or a tuple that begins with one, `'total'` or `['block', 0, 3]`. Tuples are compared
 * by value, which JavaScript's own `Map` and `Set` do not do; {@link KeyMap} and {@link KeySet} do.
 */
export type TupleKey = readonly [string, ...(string | number)[]];
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

/** A key as people read it: `total`, `('block', 0, 3)`. Not unique: see {@link keyId}. */
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

/** What can be read of a {@link KeyMap}; views of a run's state have this form. */
export type ReadonlyKeyMap<V> = {
  readonly size: number;
  get(key: Key): V | undefined;
  has(key: Key): boolean;
  keys(): IterableIterator<Key>;
  values(): IterableIterator<V>;
  entries(): IterableIterator<[Key, V]>;
  forEach(visit: (value: V, key: Key) => void): void;
  [Symbol.iterator](): IterableIterator<[Key, V]>;
};

/** What can be read of a {@link KeySet}. */
export type ReadonlyKeySet = {
  readonly size: number;
  has(key: Key): boolean;
  keys(): IterableIterator<Key>;
  values(): IterableIterator<Key>;
  forEach(visit: (key: Key) => void): void;
  [Symbol.iterator](): IterableIterator<Key>;
};

/**
 * A map whose tuple keys are compared by value; in the order of insertion, like `Map`.
 *
 * Entries lie in places one after the other, so that whoever needs dense ids (the scheduler) finds them here. A deleted entry leaves a hole
 * until {@link KeyMap.compact}.
 *
 * ```
 *   places: 'a' → 0, ['b', 1] → 2        keys [ 'a', hole, ['b', 1] ]        values [ …, undefined, … ]
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

  get size(): number {
    return this._places.size;
  }

  /** No tuple in the map has or had more parts. */
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
      this.compact();
    }
    return true;
  }

  clear(): void {
    this._places.clear();
    this._keys = [];
    this._values = [];
  }

  /** Closes the holes: the places are then 0 … size − 1 in the order of the entries. */
  compact(): void {
    if (this._keys.length === this.size) {
      return;
    }
    const entries = [...this];
    this.clear();
    for (const [key, value] of entries) {
      this.set(key, value);
    }
  }

  /** Where the entry is, or −1. Places change when entries are deleted. */
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

  [Symbol.iterator](): IterableIterator<[Key, V]> {
    return this.entries();
  }
}

/** A set of keys, tuples compared by value. */
export class KeySet implements ReadonlyKeySet {
  private readonly _map = new KeyMap<true>();

  constructor(keys?: Iterable<Key>) {
    if (keys !== undefined) {
      for (const key of keys) {
        this.add(key);
      }
    }
  }

  get size(): number {
    return this._map.size;
  }

  has(key: Key): boolean {
    return this._map.has(key);
  }

  add(key: Key): this {
    this._map.set(key, true);
    return this;
  }

  delete(key: Key): boolean {
    return this._map.delete(key);
  }

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

  [Symbol.iterator](): IterableIterator<Key> {
    return this._map.keys();
  }
}

function describe(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch (error) {
    // Only the text of another error: what cannot be written out is named by its kind.
    return `${typeof value} (${String(error)})`;
  }
}
