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
