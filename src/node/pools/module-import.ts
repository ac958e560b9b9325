/** Runs in the worker: imports modules, and remembers in the context of their top level that it is one. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The worker's program and the package that the module imports are two bundles; they meet at this name. */
const IMPORTER_KEY = Symbol.for('spanwise.importingModule');

type Realm = { [IMPORTER_KEY]?: AsyncLocalStorage<readonly string[]> };

function importing(): AsyncLocalStorage<readonly string[]> {
  return ((globalThis as Realm)[IMPORTER_KEY] ??= new AsyncLocalStorage());
}

/**
 * @param within - the modules whose import began the run that needs this one, each imported by a worker of the one before.
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

/** Calls `body` as if the top level of the last of these modules did: {@link importsAround} then gives these modules. */
export function callWithin<R>(within: readonly string[], body: () => R): R {
  return importing().run(within, body);
}

/**
 * The URLs of the modules whose import led to this call, the outermost first: each was imported by a worker of the one before, the last one by
 * this worker. None unless the top level of the last one (or of a module that it imports) made the call; `await` and timers keep them. In a
 * task they are those of the run that sent it: mostly none.
 */
export function importsAround(): readonly string[] {
  return importing().getStore() ?? [];
}
