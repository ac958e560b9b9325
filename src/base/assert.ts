/** Thrown when an invariant of the program itself does not hold: always a bug, never a user's mistake. */
class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/**
 * Throws {@link InvariantError} unless `condition` holds.
 *
 * @param condition - what must hold.
 * @param message - a sentence, or a function making one when its text is costly to build.
 */
export function invariant(
  condition: boolean,
  message: string | (() => string)
): asserts condition {
  if (!condition) {
    throw new InvariantError(typeof message === 'string' ? message : message());
  }
}

/** Ends an exhaustive `switch`: the call compiles only while every member of the union has a case. */
export function assertUnreachable(value: never): never {
  throw new InvariantError(`Unexpected value: ${JSON.stringify(value)}`);
}
