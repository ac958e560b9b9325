/** Runs in the worker: imports modules, and remembers in the context of their top level that it is one. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The worker's program and the package that the module imports are two bundles; they meet at this name. */
const importing = Symbol.for('spanwise.importingModule');

type Realm = { [importing]?: AsyncLocalStorage<readonly string[]> };

/**
 * @param within - the modules whose top level, each in a worker of the one before, has begun the run that needs this one.
 * @throws what the module throws.
 */
export function importInWorker(
  url: string,
  within: readonly string[]
): Promise<Record<string, unknown>> {
  const context = ((globalThis as Realm)[importing] ??=
    new AsyncLocalStorage());
  return context.run(
    [...within, url],
    () => import(url) as Promise<Record<string, unknown>>
  );
}

/**
 * The URLs of the modules that workers of workers import or have imported for their tasks, the outermost first, the last one here, if the
 * caller was begun by the top level of that one (or of one that it imports): `await` and timers keep it. Tasks are called from elsewhere.
 */
export function importsAround(): readonly string[] {
  return (globalThis as Realm)[importing]?.getStore() ?? [];
}
