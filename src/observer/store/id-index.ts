/**
 * Finds the row of an id: pages of 4,096 entries, made where ids occur. Ids that a log hands out densely cost 4 bytes each and one look-up
 * in a map per page change.
 *
 * A log with ids strewn over the whole 32 bits could make a page per id (16 KiB each); beyond `maxPages` new pages are refused and their
 * ids stay unknown, which costs such a log its cross-references and never the process its memory.
 */
const PAGE_SHIFT = 12;
const PAGE_MASK = (1 << PAGE_SHIFT) - 1;
const UNKNOWN = -1;

export class IdIndex {
  private readonly _pages = new Map<number, Uint32Array>();
  private _lastNumber = -1;
  private _lastPage: Uint32Array | undefined;

  constructor(private readonly _maxPages = 4096) {}

  /** Remembers that `id` is at `row`; a later row of the same id replaces it. Returns false if the index is full. */
  set(id: number, row: number): boolean {
    const page = this._page(id >>> PAGE_SHIFT, true);
    if (page === undefined) {
      return false;
    }
    // 0 means empty, so rows are kept one higher.
    page[id & PAGE_MASK] = row + 1;
    return true;
  }

  /** The row of `id`, or −1. Rows that were dropped since are still answered: check with the table. */
  get(id: number): number {
    const page = this._page(id >>> PAGE_SHIFT, false);
    return page === undefined ? UNKNOWN : page[id & PAGE_MASK]! - 1;
  }

  /** Drops the pages whose rows all lie below `row`. */
  dropBelow(row: number): void {
    for (const [number, page] of this._pages) {
      if (page.every(entry => entry <= row)) {
        this._pages.delete(number);
      }
    }
    this._lastNumber = -1;
    this._lastPage = undefined;
  }

  private _page(number: number, make: boolean): Uint32Array | undefined {
    if (number === this._lastNumber && this._lastPage !== undefined) {
      return this._lastPage;
    }
    let page = this._pages.get(number);
    if (page === undefined && make && this._pages.size < this._maxPages) {
      page = new Uint32Array(PAGE_MASK + 1);
      this._pages.set(number, page);
    }
    this._lastNumber = number;
    this._lastPage = page;
    return page;
  }
}
