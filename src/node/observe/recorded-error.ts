import { inspect } from 'node:util';

/** A thrown value as panels show it: message, stack, causes. */
export function recordedError(error: unknown): string {
  try {
    return inspect(error, {
      depth: 1,
      maxArrayLength: 5,
      maxStringLength: 500
    });
  } catch {
    // What an object says of itself may throw; the failure itself is still worth a row.
    return 'An error that cannot be printed.';
  }
}
