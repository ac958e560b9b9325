import { AsyncLocalStorage } from 'node:async_hooks';
import { checkBody } from '../body';
import type { Key } from '../graph/key';
import { SHOWN, type ShowArgs } from '../graph/shown';
import type { EmptyState, RunGraph, RunState } from './state';

/**
 * The hooks of a callback: the events of a run, in this order. A plain object with some of them is a callback, too. A hook that throws ends
 * the run with its error; so does one that promises something and fails later. Runs that can wait end when what hooks promised is kept;
 * `getSync` cannot, and the failure is told as a warning.
 *
 * ```
 *   start → startState → ( pretask … posttask )* → finish
 * ```
 *
 * @group Callbacks
 * @example
 * ```ts
 * import { getSync, ref, task, type CallbackHooks } from 'spanwise';
 *
 * const heard: string[] = [];
 * const hooks: CallbackHooks = {
 *   start: graph => heard.push(`start with ${graph.size} keys`),
 *   pretask: key => heard.push(`before ${key}`),
 *   posttask: (key, result) => heard.push(`after ${key}: ${result}`),
 *   finish: (graph, state, errored) => heard.push(errored ? 'failed' : 'done')
 * };
 * getSync({ a: 1, b: task((x: number) => x + 1, ref('a')) }, 'b', { callbacks: [hooks] });
 * console.log(heard.join(', ')); // → start with 2 keys, before b, after b: 2, done
 * ```
 */
export type CallbackHooks = {
  /** The graph is converted; entries of it may still be replaced. */
  start?(graph: RunGraph): unknown;
  /** The state is built; nothing has run. */
  startState?(graph: RunGraph, state: RunState): unknown;
  /** `key` is in `state.running` and its inputs in `state.cache`; it is not submitted yet. */
  pretask?(key: Key, graph: RunGraph, state: RunState): unknown;
  /**
   * `key` is in `state.finished`; what it made superfluous is already released. `workerId` is null if this thread did it, else the slot
   * (`getAsync`), the thread's or the process's id.
   */
  posttask?(
    key: Key,
    result: unknown,
    graph: RunGraph,
    state: RunState,
    workerId: number | null
  ): unknown;
  /** The run is over. `state` is empty if it failed before there was one. */
  finish?(
    graph: RunGraph,
    state: RunState | EmptyState,
    errored: boolean
  ): unknown;
};

/**
 * A callback: hears of runs while it is active, around a body (`callback.run(() => …)`), in the rest of a block
 * (`using active = callback.enter()`), or everywhere (`register`). Define hooks in a subclass or hand them in.
 *
 * @group Callbacks
 * @example
 * ```ts
 * import { Callback, getSync, ref, task } from 'spanwise';
 *
 * const graph = { a: task(Math.abs, -1), b: task(Math.sqrt, ref('a')) };
 * const printing = new Callback({ pretask: key => console.log(`Computing: ${key}`) });
 * printing.run(() => getSync(graph, 'b'));
 * // → Computing: a
 * // → Computing: b
 * ```
 * @example
 * ```ts
 * import { Callback, getAsync, task, type Key } from 'spanwise';
 *
 * class Count extends Callback {
 *   finished = 0;
 *   override posttask(key: Key): void {
 *     this.finished++;
 *   }
 * }
 *
 * const count = new Count();
 * {
 *   using active = count.enter(); // until the end of this block
 *   await getAsync({ a: task(() => active.finished) }, 'a');
 * }
 * await getAsync({ a: task(() => 1) }, 'a'); // not heard
 * console.log(count.finished); // → 1
 * ```
 */
export class Callback implements CallbackHooks {
  /** Whether this is active in the block that entered it, innermost last. */
  private readonly _memberships: Membership[] = [];

  /**
   * @param hooks - any of them; a subclass defines its own instead
   * @throws TypeError for hooks that are no functions, and for an object that has properties but no hook.
   */
  constructor(hooks: CallbackHooks = {}) {
    for (const name of HOOK_NAMES) {
      const hook = hooks[name];
      if (hook !== undefined) {
        if (typeof hook !== 'function') {
          throw new TypeError(`The hook ${name} must be a function.`);
        }
        // Its own `this` stays with a hook that is a method of another object.
        Object.assign(this, { [name]: hook.bind(hooks) });
      }
    }
    const names = Object.keys(hooks);
    if (names.length > 0 && !HOOK_NAMES.some(name => name in hooks)) {
      throw new TypeError(
        `A callback's hooks are ${HOOK_NAMES.join(', ')}; none is among ${names.join(', ')}.`
      );
    }
  }

  start?(graph: RunGraph): unknown;
  startState?(graph: RunGraph, state: RunState): unknown;
  pretask?(key: Key, graph: RunGraph, state: RunState): unknown;
  posttask?(
    key: Key,
    result: unknown,
    graph: RunGraph,
    state: RunState,
    workerId: number | null
  ): unknown;
  finish?(
    graph: RunGraph,
    state: RunState | EmptyState,
    errored: boolean
  ): unknown;

  /**
   * Calls `body` with this callback active, in it and in what it awaits.
   *
   * @returns what `body` returns.
   */
  run<T>(body: () => T): T {
    checkBody('run', body);
    return addCallbacks([this], body);
  }

  /** Activates this for the rest of the current block and what it awaits; disposing (`using`) ends that. */
  enter(): this {
    const membership: Membership = { callback: this, active: true };
    this._memberships.push(membership);
    const scope = currentScope();
    // Without those that are over: what is entered here stays entered for all that follows, a loop of thousands included.
    const entered = scope.entered.filter(({ active }) => active);
    storage.enterWith({ ...scope, entered: [...entered, membership] });
    return this;
  }

  /** Ends the latest `enter`; without one it does nothing. */
  [Symbol.dispose](): void {
    const membership = this._memberships.pop();
    if (membership !== undefined) {
      membership.active = false;
    }
  }

  /** Activates this for all runs from now on; inside a task, for runs started in this run. Twice is once. */
  register(): void {
    currentScope().registered.add(this);
  }

  /** @throws Error if this is not registered. */
  unregister(): void {
    if (!currentScope().registered.delete(this)) {
      throw new Error('The callback is not registered.');
    }
  }

  /** What consoles print: the properties that a subclass or its user set. @internal */
  [SHOWN](...[depth, options, show]: ShowArgs): string {
    const own = Object.entries(this).filter(([name]) => !name.startsWith('_'));
    const text = show(Object.fromEntries(own), { ...options, depth });
    return `${this.constructor.name} ${text}`;
  }
}

/**
 * Calls `body` with several callbacks active, in it and in what it awaits; runs call them in this order.
 *
 * @returns what `body` returns.
 * @throws TypeError for what is neither a `Callback` nor an object with hooks, and for a body that is no function.
 *
 * @group Callbacks
 * @example
 * ```ts
 * import { addCallbacks, getSync, Profiler, ProgressBar, task } from 'spanwise';
 *
 * const profiler = new Profiler();
 * const value = addCallbacks([profiler, new ProgressBar()], () =>
 *   getSync({ a: task(Math.sqrt, 16) }, 'a')
 * );
 * // → …
 * // → 100% Completed | 1 of 1 tasks | …s
 * console.log(value, profiler.results.length); // → 4 1
 * ```
 */
export function addCallbacks<T>(
  callbacks: readonly CallbackHooks[],
  body: () => T
): T {
  checkBody('addCallbacks', body);
  const scope = currentScope();
  const entered = checkedCallbacks(callbacks).map(callback => ({
    callback,
    active: true
  }));
  return storage.run(
    { ...scope, entered: [...scope.entered, ...entered] },
    body
  );
}

/** The callbacks that a run started here and now has: those registered, then those around it, each once. */
export function activeCallbacks(): CallbackHooks[] {
  const scope = currentScope();
  return [
    ...new Set([
      ...scope.registered,
      ...scope.entered.filter(({ active }) => active).map(m => m.callback)
    ])
  ];
}

/** The inside of a run: no callbacks are active there but those that its tasks activate themselves. */
export class RunScope {
  /** The run whose task has begun this one. */
  private readonly _around = currentScope().inside;
  private readonly _scope: Scope = {
    registered: new Set(),
    entered: [],
    inside: this
  };

  /** Calls `body`, and what follows from it, inside the run. */
  run<T>(body: () => T): T {
    return storage.run(this._scope, body);
  }

  /** Whether this is a run within that one, at any depth. */
  isWithin(other: RunScope): boolean {
    let at = this._around;
    while (at !== null && at !== other) {
      at = at._around;
    }
    return at === other;
  }
}

/**
 * A list of callbacks, each once.
 *
 * @throws TypeError unless every member is an object.
 */
export function checkedCallbacks(
  callbacks: readonly CallbackHooks[]
): readonly CallbackHooks[] {
  if (!Array.isArray(callbacks)) {
    throw new TypeError('Callbacks are given as a list.');
  }
  for (const callback of callbacks) {
    if (typeof callback !== 'object' || callback === null) {
      throw new TypeError(
        'Callbacks must be Callback objects or objects with hooks.'
      );
    }
  }
  return [...new Set(callbacks)];
}

const HOOK_NAMES = [
  'start',
  'startState',
  'pretask',
  'posttask',
  'finish'
] as const;

type Membership = { readonly callback: CallbackHooks; active: boolean };

/** Which callbacks are active in a stretch of code and what it awaits. */
type Scope = {
  readonly registered: Set<CallbackHooks>;
  readonly entered: readonly Membership[];
  readonly inside: RunScope | null;
};

// One per process on purpose: `register` is for every run of the program. Runs in flight have scopes of their own.
const everywhere: Scope = {
  registered: new Set(),
  entered: [],
  inside: null
};
const storage = new AsyncLocalStorage<Scope>();

function currentScope(): Scope {
  return storage.getStore() ?? everywhere;
}
