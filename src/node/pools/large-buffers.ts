/** Finds the large pieces of memory in a value: those that are worth moving instead of copying. */
import { types } from 'node:util';
// The whole module: older Nodes lack a name in it, and importing that would fail before anything says that Node is too old.
import workerThreads from 'node:worker_threads';

/** Below this, copying is cheaper than moving: a move costs about 2 us, a copy 0.1 us per KiB. */
export const LARGE_BYTES = 64 * 1024;

/** Values looked at: in a value of more parts, moving a buffer saves little of the time that the other parts take. */
const MAX_VALUES = 1_000;

/** Adds the buffers of at least {@link LARGE_BYTES} in `value`, also within arrays, plain objects, maps and sets. */
export function collectLargeBuffers(
  value: unknown,
  into: Set<ArrayBuffer>
): void {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  const seen = new Set<object>();
  const pending: object[] = [value];
  while (pending.length > 0 && seen.size < MAX_VALUES) {
    const at = pending.pop()!;
    if (seen.has(at)) {
      continue;
    }
    seen.add(at);
    const buffer = ArrayBuffer.isView(at) ? at.buffer : at;
    if (types.isArrayBuffer(buffer)) {
      if (
        buffer.byteLength >= LARGE_BYTES &&
        !workerThreads.isMarkedAsUntransferable(buffer)
      ) {
        into.add(buffer);
      }
      continue;
    }
    for (const part of partsOf(at)) {
      if (typeof part === 'object' && part !== null) {
        pending.push(part);
      }
    }
  }
}

function partsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) {
    // A list that begins with a number or a text is taken for one of numbers or texts.
    return typeof value[0] === 'object' ? value : [];
  }
  if (types.isMap(value)) {
    return value.values();
  }
  if (types.isSet(value)) {
    return value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain =
    prototype === null || Object.getPrototypeOf(prototype) === null;
  return isPlain ? Object.values(value) : [];
}
