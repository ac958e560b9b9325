/** The order that rows keep while the pointer is over them; new ones come last. */
export function keepOrder<T>(
  rows: readonly T[],
  before: readonly string[],
  keyOf: (row: T) => string
): T[] {
  const place = new Map(before.map((key, index) => [key, index]));
  const end = before.length;
  return rows
    .map((row, index) => ({ row, at: place.get(keyOf(row)) ?? end + index }))
    .sort((a, b) => a.at - b.at)
    .map(({ row }) => row);
}
