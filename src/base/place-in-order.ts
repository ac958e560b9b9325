/**
 * Where something has its place among items in ascending order: behind all that are not greater.
 *
 * @param of - the number by which an item is in order.
 * @param first - those before it are not looked at.
 */
export function placeInOrder<T>(
  items: readonly T[],
  value: number,
  of: (item: T) => number,
  first = 0
): number {
  let low = first;
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

/** The same among numbers, wherever it is: it takes half the time, for nothing is called. */
export function placeAmong(numbers: readonly number[], value: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
