/** What the client's ids stand for. In the scheduler process. */
import type { ArrayOf } from '../../base/typed-arrays';
import type { ClientTaskId } from '../../records/ids';

const PAGE_BITS = 10;
const PAGE_IDS = 1 << PAGE_BITS;
const PAGE_MASK = PAGE_IDS - 1;

type Page<N extends number> = {
  readonly values: ArrayOf<Uint32Array, N>;
  /** Ids that are bound. */
  living: number;
};

/**
 * Holds a value for each of the client's ids. Ids rise for as long as the client lives, and most of their tasks are soon forgotten: a page
 * is freed with the last id that is bound in it, and 8 bytes of it stay.
 *
 * ```
 *   id     0 … 1023   1024 … 2047   2048 … 3071 (newest: stays)
 *   page   gone       3 living      0 living                        4 KiB each
 * ```
 */
export class ClientIds<N extends number> {
  private readonly _pages: (Page<N> | undefined)[] = [];
  private _kept = 0;
  private _end = 0;

  /** @param _none - the value of ids that are not bound. */
  constructor(private readonly _none: N) {}

  /** One more than the largest id that was ever bound or skipped. */
  get end(): number {
    return this._end;
  }

  /** How many pages take memory. */
  get pages(): number {
    return this._kept;
  }

  bind(id: ClientTaskId, value: N): void {
    const page = this._pages[id >>> PAGE_BITS] ?? this._add(id >>> PAGE_BITS);
    if (page.values[id & PAGE_MASK] === this._none) {
      page.living++;
    }
    page.values[id & PAGE_MASK] = value;
    if (id >= this._end) {
      this._end = id + 1;
    }
  }

  /** Counts ids below `end` as given, though none of them is bound. */
  skipTo(end: number): void {
    this._end = Math.max(this._end, end);
  }

  get(id: ClientTaskId): N {
    const page = this._pages[id >>> PAGE_BITS];
    return page === undefined ? this._none : page.values[id & PAGE_MASK]!;
  }

  free(id: ClientTaskId): void {
    const number = id >>> PAGE_BITS;
    const page = this._pages[number];
    if (page !== undefined && page.values[id & PAGE_MASK] !== this._none) {
      page.values[id & PAGE_MASK] = this._none;
      page.living--;
      this._dropUnused(number);
    }
  }

  private _add(number: number): Page<N> {
    const newest = this._pages.length - 1;
    while (this._pages.length <= number) {
      this._pages.push(undefined);
    }
    const values = new Uint32Array(PAGE_IDS).fill(this._none) as ArrayOf<
      Uint32Array,
      N
    >;
    const page = { values, living: 0 };
    this._pages[number] = page;
    this._kept++;
    this._dropUnused(newest);
    return page;
  }

  /** The newest page stays: single calls would create it again each time. */
  private _dropUnused(number: number): void {
    if (number < this._pages.length - 1 && this._pages[number]?.living === 0) {
      this._pages[number] = undefined;
      this._kept--;
    }
  }
}
