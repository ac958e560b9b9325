/**
 * Finds the row of an id: pages of 4,096 entries, made where ids occur. Ids that a log hands out densely cost 4 bytes each and one look-up
 * in a map per page change; half a page later 2 bytes if their rows are near each other, and nothing if they are in the same order.
 *
 *     ids      4096 4097 4098 …     4096 4097 4098 …
 *     rows       70   71   72 …       72   70   75 …
 *     page     70, no entries       70 and entries 2 0 5 … of 16 bits
 *
 * A log with ids strewn over the whole 32 bits could make a page per id (16 KiB each); beyond {@link DEFAULT_PAGES} new pages are refused and their
 * ids stay unknown, which costs such a log its cross-references and never the process its memory.
 */
const PAGE_SHIFT = 12;
const PAGE_IDS = 1 << PAGE_SHIFT;
const PAGE_MASK = PAGE_IDS - 1;
const UNKNOWN = -1;
const LARGEST_U16 = 2 ** 16 - 1;
export const DEFAULT_PAGES = 4096;

/** An entry is 1 + the row of its id, 0: the id is not known. It is the sum of `base` and what stands in `entries`. */
type Page = {
  base: number;
  /** null: the place of the id in its page. */
  entries: Uint32Array | Uint16Array | null;
  readonly isPacked: boolean;
};

export class IdIndex {
  private readonly _pages = new Map<number, Page>();
  private _lastNumber = -1;
  private _lastPage: Page | undefined;

  constructor(private readonly _maxPages = DEFAULT_PAGES) {}

  /** Remembers that `id` is at `row`; a later row of the same id replaces it. Returns false if the index is full. */
  set(id: number, row: number): boolean {
    const number = id >>> PAGE_SHIFT;
    let page = this._page(number, true);
    if (page === undefined) {
      return false;
    }
    if (page.isPacked) {
      page = unpacked(page);
      this._keep(number, page);
    }
    const place = id & PAGE_MASK;
    page.entries![place] = row + 1;
    if (place === PAGE_IDS / 2 && number > 0) {
      // Few ids come later than so many that follow them.
      this._pack(number - 1);
    }
    return true;
  }

  /** The row of `id`, or −1. Rows that were dropped since are still answered: check with the table. */
  get(id: number): number {
    const page = this._page(id >>> PAGE_SHIFT, false);
    return page === undefined ? UNKNOWN : entryOf(page, id & PAGE_MASK) - 1;
  }

  /** Drops the pages whose rows all lie below `row`. */
  dropBelow(row: number): void {
    for (const [number, page] of this._pages) {
      if (hasNoneAbove(page, row)) {
        this._pages.delete(number);
      }
    }
    this._lastNumber = -1;
    this._lastPage = undefined;
  }

  /** Bytes of memory that the entries take. */
  get nbytes(): number {
    let nbytes = 0;
    for (const { entries } of this._pages.values()) {
      nbytes += entries?.byteLength ?? 0;
    }
    return nbytes;
  }

  private _page(number: number, make: boolean): Page | undefined {
    if (number === this._lastNumber && this._lastPage !== undefined) {
      return this._lastPage;
    }
    let page = this._pages.get(number);
    if (page === undefined && make && this._pages.size < this._maxPages) {
      page = { base: 0, entries: new Uint32Array(PAGE_IDS), isPacked: false };
      this._pages.set(number, page);
    }
    this._lastNumber = number;
    this._lastPage = page;
    return page;
  }

  private _pack(number: number): void {
    const page = this._pages.get(number);
    const packed =
      page === undefined || page.isPacked ? undefined : packedPage(page);
    if (packed !== undefined) {
      this._pages.set(number, packed);
    }
  }

  private _keep(number: number, page: Page): void {
    this._pages.set(number, page);
    this._lastPage = page;
  }
}

function entryOf({ base, entries }: Page, place: number): number {
  return entries === null ? base + place : base + entries[place]!;
}

function hasNoneAbove(page: Page, row: number): boolean {
  if (page.entries === null) {
    return page.base + PAGE_MASK <= row;
  }
  return page.entries.every((entry: number) => page.base + entry <= row);
}

function unpacked(page: Page): Page {
  const entries = new Uint32Array(PAGE_IDS);
  for (let place = 0; place < PAGE_IDS; place++) {
    entries[place] = entryOf(page, place);
  }
  return { base: 0, entries, isPacked: false };
}

/** The same entries in less memory; undefined: there are ids without one, or they are too far from each other. */
function packedPage(page: Page): Page | undefined {
  let least = Infinity;
  let most = 0;
  let isInOrder = true;
  const first = entryOf(page, 0);
  for (let place = 0; place < PAGE_IDS; place++) {
    const entry = entryOf(page, place);
    least = Math.min(least, entry);
    most = Math.max(most, entry);
    isInOrder &&= entry === first + place;
  }
  if (least === 0 || most - least > LARGEST_U16) {
    return undefined;
  }
  if (isInOrder) {
    return { base: first, entries: null, isPacked: true };
  }
  const entries = new Uint16Array(PAGE_IDS);
  for (let place = 0; place < PAGE_IDS; place++) {
    entries[place] = entryOf(page, place) - least;
  }
  return { base: least, entries, isPacked: true };
}
