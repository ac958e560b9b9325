/**
 * Random graphs with random failures, and the laws that every scheduler keeps on them: answers equal a reference evaluation, callbacks come
 * in lawful order and see a consistent state, values are released as soon as nobody needs them.
 *
 * ```ts
 * await fc.assert(lawfulRuns({ get: getThreads, numWorkers: 2 }), { numRuns: 500 });
 * ```
 */
import fc from 'fast-check';
import { type Key, keyId, KeyMap, KeySet } from '../graph/key';
import { alias, data, ref, task } from '../graph/nodes';
import type { CallbackHooks } from '../local/callback';
import type { Keys } from '../local/request';
import type { RunOptions } from '../local/run';
import type { RunGraph, RunState } from '../local/state';
import { taskKeyOf } from '../local/task-note';

type SchedulerUnderTest = {
  /** Calls the scheduler; a synchronous one may return the answer itself. */
  get(graph: Map<Key, unknown>, keys: Keys, options: RunOptions): unknown;
  readonly numWorkers: number;
  /** Whether tasks may return promises. */
  readonly promises?: boolean;
  /** Whether it hands out more than a batch per worker, unless a `chunkSize` is asked for. */
  readonly runsAhead?: boolean;
  /** Whether callbacks see only the part of the graph that the request needs. */
  readonly culls?: boolean;
};

type DrawnNode = {
  readonly kind: 'task' | 'later' | 'nested' | 'alias' | 'container' | 'data';
  /** Places of earlier nodes. */
  readonly needs: readonly number[];
  readonly tuple: boolean;
  readonly fails: boolean;
};

export type DrawnRun = {
  readonly nodes: readonly DrawnNode[];
  readonly request: readonly (number | readonly number[])[];
  readonly chunkSize: number;
  readonly ownCache: boolean;
};

/** A property for `fc.assert`: one drawn run of the scheduler keeps all laws. */
export function lawfulRuns(
  scheduler: SchedulerUnderTest
): fc.IAsyncProperty<[DrawnRun]> {
  return fc.asyncProperty(drawnRuns(scheduler.promises === true), run =>
    checkRun(run, scheduler)
  );
}

/** @param promises - whether tasks may return promises. */
export function drawnRuns(promises: boolean): fc.Arbitrary<DrawnRun> {
  return fc.integer({ min: 1, max: 24 }).chain(count =>
    fc.record({
      nodes: fc.tuple(
        ...Array.from({ length: count }, (_, place) =>
          drawnNode(place, promises)
        )
      ),
      request: fc.array(
        fc.oneof(
          fc.nat(count - 1),
          fc.array(fc.nat(count - 1), { maxLength: 3 })
        ),
        { maxLength: 4 }
      ),
      chunkSize: fc.constantFrom(0, 0, 1, 2, 3, -1),
      ownCache: fc.boolean()
    })
  );
}

function drawnNode(place: number, promises: boolean): fc.Arbitrary<DrawnNode> {
  const kinds: DrawnNode['kind'][] =
    place === 0
      ? ['task', 'data']
      : ['task', 'task', 'nested', 'alias', 'container', 'data'];
  if (promises) {
    kinds.push('later', 'later');
  }
  return fc.record({
    kind: fc.constantFrom(...kinds),
    needs:
      place === 0
        ? fc.constant([])
        : fc.array(fc.nat(place - 1), { minLength: 1, maxLength: 4 }),
    tuple: fc.boolean(),
    // One failure in a few graphs: most runs shall come to their end.
    fails: fc.nat(60).map(n => n === 0)
  });
}

/** The name of the node at a place. Some texts imitate the tuples beside them. */
export function keyAt(run: DrawnRun, place: number): Key {
  return run.nodes[place]!.tuple ? ['k', place] : `k,${place}`;
}

export function graphOf(run: DrawnRun): Map<Key, unknown> {
  return new Map(
    run.nodes.map((node, place) => [
      keyAt(run, place),
      valueOf(run, node, place)
    ])
  );
}

function valueOf(run: DrawnRun, node: DrawnNode, place: number): unknown {
  const refs = node.needs.map(need => ref(keyAt(run, need)));
  switch (node.kind) {
    case 'data':
      return place % 2 === 0 ? place : data([place]);
    case 'alias':
      return alias(keyAt(run, node.needs[0]!));
    case 'container':
      return [refs[0], { rest: refs.slice(1) }];
    case 'nested':
      return task(combine, place, node.fails, {
        all: new Map<unknown, unknown>([['refs', refs]]),
        inner: task(combine, 1, false, refs[0])
      });
    case 'later':
      return task(combineLater, place, node.fails, ...refs);
    case 'task':
      return task(combine, place, node.fails, ...refs);
  }
}

/** Self-contained, as functions for other threads must be. Mixes all numbers in its arguments into one. */
function combine(place: number, fails: boolean, ...parts: unknown[]): number {
  if (fails) {
    throw new RangeError(`place ${place} fails`);
  }
  const mix = (sum: number, part: unknown): number => {
    if (typeof part === 'number') {
      return (sum * 31 + part + 7) % 1_000_003;
    }
    const inside =
      part instanceof Map
        ? [...part.values()]
        : Object.values(part as Record<string, unknown>);
    return inside.reduce(mix, sum + 1);
  };
  return parts.reduce(mix, place + 1);
}

async function combineLater(
  place: number,
  fails: boolean,
  ...parts: unknown[]
): Promise<number> {
  for (let turn = 0; turn < place % 4; turn++) {
    await new Promise<void>(resolve =>
      place % 3 === 0 ? setImmediate(resolve) : queueMicrotask(resolve)
    );
  }
  return combine(place, fails, ...parts);
}

/** What the run should come to: values by place, and where it can break. */
type Expected = {
  readonly values: readonly unknown[];
  readonly needed: ReadonlySet<number>;
  /** Needed places that fail although all that they need does not. */
  readonly breaks: ReadonlySet<number>;
};

function evaluate(run: DrawnRun): Expected {
  const values: unknown[] = [];
  const failing: boolean[] = [];
  const needed = new Set<number>();
  const visit = (place: number): void => {
    if (!needed.has(place)) {
      needed.add(place);
      needsOf(run, place).forEach(visit);
    }
  };
  run.request.flat().forEach(visit);
  const breaks = new Set<number>();
  run.nodes.forEach((node, place) => {
    const given = node.needs.map(need => values[need]);
    const inherited = needsOf(run, place).some(need => failing[need]);
    const own = node.fails && ['task', 'later', 'nested'].includes(node.kind);
    failing.push(inherited || own);
    if (own && !inherited && needed.has(place)) {
      breaks.add(place);
    }
    values.push(
      failing[place] === true ? undefined : expectedValue(node, place, given)
    );
  });
  return { values, needed, breaks };
}

function needsOf(run: DrawnRun, place: number): readonly number[] {
  const { kind, needs } = run.nodes[place]!;
  return kind === 'data' ? [] : kind === 'alias' ? needs.slice(0, 1) : needs;
}

function expectedValue(
  node: DrawnNode,
  place: number,
  given: readonly unknown[]
): unknown {
  switch (node.kind) {
    case 'data':
      return place % 2 === 0 ? place : [place];
    case 'alias':
      return given[0];
    case 'container':
      return [given[0], { rest: given.slice(1) }];
    case 'nested':
      return combine(place, false, {
        all: new Map([['refs', given]]),
        inner: combine(1, false, given[0])
      });
    case 'later':
    case 'task':
      return combine(place, false, ...given);
  }
}

/** Runs it and checks every law; throws jest's assertion errors. */
async function checkRun(
  run: DrawnRun,
  scheduler: SchedulerUnderTest
): Promise<void> {
  const expected = evaluate(run);
  const witness = new Witness(
    run,
    expected,
    scheduler.runsAhead === true && run.chunkSize === 0
      ? Infinity
      : scheduler.numWorkers,
    scheduler.culls === true ? expected.needed.size : run.nodes.length
  );
  const cache = new KeyMap<unknown>();
  const keys = run.request.map(part =>
    typeof part === 'number'
      ? ref(keyAt(run, part))
      : part.map(place => ref(keyAt(run, place)))
  );
  let answer: unknown;
  let failure: { error: unknown } | null = null;
  try {
    answer = await scheduler.get(graphOf(run), keys, {
      callbacks: [witness],
      chunkSize: run.chunkSize,
      cache: run.ownCache ? cache : undefined
    });
  } catch (error) {
    failure = { error };
  }
  witness.rethrow();
  expect(witness.finished).toEqual({ errored: failure !== null });
  if (expected.breaks.size > 0) {
    expect(failure?.error).toBeInstanceOf(Error);
    const { error } = failure as { error: Error };
    const place = Number(/^place (\d+) fails/.exec(error.message)?.[1]);
    expect(expected.breaks).toContain(place);
    expect(error).toBeInstanceOf(RangeError);
    expect(taskKeyOf(error)).toEqual(keyAt(run, place));
    return;
  }
  expect(failure).toBeNull();
  expect(answer).toEqual(
    run.request.map(part =>
      typeof part === 'number'
        ? expected.values[part]
        : part.map(place => expected.values[place])
    )
  );
  expect(witness.ran()).toEqual(witness.runnable());
  if (run.ownCache) {
    expect(new Set(Array.from(cache.keys(), keyId))).toEqual(
      new Set(run.request.flat().map(place => keyId(keyAt(run, place))))
    );
  }
}

/** A callback that checks the laws as a run goes. What it finds is kept, so that it cannot be taken for a task's failure. */
class Witness implements CallbackHooks {
  finished: { errored: boolean } | null = null;
  private _found: unknown;
  private _steps = 0;
  private readonly _before = new KeySet();
  private readonly _after = new KeySet();
  private readonly _requested: KeySet;

  constructor(
    private readonly _run: DrawnRun,
    private readonly _expected: Expected,
    private readonly _numWorkers: number,
    private readonly _graphSize: number
  ) {
    this._requested = new KeySet(
      _run.request.flat().map(place => keyAt(_run, place))
    );
  }

  start(graph: RunGraph): void {
    this._check(() => {
      must(this._steps++ === 0, 'start comes first');
      must(graph.size === this._graphSize, 'start sees the graph');
    });
  }

  startState(_graph: RunGraph, state: RunState): void {
    this._check(() => {
      must(this._steps++ === 1, 'startState comes second');
      must(
        state.dependencies.size === this._expected.needed.size,
        'the state lists what the request reaches'
      );
      this._checkPhases(state);
    });
  }

  pretask(key: Key, _graph: RunGraph, state: RunState): void {
    this._check(() => {
      must(this._steps === 2, 'pretask comes after startState');
      must(!this._before.has(key), 'pretask comes once');
      this._before.add(key);
      must(state.running.has(key), 'at pretask the key is running');
      must(!isAmong(key, state.ready), 'at pretask the key is not ready');
      for (const dependency of state.dependencies.get(key)!) {
        must(state.cache.has(dependency), 'at pretask the inputs are there');
      }
      const batch = this._run.chunkSize || DEFAULT_CHUNKS;
      must(
        this._run.chunkSize === -1 ||
          state.running.size <= this._numWorkers * batch,
        'no more run than there are places'
      );
    });
  }

  posttask(key: Key, result: unknown, _graph: RunGraph, state: RunState): void {
    this._check(() => {
      must(this._before.has(key), 'posttask comes after pretask');
      must(!this._after.has(key), 'posttask comes once');
      this._after.add(key);
      must(state.finished.has(key), 'at posttask the key is finished');
      must(!state.running.has(key), 'at posttask the key runs no more');
      must(state.cache.get(key) === result, 'the result is in the cache');
      this._checkPhases(state);
      this._checkReleased(state);
    });
  }

  finish(
    _graph: RunGraph,
    state: RunState | Record<string, never>,
    errored: boolean
  ): void {
    this._check(() => {
      must(this.finished === null, 'finish comes once');
      this.finished = { errored };
      if (!errored) {
        const { released, cache, dependencies } = state as RunState;
        for (const key of dependencies.keys()) {
          const asked = this._requested.has(key);
          must(cache.has(key) === asked, 'what was asked for is held');
          must(released.has(key) === !asked, 'all else is released');
        }
      }
    });
  }

  rethrow(): void {
    if (this._found !== undefined) {
      throw this._found;
    }
  }

  ran(): Set<string> {
    return new Set(Array.from(this._after, keyId));
  }

  runnable(): Set<string> {
    const places = [...this._expected.needed].filter(
      place => this._run.nodes[place]!.kind !== 'data'
    );
    return new Set(places.map(place => keyId(keyAt(this._run, place))));
  }

  /** Every task is in exactly one place. */
  private _checkPhases(state: RunState): void {
    const places = [
      ...state.waiting.keys(),
      ...state.ready,
      ...state.running,
      ...state.finished
    ];
    must(
      idsOf(places) === [...this.runnable()].sort().join(),
      'each task is in exactly one place'
    );
    for (const [key, missing] of state.waiting) {
      must(missing.size > 0, 'what waits lacks something');
      for (const dependency of missing) {
        must(
          state.dependencies.get(key)!.has(dependency) &&
            !state.finished.has(dependency),
          'what is missing is a dependency that is not finished'
        );
      }
    }
  }

  /** A value is released when, and only when, all its dependents are finished and nobody asked for it. */
  private _checkReleased(state: RunState): void {
    for (const [key, dependents] of state.dependents) {
      const open = Array.from(dependents).filter(
        user => !state.finished.has(user)
      );
      const gone =
        open.length === 0 && dependents.size > 0 && !this._requested.has(key);
      must(state.released.has(key) === gone, 'released as soon as unneeded');
      must(state.waitingData.has(key) === !gone, 'an entry until released');
      must(!gone || !state.cache.has(key), 'what is released is gone');
      must(
        gone || idsOf(state.waitingData.get(key)!) === idsOf(open),
        'waitingData lists the open dependents'
      );
    }
  }

  private _check(law: () => void): void {
    try {
      law();
    } catch (error) {
      this._found ??= error;
      throw error;
    }
  }
}

/** The largest default of any scheduler. */
const DEFAULT_CHUNKS = 6;

// jest's own assertions take a hundred times as long, and a run has hundreds.
function must(holds: boolean, law: string): void {
  if (!holds) {
    throw new Error(`Broken law: ${law}`);
  }
}

function idsOf(keys: Iterable<Key>): string {
  return Array.from(keys, keyId).sort().join();
}

function isAmong(key: Key, keys: readonly Key[]): boolean {
  return keys.some(other => keyId(other) === keyId(key));
}
