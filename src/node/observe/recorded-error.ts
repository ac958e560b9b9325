import { inspect, types } from 'node:util';
import { cutInTheMiddle } from '../../sources/cut-text';

/** Causes of causes: deeper ones are left out. */
const MOST_CAUSES = 8;
/** At most so many characters of a message or a stack are read. Panels show far less, and a thrown value may hold a file's whole text. */
const MOST_CHARACTERS = 20_000;
/** Fields of a thrown object that are printed; `inspect` would print a million of them. */
const MOST_FIELDS = 200;

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
    // Printing an object may throw; the failure is recorded all the same.
    return 'An error that cannot be printed.';
  }
}

function told(error: unknown): string {
  if (!(error instanceof Error)) {
    return isLarge(error)
      ? `${Object.prototype.toString.call(error)} of more than ${MOST_FIELDS} fields`
      : inspect(error, { breakLength: Infinity, maxStringLength: 500 });
  }
  const frames = cutInTheMiddle(String(error.stack ?? ''), MOST_CHARACTERS)
    .split('\n')
    .filter(line => /^ {1,40}at /.test(line));
  // One line. By splitting: a pattern of spaces around line ends takes quadratic time where there are many spaces and no line end.
  const what = cutInTheMiddle(
    `${error.name}: ${error.message}`,
    MOST_CHARACTERS
  )
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join(' ');
  return [...frames, what].join('\n');
}

function isLarge(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !types.isProxy(value) &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value) &&
    Object.keys(value).length > MOST_FIELDS
  );
}
