/**
 * Runs in the worker: what a task prints goes to the parent as a message, and there to the parent's own stream. So it comes before the
 * task's result, is not lost when the parent ends right after it, and reaches whatever the parent has put in place of its streams.
 */
import type { OutputMessage } from './messages';

type Write = typeof process.stdout.write;

export function forwardOutput(send: (message: OutputMessage) => void): void {
  const forward =
    (stream: 1 | 2): Write =>
    (
      chunk: string | Uint8Array,
      encoding?: unknown,
      written?: unknown
    ): boolean => {
      send({ type: 'output', stream, chunk: sent(chunk, encoding) });
      const done = typeof encoding === 'function' ? encoding : written;
      if (typeof done === 'function') {
        queueMicrotask(() => (done as () => void)());
      }
      return true;
    };
  process.stdout.write = forward(1);
  process.stderr.write = forward(2);
}

/** Bytes stay bytes: a letter may be divided between two of them, and some are no text at all. */
function sent(
  chunk: string | Uint8Array,
  encoding: unknown
): string | Uint8Array {
  if (typeof chunk !== 'string') {
    // A copy of these alone: a small Buffer lies in memory that others share.
    return new Uint8Array(chunk);
  }
  return typeof encoding !== 'string' || /^utf-?8$/i.test(encoding)
    ? chunk
    : new Uint8Array(Buffer.from(chunk, encoding as BufferEncoding));
}
