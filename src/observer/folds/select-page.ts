/**
 * Rows offset … offset + limit of the list that sorting by rank would give, without sorting it: the rank at either end of the page is found
 * by quickselect, then only the page's rows are put in order. Equal ranks stay in the order of their rows.
 */
export function selectPage(
  rows: Uint32Array,
  ranks: Float64Array,
  descending: boolean,
  offset: number,
  limit: number
): Uint32Array {
  const count = rows.length;
  const from = Math.min(offset, count);
  const to = Math.min(offset + limit, count);
  if (from === to) {
    return new Uint32Array(0);
  }
  const order = Uint32Array.from(rows, (_, i) => i);
  const before = (a: number, b: number): number => {
    const difference = descending
      ? ranks[b]! - ranks[a]!
      : ranks[a]! - ranks[b]!;
    // Infinite ranks subtract to NaN where they are equal.
    return difference < 0 ? -1 : difference > 0 ? 1 : rows[a]! - rows[b]!;
  };
  if (from > 0) {
    select(order, from, 0, count - 1, before);
  }
  if (to < count) {
    select(order, to, from, count - 1, before);
  }
  const page = order.slice(from, to).sort(before);
  return page.map(i => rows[i]!);
}

/** Kept candidates per row of the page, so that cutting back is rare. */
const SLACK_ROWS = 4096;

/**
 * The rows that may still be on the page, while rows go by: once there are more than enough, all but the best are forgotten, and a row that
 * is no better than the worst of those is not taken at all. Rows must come in rising order.
 */
export class PageCandidates {
  private _rows: Uint32Array;
  private _ranks: Float64Array;
  private _length = 0;
  private _worst: number;
  private _total = 0;

  constructor(
    private readonly _descending: boolean,
    private readonly _offset: number,
    private readonly _limit: number
  ) {
    const capacity = (_offset + _limit) * 2 + SLACK_ROWS;
    this._rows = new Uint32Array(capacity);
    this._ranks = new Float64Array(capacity);
    this._worst = _descending ? -Infinity : Infinity;
  }

  /** Rows that went by. */
  get total(): number {
    return this._total;
  }

  add(row: number, rank: number): void {
    // Among equals the earlier row comes first: a later row that is as good as the worst kept row comes after it.
    const isBehind = this._descending
      ? rank <= this._worst
      : rank >= this._worst;
    if (this._total++ >= this._rows.length && isBehind) {
      return;
    }
    if (this._length === this._rows.length) {
      this._cutBack();
    }
    this._rows[this._length] = row;
    this._ranks[this._length++] = rank;
  }

  page(): Uint32Array {
    return selectPage(
      this._rows.subarray(0, this._length),
      this._ranks.subarray(0, this._length),
      this._descending,
      this._offset,
      this._limit
    );
  }

  private _cutBack(): void {
    const rows = this._rows.subarray(0, this._length);
    const best = selectPage(
      rows,
      this._ranks,
      this._descending,
      0,
      this._offset + this._limit
    );
    const rankOf = new Map<number, number>();
    rows.forEach((row, i) => rankOf.set(row, this._ranks[i]!));
    this._worst = rankOf.get(best[best.length - 1]!)!;
    best.forEach((row, i) => {
      this._rows[i] = row;
      this._ranks[i] = rankOf.get(row)!;
    });
    this._length = best.length;
  }
}

/** Puts the item of place k there, smaller ones before it. Pivots are medians of three, so that sorted input is no worst case. */
function select(
  order: Uint32Array,
  k: number,
  low: number,
  high: number,
  before: (a: number, b: number) => number
): void {
  while (low < high) {
    const pivot = medianOfThree(order, low, high, before);
    let i = low;
    let j = high;
    while (i <= j) {
      while (before(order[i]!, pivot) < 0) {
        i++;
      }
      while (before(order[j]!, pivot) > 0) {
        j--;
      }
      if (i <= j) {
        const item = order[i]!;
        order[i++] = order[j]!;
        order[j--] = item;
      }
    }
    if (k <= j) {
      high = j;
    } else if (k >= i) {
      low = i;
    } else {
      return;
    }
  }
}

function medianOfThree(
  order: Uint32Array,
  low: number,
  high: number,
  before: (a: number, b: number) => number
): number {
  const a = order[low]!;
  const b = order[(low + high) >> 1]!;
  const c = order[high]!;
  if (before(a, b) > 0) {
    return before(a, c) < 0 ? a : before(b, c) > 0 ? b : c;
  }
  return before(a, c) > 0 ? a : before(b, c) < 0 ? b : c;
}
