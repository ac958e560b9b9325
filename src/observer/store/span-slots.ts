import { NumberSet } from '../../base/number-set';
import type { ArrayOf } from '../../base/typed-arrays';
import { NONE_U32 } from '../../records/enumerations';
import { DEFAULT_SPAN, type SpanId } from '../../records/ids';

/** Slots are u16: columns, filters and figures of the store are tables by slot. */
const SLOTS = 65_536;
/** The last one stands for nothing: in a column of the log it would mean none. */
const LAST_SLOT = SLOTS - 1;

const PAGE_SHIFT = 8;
const PAGE_MASK = (1 << PAGE_SHIFT) - 1;
/** 45 MB: sixteen million numbers, if they are given one after another. They are more than slots, so that one of them may always go. */
const MOST_PAGES = SLOTS;
/** 20 MB: of so many numbers more, 67 million, it is known that they were told. */
const MOST_DROPPED_PAGES = 65_536;

/**
 * The store's own small numbers of spans. In a log a span's number is its own for ever; here a slot is free again once its span has been folded
 * into another one, to whose slot the number leads from then on.
 *
 *     number   1 2 3 … 8,192  8,193     slot   1 2 3 … 8,192      2 folds into 1       1 1 3 … 8,192  2
 */
export class SpanSlots {
  /** By number, a page of 256: its slot; 0: nothing was told of it; the last slot: there was none for it. */
  private readonly _pages = new Map<number, Uint16Array>();
  /** Numbers of pages that were dropped. */
  private readonly _dropped = new NumberSet(MOST_DROPPED_PAGES);
  /** The page that was looked at last: most numbers follow each other. */
  private _lastAt = -1;
  private _lastPage: Uint16Array | undefined;
  /** By slot: the number that has got it; 0: it is free. */
  private readonly _numbers = new Uint32Array(SLOTS);
  /** By slot: whether some number has ever got it. */
  private readonly _given = new Uint8Array(SLOTS);
  private _free: number[] = [];
  /**
   * Slots of the spans that were folded last. They become free with the next ones: a question that has begun knows which slots it asks for, and
   * must not meet another span in one of them.
   */
  private _resting: number[] = [];
  private _next = 1;
  /** Each number has the slot that is called the same: so it is in most logs, and a column need not be looked up row by row. */
  private _isPlain = true;

  constructor(private readonly _mostPages = MOST_PAGES) {}

  /**
   * The slot of a number, which gets one if it has none.
   *
   * @param instead - the slot to share if none is free, or if the span is counted already and it is not known where.
   */
  take(number: number, instead: SpanId = DEFAULT_SPAN): SpanId {
    if (number === DEFAULT_SPAN) {
      return DEFAULT_SPAN;
    }
    const found = this._found(number);
    if (found !== 0) {
      return slotOf(found);
    }
    const page = this._pageOf(number);
    const isDropped = this._dropped.has(number);
    const slot = (isDropped ? DEFAULT_SPAN : this._take(number)) || instead;
    page[number & PAGE_MASK] = slot || LAST_SLOT;
    this._isPlain &&= slot === number;
    return slot;
  }

  /** The slot of a number; that of the default span, if it has none. */
  find(number: number): SpanId {
    return slotOf(this._found(number));
  }

  /** Whether the number was taken before. */
  isKnown(number: number): boolean {
    return (
      number === DEFAULT_SPAN ||
      this._found(number) !== 0 ||
      this._dropped.has(number)
    );
  }

  /** The number whose slot it is. */
  numberOf(slot: SpanId): number {
    return this._numbers[slot]!;
  }

  /** A column of the log, with slots for numbers. */
  ofColumn(
    numbers: ArrayLike<number>,
    rows: number
  ): ArrayOf<Uint16Array, SpanId> {
    const slots = new Uint16Array(rows) as ArrayOf<Uint16Array, SpanId>;
    if (this._isPlain && this._copyGiven(numbers, slots)) {
      return slots;
    }
    let last = DEFAULT_SPAN as number;
    let slot = DEFAULT_SPAN;
    for (let i = 0; i < rows; i++) {
      const number = numbers[i]!;
      if (number !== last) {
        last = number;
        slot = this.take(number);
      }
      slots[i] = slot;
    }
    return slots;
  }

  /** @param into - by slot: that of the span into which its own was folded, else itself. */
  fold(into: Uint16Array): void {
    this._isPlain = false;
    this._pages.forEach(page => {
      for (let i = 0; i < page.length; i++) {
        page[i] = into[page[i]!]!;
      }
    });
    for (const slot of this._resting) {
      this._free.push(slot);
    }
    this._resting = [];
    for (let slot = 1; slot < LAST_SLOT; slot++) {
      if (into[slot] !== slot) {
        this._numbers[slot] = 0;
        this._resting.push(slot);
      }
    }
  }

  /** @returns false: one of them has no slot yet. */
  private _copyGiven(
    numbers: ArrayLike<number>,
    slots: ArrayOf<Uint16Array, SpanId>
  ): boolean {
    for (let i = 0; i < slots.length; i++) {
      const number = numbers[i]!;
      if (number !== DEFAULT_SPAN && this._given[number] !== 1) {
        return false;
      }
      slots[i] = number as SpanId;
    }
    return true;
  }

  private _found(number: number): number {
    if (number > NONE_U32) {
      return 0;
    }
    const at = number >>> PAGE_SHIFT;
    if (at !== this._lastAt) {
      this._lastPage = this._pages.get(at);
      this._lastAt = at;
    }
    return this._lastPage?.[number & PAGE_MASK] ?? 0;
  }

  private _take(number: number): SpanId {
    // (a log with few spans is easier to read where both are the same)
    const isOwn = number < LAST_SLOT && this._given[number] === 0;
    let slot = isOwn ? number : this._free.pop();
    while (slot === undefined && this._next < LAST_SLOT) {
      const next = this._next++;
      slot = this._given[next] === 0 ? next : undefined;
    }
    if (slot === undefined) {
      return DEFAULT_SPAN;
    }
    this._given[slot] = 1;
    this._numbers[slot] = number;
    return slot as SpanId;
  }

  private _pageOf(number: number): Uint16Array {
    const at = number >>> PAGE_SHIFT;
    let page = this._pages.get(at);
    if (page === undefined) {
      if (this._pages.size >= this._mostPages) {
        this._dropOldest();
      }
      page = new Uint16Array(1 << PAGE_SHIFT);
      this._pages.set(at, page);
      this._lastAt = -1;
    }
    return page;
  }

  /** Of a page's spans none has a row of its own any more. If one of them is told of again, it is not counted again. */
  private _dropOldest(): void {
    for (const [at, page] of this._pages) {
      const first = at * (1 << PAGE_SHIFT);
      if (!page.some((slot, i) => this._numbers[slot] === first + i)) {
        this._pages.delete(at);
        page.forEach((slot, i) => {
          if (slot !== 0) {
            this._dropped.add(first + i);
          }
        });
        return;
      }
    }
  }
}

function slotOf(found: number): SpanId {
  return found === LAST_SLOT ? DEFAULT_SPAN : (found as SpanId);
}
