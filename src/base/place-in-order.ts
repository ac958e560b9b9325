/**
 * Where something has its place among items in ascending order: behind all that are not greater.
 *
 * @param of - the number by which an item is in order.
 */
export function placeInOrder<T>(
  items: readonly T[],
  value: number,
  of: (item: T) => number
): number {
  let low = 0;
  let high = items.length;
  // (nearly always the end, where most come)
  while (low < high && of(items[high - 1]!) > value) {
    const middle = (low + high) >> 1;
    if (of(items[middle]!) <= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return high;
}
