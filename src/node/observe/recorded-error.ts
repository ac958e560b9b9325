import { inspect } from 'node:util';

/** Causes of causes: deeper ones are left out. */
const MOST_CAUSES = 8;

/**
 * A thrown value as panels show it. Where there is little room they show the last line, so that says what went wrong:
 *
 * ```
 *     at read (file:///etl.mjs:7:11)
 * Error: no such file
 * That was the cause of:
 *     at load (file:///etl.mjs:3:5)
 * RangeError: too far
 * ```
 */
export function recordedError(thrown: unknown): string {
  try {
    const parts: string[] = [];
    let error = thrown;
    do {
      parts.unshift(told(error));
      error = error instanceof Error ? error.cause : undefined;
    } while (error !== undefined && parts.length < MOST_CAUSES);
    return parts.join('\nThat was the cause of:\n');
  } catch {
    // What an object says of itself may throw; that it failed is still worth a row.
    return 'An error that cannot be printed.';
  }
}

function told(error: unknown): string {
  if (!(error instanceof Error)) {
    return inspect(error, { breakLength: Infinity, maxStringLength: 500 });
  }
  const frames = String(error.stack ?? '')
    .split('\n')
    .filter(line => /^\s+at /.test(line));
  const what = `${error.name}: ${error.message}`.replace(/\s*\n\s*/g, ' ');
  return [...frames, what].join('\n');
}
