/**
 * A map with a bound: the entries that were used least recently go first.
 *
 * ```
 *   most 3:   set a b c    [a b c]      get a   [b c a]      set d   [c a d], b is gone
 * ```
 *
 * The newest entry stays even if it alone costs more than `most`: its maker is about to use it.
 *
 * Not `lru-cache`: it reserves its arrays for as many entries as it may hold (1.5 MB for the 65,536 of `GivenUpTasks`, mostly empty), takes
 * 18 kB of each bundle, and reads a clock, which pure folders do without; a Map's order of insertion is all that is needed here.
 */
export class BoundedMap<K, V extends object> {
  private readonly _entries = new Map<K, V>();
  private _cost = 0;
  /**
   * A walk over the keys, oldest first, which goes on where it stood: all that it has passed is gone. A Map leaves holes where entries were,
   * as many as it has entries before it closes them, and a new walk passes all of them: with 63,000 entries each `set` took 15 to 60 µs.
   */
  private _walk: Iterator<K> | undefined;
  /** Entries that were put in since the walk took its last step. */
  private _putSince = 0;

  /**
   * @param _most - the sum of what entries cost.
   * @param _costOf - of one entry; it must not change while the entry is kept. Left out, each costs 1.
   */
  constructor(
    private _most: number,
    private readonly _costOf: (value: V) => number = () => 1
  ) {}

  get size(): number {
    return this._entries.size;
  }

  /** What the entries cost together. */
  get cost(): number {
    return this._cost;
  }

  /** Counts as a use. */
  get(key: K): V | undefined {
    const value = this._entries.get(key);
    if (value !== undefined) {
      // A Map keeps the order of insertion: what is put back is the newest.
      this._entries.delete(key);
      this._put(key, value);
    }
    return value;
  }

  /** The value, without a use. */
  peek(key: K): V | undefined {
    return this._entries.get(key);
  }

  set(key: K, value: V): void {
    this.delete(key);
    this._put(key, value);
    this._cost += this._costOf(value);
    this._shrink();
  }

  delete(key: K): void {
    const value = this._entries.get(key);
    if (value !== undefined) {
      this._entries.delete(key);
      this._cost -= this._costOf(value);
    }
  }

  clear(): void {
    this._entries.clear();
    this._cost = 0;
  }

  /** Sets another bound. */
  holdAtMost(most: number): void {
    this._most = most;
    this._shrink();
  }

  /** The entry that was used least recently comes first. */
  values(): Iterable<V> {
    return this._entries.values();
  }

  private _put(key: K, value: V): void {
    this._entries.set(key, value);
    // A walk that stands still holds what the Map was then, and all that it has been since.
    if (++this._putSince > this._entries.size) {
      this._walk = undefined;
    }
  }

  private _shrink(): void {
    while (this._cost > this._most && this._entries.size > 1) {
      this._walk ??= this._entries.keys();
      this._putSince = 0;
      this.delete(this._walk.next().value as K);
    }
  }
}
