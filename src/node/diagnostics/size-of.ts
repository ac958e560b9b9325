/**
 * About how many bytes a value holds: the default measure of {@link CacheProfiler}.
 *
 * Exact for what is large in practice (typed arrays, buffers), an estimate for everything else. No package is used: docs/local-diagnostics.md
 * has what three of them say of nine values and how long they take.
 */
import { types } from 'node:util';

const WORD = 8;
/** Header of an object, an array, a string in V8, rounded. */
const HEADER = 2 * WORD;
/** A number that is no 32-bit integer takes memory besides the place that refers to it, except in arrays of numbers only. */
const BOXED_NUMBER = 2 * WORD;
/** Elements looked at in one container; the others are taken to be like them. */
const SAMPLED = 64;
/** Values looked at in all, so that nested containers stay cheap too. */
const MOST_VALUES = 4096;
/** Nesting followed; far below what the stack bears. */
const DEEPEST = 200;

/**
 * About how many bytes of memory a value holds: the metric of {@link CacheProfiler} unless another is given. Exact for typed arrays and
 * buffers, an estimate from samples for everything else, in bounded time; an object that is met twice counts once.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { sizeOf } from 'spanwise';
 *
 * console.log(sizeOf(new Float64Array(1000))); // → 8000
 * console.log(sizeOf({ rows: new Float64Array(1000), name: 'block' }) > 8000); // → true
 * ```
 */
export function sizeOf(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return WORD;
    case 'object':
      if (value === null) {
        return WORD;
      }
      return ArrayBuffer.isView(value)
        ? value.byteLength
        : new SizeWalk().sizeOf(value, 0);
    default:
      return new SizeWalk().sizeOf(value, 0);
  }
}

class SizeWalk {
  private readonly _seen = new Set<object>();
  private _left = MOST_VALUES;

  sizeOf(value: unknown, depth: number): number {
    this._left--;
    switch (typeof value) {
      case 'string':
        return textSize(value);
      case 'bigint':
        return HEADER + Math.ceil(value.toString(16).length / 2);
      case 'object':
        return value === null ? WORD : this._objectSize(value, depth);
      case 'function':
        // The code is shared, and the variables that it closes over cannot be seen.
        return 4 * WORD;
      default:
        return WORD;
    }
  }

  private _objectSize(value: object, depth: number): number {
    if (this._seen.has(value)) {
      return 0;
    }
    this._seen.add(value);
    if (ArrayBuffer.isView(value)) {
      return value.byteLength;
    }
    if (types.isProxy(value)) {
      // A proxy is not looked into: its handler may do anything.
      return HEADER;
    }
    if (isBuffer(value)) {
      return value.byteLength;
    }
    if (depth >= DEEPEST) {
      return HEADER;
    }
    if (Array.isArray(value)) {
      return (
        HEADER + this._elementsSize(value, value.length, WORD, depth, true)
      );
    }
    if (value instanceof Set) {
      return HEADER + this._elementsSize(value, value.size, 3 * WORD, depth);
    }
    if (value instanceof Map) {
      return (
        HEADER +
        this._elementsSize(value.keys(), value.size, 2 * WORD, depth) +
        this._elementsSize(value.values(), value.size, 2 * WORD, depth)
      );
    }
    const names = Object.keys(value);
    return (
      HEADER +
      WORD +
      this._elementsSize(
        fieldsOf(value as Record<string, unknown>, names),
        names.length,
        WORD,
        depth
      )
    );
  }

  /** `slot` bytes each for the place of an element, and what the elements hold beyond a place, taken from the first and some further ones. */
  private _elementsSize(
    elements: Iterable<unknown>,
    count: number,
    slot: number,
    depth: number,
    holdsNumbers = false
  ): number {
    let looked = 0;
    let beyond = 0;
    let boxed = 0;
    let numbers = 0;
    for (const element of sampled(elements, count)) {
      if (this._left <= 0 || looked >= SAMPLED) {
        break;
      }
      looked++;
      if (typeof element === 'number') {
        this._left--;
        numbers++;
        boxed += (element | 0) === element ? 0 : BOXED_NUMBER;
        continue;
      }
      const size = this.sizeOf(element, depth + 1);
      beyond += liesInSlot(element) ? 0 : size;
    }
    if (!holdsNumbers || numbers < looked) {
      beyond += boxed;
    }
    return count * slot + (looked === 0 ? 0 : (beyond / looked) * count);
  }
}

/** Booleans and the like need no room beyond the place itself. */
function liesInSlot(element: unknown): boolean {
  const type = typeof element;
  return element === null || type === 'boolean' || type === 'undefined';
}

/**
 * For an array, elements evenly over its length; for other collections, the first ones: reaching the others would mean walking through all.
 */
function* sampled(
  elements: Iterable<unknown>,
  count: number
): IterableIterator<unknown> {
  if (!Array.isArray(elements) || count <= SAMPLED) {
    yield* elements;
    return;
  }
  for (let index = 0; index < SAMPLED; index++) {
    yield elements[Math.floor((index * count) / SAMPLED)];
  }
}

function* fieldsOf(
  value: Record<string, unknown>,
  names: readonly string[]
): IterableIterator<unknown> {
  for (const name of sampled(names, names.length)) {
    // The field is not read: a getter may compute, load or throw, and the object does not hold its value.
    yield Reflect.getOwnPropertyDescriptor(value, name as string)?.value;
  }
}

/** One byte per character, or two if any of the first ones needs them. */
function textSize(text: string): number {
  const isWide = /[^\0-\xff]/.test(text.slice(0, 256));
  return HEADER + text.length * (isWide ? 2 : 1);
}

function isBuffer(value: object): value is ArrayBuffer | SharedArrayBuffer {
  return (
    value instanceof ArrayBuffer ||
    (typeof SharedArrayBuffer !== 'undefined' &&
      value instanceof SharedArrayBuffer)
  );
}
