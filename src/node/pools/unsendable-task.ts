import { type Key, keyText } from '../graph/key';
import type { Task, TaskFunction } from '../graph/nodes';
import type { Entry } from './batch';
import { encodeCall } from './call-encoding';
import { describeUnsendable, UnsendableError } from './unsendable';

/**
 * After some tasks could not be sent together: the first one that cannot be sent alone either, and the error that says why.
 *
 * @param thrown - what sending them threw
 * @returns null if each can be sent: memory that ran out, for one.
 */
export function findUnsendable(
  entries: readonly Entry[],
  canSend: (value: unknown) => boolean,
  idOf: (fn: TaskFunction) => number,
  thrown: unknown
): { readonly entry: Entry; readonly error: UnsendableError } | null {
  for (const entry of entries) {
    const { key, node, inputs } = entry.call;
    const args: unknown[] = [];
    encodeCall(node as Task, inputs, idOf, [], args);
    const at = args.findIndex(arg => !canSend(arg));
    if (at !== -1) {
      const what = describeUnsendable(args[at], `argument ${at}`, canSend);
      return { entry, error: unsendable(key, what, thrown) };
    }
  }
  return null;
}

/** @param what - which argument cannot be sent, and why */
export function unsendable(
  key: Key,
  what: string,
  cause?: unknown
): UnsendableError {
  return new UnsendableError(
    `Task ${keyText(key)} cannot be sent to a worker: ${what}.`,
    cause === undefined ? {} : { cause }
  );
}
