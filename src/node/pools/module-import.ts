/** Runs in the worker: imports modules, and remembers in the context of their top level that it is one. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The worker's program and the package that the module imports are two bundles; they meet at this name. */
const IMPORTER_KEY = Symbol.for('spanwise.importingModule');

type Realm = { [IMPORTER_KEY]?: AsyncLocalStorage<readonly string[]> };

function importing(): AsyncLocalStorage<readonly string[]> {
  return ((globalThis as Realm)[IMPORTER_KEY] ??= new AsyncLocalStorage());
}

/**
 * @param within - the modules whose top level, each in a worker of the one before, has begun the run that needs this one.
 * @throws what the module throws.
 */
export function importInWorker(
  url: string,
  within: readonly string[]
): Promise<Record<string, unknown>> {
  return callWithin(
    [...within, url],
    () => import(url) as Promise<Record<string, unknown>>
  );
}

/** Calls `body` as from the top level of the innermost of these modules: what it begins is part of what that has begun. */
export function callWithin<R>(within: readonly string[], body: () => R): R {
  return importing().run(within, body);
}

/**
 * The URLs of the modules that workers of workers import or have imported for their tasks, the outermost first, the last one here, if the
 * caller was begun by the top level of that one (or of one that it imports): `await` and timers keep it. A task has what the
 * run had that sent it: mostly nothing.
 */
export function importsAround(): readonly string[] {
  return importing().getStore() ?? [];
}
