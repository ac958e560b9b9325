/**
 * Majority vote by weight: a value with more than half of all weight wins its cell, in whatever order the votes come; otherwise one of the
 * values voted for wins. A vote of weight 0 (a finer cell in a tie, a run that took no time) wins an empty cell only, so that it is not
 * shown over runs that took time. The value of an empty cell is 0.
 *
 * @param values - per cell the value that wins
 * @param weights - per cell what the others could not outweigh
 * @param weight - 0 or more
 */
export function majorityVote(
  values: Uint32Array,
  weights: Float32Array,
  cell: number,
  value: number,
  weight: number
): void {
  if (values[cell] === value) {
    weights[cell]! += weight;
  } else if (
    weights[cell]! >= weight &&
    (weights[cell]! > 0 || values[cell] !== 0)
  ) {
    weights[cell]! -= weight;
  } else {
    values[cell] = value;
    weights[cell] = weight - weights[cell]!;
  }
}
