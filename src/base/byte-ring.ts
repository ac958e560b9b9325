import { placeInOrder } from './place-in-order';

/** One kept entry of a {@link ByteRing}. */
export type RingEntry<T> = {
  readonly seq: number;
  readonly nbytes: number;
  readonly value: T;
};

/**
 * Keeps the newest entries up to a bound in bytes, each under an increasing sequence number, so that a reader who fell behind can resume
 * and learn how much it missed.
 *
 * Entries leave oldest first. The newest entry always stays, even when it alone is above the bound.
 */
export class ByteRing<T> {
  private _entries: (RingEntry<T> | undefined)[] = [];
  private _first = 0;
  private _nbytes = 0;

  /** @param _onDrop - called with every entry that leaves. */
  constructor(
    private readonly _maxBytes: number,
    private readonly _onDrop: (entry: RingEntry<T>) => void = () => undefined
  ) {}

  /** Bytes held now. */
  get nbytes(): number {
    return this._nbytes;
  }

  /** Appends an entry; `seq` must be larger than every earlier one. */
  push(seq: number, nbytes: number, value: T): void {
    this._entries.push({ seq, nbytes, value });
    this._nbytes += nbytes;
    while (
      this._nbytes > this._maxBytes &&
      this._first < this._entries.length - 1
    ) {
      const dropped = this._entries[this._first]!;
      // The slot stays for a while (see below); its value must not, or the bound would be off by a factor of two.
      this._entries[this._first++] = undefined;
      this._nbytes -= dropped.nbytes;
      this._onDrop(dropped);
    }
    // Slots of dropped entries are cut off once they are half of the array: O(1) a push on average.
    if (this._first > 32 && this._first * 2 > this._entries.length) {
      this._entries.splice(0, this._first);
      this._first = 0;
    }
  }

  /** The kept entries with a sequence number above `seq`, oldest first. */
  after(seq: number): RingEntry<T>[] {
    const place = placeInOrder(
      this._entries,
      seq,
      entry => entry!.seq,
      this._first
    );
    return this._entries.slice(place) as RingEntry<T>[];
  }
}
