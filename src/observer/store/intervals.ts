/** Disjoint intervals in rising order, as they are read. */
export abstract class Intervals {
  abstract get length(): number;

  /** Infinity past the last. */
  abstract from(index: number): number;

  /** Infinity past the last. */
  abstract to(index: number): number;

  /** The first interval that ends after `t`: where to begin a walk from t on. */
  abstract firstEndingAfter(t: number): number;

  /** Length of the part of the set that lies in [from, to); 0 where that ends before it begins. */
  abstract measure(from: number, to: number): number;

  /** The first interval that ends at `t` or after it. */
  firstReaching(t: number): number {
    const after = this.firstEndingAfter(t);
    return after > 0 && this.to(after - 1) === t ? after - 1 : after;
  }
}

/** Of each interval where it begins, and where it ends. */
export type Borders = {
  readonly from: readonly number[];
  readonly to: readonly number[];
};

/** The first of `length` intervals that ends after `t`. */
export function endingAfter(
  t: number,
  { to }: Borders,
  length = to.length
): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (to[middle]! <= t) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** Length of what of the first `length` intervals lies in [from, to). */
export function lengthWithin(
  from: number,
  to: number,
  borders: Borders,
  length = borders.to.length
): number {
  if (!(to > from)) {
    return 0;
  }
  const { from: begin, to: end } = borders;
  let sum = 0;
  let i = endingAfter(from, borders, length);
  for (; i < length && begin[i]! < to; i++) {
    sum += Math.min(to, end[i]!) - Math.max(from, begin[i]!);
  }
  return sum;
}
