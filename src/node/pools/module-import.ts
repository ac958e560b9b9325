/** Runs in the worker: imports modules, and remembers in the context of their top level that it is one. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** The worker's program and the package that the module imports are two bundles; they meet at this name. */
const importing = Symbol.for('spanwise.importingModule');

type Realm = { [importing]?: AsyncLocalStorage<string> };

/** @throws what the module throws. */
export function importInWorker(url: string): Promise<Record<string, unknown>> {
  const context = ((globalThis as Realm)[importing] ??=
    new AsyncLocalStorage());
  return context.run(
    url,
    () => import(url) as Promise<Record<string, unknown>>
  );
}

/**
 * The URL that a worker imports or has imported for its tasks, if the caller was begun by the top level of that module (or of one that it
 * imports): `await` and timers keep it. Tasks are called from elsewhere.
 */
export function importAround(): string | undefined {
  return (globalThis as Realm)[importing]?.getStore();
}
