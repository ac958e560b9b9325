/** Finds what in a value cannot be sent, so that the error can say more than "could not be cloned". */

import { types } from 'node:util';
import type { Loss } from './sent-values';

/** How deep and how many values are looked at before the answer is only that something in there cannot be sent. */
const MAX_DEPTH = 8;
const MAX_VALUES = 10_000;

/**
 * A value cannot go to a worker or come back from it: only what `structuredClone` copies can, and it must keep the methods of its class.
 *
 * @group Errors
 * @example
 * ```ts
 * import { getThreads, task, UnsendableError } from 'spanwise';
 *
 * try {
 *   await getThreads({ a: task(() => ({ rows: [{ open: () => 1 }] })) }, 'a');
 * } catch (error) {
 *   if (error instanceof UnsendableError) {
 *     console.log(error.message); // → The result of a cannot be sent back from thread …: result.rows[0].open is a function (open).
 *   }
 * }
 * ```
 */
export class UnsendableError extends TypeError {
  /** The class's name. */
  override readonly name = 'UnsendableError';
}

/**
 * @param root - what the value is called in the answer: `result`, `argument 2`
 * @param canSend - whether a value can be sent as a whole
 * @returns for example `result.rows[3].handler is a function (onRow)`
 */
export function describeUnsendable(
  value: unknown,
  root: string,
  canSend: (value: unknown) => boolean
): string {
  const seen = new Set<unknown>();
  const search = (at: unknown, path: string, depth: number): string | null => {
    const kind = kindOf(at);
    if (kind !== null) {
      return `${path} is ${kind}`;
    }
    if (
      typeof at !== 'object' ||
      at === null ||
      seen.has(at) ||
      depth > MAX_DEPTH ||
      seen.size > MAX_VALUES
    ) {
      return null;
    }
    seen.add(at);
    let name = '';
    try {
      for (const part of partsOf(at)) {
        name = part.name;
        const found = search(part.read(), `${path}${name}`, depth + 1);
        if (found !== null) {
          return found;
        }
      }
    } catch (error) {
      return `${path}${name} throws when it is read (${error instanceof Error ? error.message : typeof error})`;
    }
    if (canSend(at)) {
      return null;
    }
    return isContainer(at)
      ? `${path} holds a value of a kind that has no copy, or is nested too deep`
      : `${path} is ${classOf(at)}`;
  };
  return (
    search(value, root, 0) ?? `${root} holds a value of a kind that has no copy`
  );
}

/** Methods named in a message. */
const NAMED = 5;

/**
 * Says where in a value the object stands that would arrive without methods, and what to do.
 *
 * @param root - what the value is called: `result`, `argument 2`
 */
export function describeLoss(
  value: unknown,
  root: string,
  { object, names }: Loss
): string {
  const path = pathTo(object, value, root) ?? `something in ${root}`;
  const more = names.length > NAMED ? ', …' : '';
  return (
    `${path} is ${classOf(object)}, and only its data would arrive, without its methods and getters (${names.slice(0, NAMED).join(', ')}${more}). ` +
    'Send the data, as a plain object such as { ...it }, and make the object again from it where it is used'
  );
}

function pathTo(sought: object, value: unknown, root: string): string | null {
  const seen = new Set<unknown>();
  const search = (at: unknown, path: string, depth: number): string | null => {
    if (at === sought) {
      return path;
    }
    const isOver = depth > MAX_DEPTH || seen.size > MAX_VALUES || seen.has(at);
    if (typeof at !== 'object' || at === null || isOver) {
      return null;
    }
    seen.add(at);
    for (const part of partsOf(at)) {
      const found = search(part.read(), `${path}${part.name}`, depth + 1);
      if (found !== null) {
        return found;
      }
    }
    return null;
  };
  return search(value, root, 0);
}

function kindOf(value: unknown): string | null {
  if (typeof value === 'function') {
    return `a function${value.name === '' ? '' : ` (${value.name})`}`;
  }
  if (typeof value === 'symbol') {
    return `a symbol (${String(value.description)})`;
  }
  // Before anything is asked of it, for which it may have an answer of its own.
  if (types.isProxy(value)) {
    return 'a proxy';
  }
  if (types.isGeneratorObject(value)) {
    return 'a generator';
  }
  if (value instanceof Promise) {
    return 'a promise';
  }
  if (value instanceof WeakMap || value instanceof WeakSet) {
    return classOf(value);
  }
  return null;
}

type Part = { readonly name: string; readonly read: () => unknown };

function* partsOf(value: object): Iterable<Part> {
  if (ArrayBuffer.isView(value)) {
    return;
  }
  if (value instanceof Map) {
    for (const [key, inner] of value) {
      yield { name: `.get(${String(key)})`, read: () => inner };
    }
    return;
  }
  if (value instanceof Set) {
    for (const inner of value) {
      yield { name: '.values()', read: () => inner };
    }
    return;
  }
  for (const name of Object.keys(value)) {
    yield {
      name: Array.isArray(value) ? `[${name}]` : `.${name}`,
      read: () => (value as Record<string, unknown>)[name]
    };
  }
}

/** Whether it can be sent if all that is in it can: its class says nothing. */
function isContainer(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    Array.isArray(value) ||
    value instanceof Map ||
    value instanceof Set ||
    prototype === Object.prototype ||
    prototype === null
  );
}

function classOf(value: object): string {
  const name = (value.constructor as { name?: string } | undefined)?.name;
  return name === undefined || name === '' ? 'an object' : `of class ${name}`;
}
