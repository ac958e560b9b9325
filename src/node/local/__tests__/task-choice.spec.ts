/** Which task runs when, against a loop written down here as the specification words it. */
import fc from 'fast-check';
import {
  type DrawnRun,
  drawnRuns,
  graphOf,
  keyAt
} from '../../__tests__/drawn-graphs';
import { type Key, KeyMap, keyId, KeySet, keyText } from '../../graph/key';
import { ref, task } from '../../graph/nodes';
import { order } from '../../graph/order';
import type { CallbackHooks } from '../callback';
import { getSync } from '../get-sync';
import type { RunState } from '../state';

/** `posttask b, ready: d c, released: a` */
function line(
  hook: string,
  key: Key,
  ready: readonly Key[],
  released: Iterable<Key>
): string {
  const dropped = Array.from(released, keyText).sort().join(' ');
  return `${hook} ${keyText(key)}, ready: ${ready.map(keyText).join(' ')}, released: ${dropped}`;
}

/** What a run with one worker should do, step by step; no task fails. */
function expectedLines(run: DrawnRun, numbers: KeyMap<number>): string[] {
  const requested = new KeySet(run.request.flat().map(at => keyAt(run, at)));
  const dependencies = new KeyMap<KeySet>();
  const isData = new KeySet();
  const reach = (place: number): void => {
    const { kind, needs } = run.nodes[place]!;
    const key = keyAt(run, place);
    if (dependencies.has(key)) {
      return;
    }
    const used =
      kind === 'data' ? [] : kind === 'alias' ? needs.slice(0, 1) : needs;
    dependencies.set(key, new KeySet(used.map(at => keyAt(run, at))));
    if (kind === 'data') {
      isData.add(key);
    }
    used.forEach(reach);
  };
  run.request.flat().forEach(reach);
  const descending = (keys: Iterable<Key>) =>
    [...keys].sort((a, b) => numbers.get(b)! - numbers.get(a)!);
  const dependentsOf = (key: Key) =>
    [...dependencies].filter(([, needs]) => needs.has(key)).map(([k]) => k);

  const finished = new KeySet(isData);
  const released = new KeySet();
  const isFree = (key: Key) =>
    [...dependencies.get(key)!].every(need => finished.has(need));
  const ready = descending(
    [...dependencies.keys()].filter(key => !isData.has(key) && isFree(key))
  );
  const lines: string[] = [];
  const finish = (key: Key) => {
    finished.add(key);
    for (const user of descending(dependentsOf(key))) {
      if (isFree(user)) {
        ready.push(user);
      }
    }
    for (const need of dependencies.get(key)!) {
      const isOpen = dependentsOf(need).some(user => !finished.has(user));
      if (!isOpen && !requested.has(need)) {
        released.add(need);
      }
    }
    lines.push(line('posttask', key, ready, released));
  };
  while (ready.length > 0) {
    const count =
      run.chunkSize === -1
        ? ready.length
        : Math.min(ready.length, run.chunkSize || 1);
    const batch: Key[] = [];
    for (let taken = 0; taken < count; taken++) {
      batch.push(ready.pop()!);
      lines.push(line('pretask', batch.at(-1)!, ready, released));
    }
    batch.forEach(finish);
  }
  return lines;
}

describe('§1.3, §1.4, §1.5: which task runs when', () => {
  it('§1.3, §1.4, §1.5: as the specification words it, on drawn graphs', () => {
    fc.assert(
      fc.property(drawnRuns(false), drawn => {
        const run: DrawnRun = {
          ...drawn,
          nodes: drawn.nodes.map(node => ({ ...node, fails: false }))
        };
        const graph = graphOf(run);
        const lines: string[] = [];
        const witness: CallbackHooks = {
          pretask: (key, _graph, { ready, released }) =>
            void lines.push(line('pretask', key, ready, released)),
          posttask: (key, _result, _graph, { ready, released }) =>
            void lines.push(line('posttask', key, ready, released))
        };
        const keys = run.request.map(part =>
          typeof part === 'number'
            ? ref(keyAt(run, part))
            : part.map(at => ref(keyAt(run, at)))
        );
        getSync(graph, keys, {
          callbacks: [witness],
          chunkSize: run.chunkSize
        });
        expect(lines).toEqual(expectedLines(run, order(graph)));
      }),
      { numRuns: 500 }
    );
  });

  it('§1.2, §1.4: what is ready at first is a stack with the lowest number on top', () => {
    const graph = {
      a: task(() => 1),
      b: task(() => 2),
      c: task((x: number) => x, ref('a')),
      d: task((x: number, y: number) => x + y, ref('b'), ref('c')),
      e: task(() => 3)
    };
    const numbers = order(graph);
    let ready: readonly Key[] = [];
    const ran: Key[] = [];
    getSync(graph, ['d', 'e'], {
      callbacks: [
        {
          startState: (_, state) => {
            ready = [...state.ready];
          },
          pretask: key => void ran.push(key)
        }
      ]
    });
    expect(new Set(ready)).toEqual(new Set(['a', 'b', 'e']));
    const places = ready.map(key => numbers.get(key)!);
    expect(places).toEqual([...places].sort((a, b) => b - a));
    expect(ran[0]).toBe(ready.at(-1));
  });

  it('§1.4: the order of running is the static order where nothing else is free, and differs where a stack does', () => {
    let same = 0;
    let other = 0;
    fc.assert(
      fc.property(drawnRuns(false), drawn => {
        const run: DrawnRun = {
          ...drawn,
          nodes: drawn.nodes.map(node => ({ ...node, fails: false })),
          chunkSize: 1
        };
        const graph = graphOf(run);
        const numbers = order(graph);
        const ran: number[] = [];
        getSync(graph, Array.from(graph.keys(), ref), {
          callbacks: [{ pretask: key => void ran.push(numbers.get(key)!) }]
        });
        const sorted = [...ran].sort((a, b) => a - b);
        if (ran.join() === sorted.join()) {
          same++;
        } else {
          other++;
        }
      }),
      { numRuns: 300 }
    );
    expect(same).toBeGreaterThan(0);
    expect(other).toBeGreaterThan(0);
  });
});

describe('§1.2: what changes in a state and what does not', () => {
  const graph = {
    x: 1,
    y: task((a: number) => a + 1, ref('x')),
    z: task((a: number, b: number) => a + b, ref('x'), ref('y')),
    aside: task(() => 0)
  };

  it('§1.2: one object for a whole run; dependencies and dependents stay, all else moves on', () => {
    const states = new Set<unknown>();
    const edges = new Set<string>();
    const phases: string[] = [];
    const look = (state: RunState) => {
      states.add(state);
      edges.add(
        JSON.stringify(
          [state.dependencies, state.dependents].map(map =>
            Array.from(map, ([key, set]) => [key, [...set]])
          )
        )
      );
      phases.push(
        [
          [...state.waiting.keys()],
          state.ready,
          [...state.running],
          [...state.finished],
          [...state.released]
        ]
          .map(keys => keys.join(' '))
          .join(' | ')
      );
    };
    getSync(graph, 'z', {
      callbacks: [
        {
          startState: (_, state) => look(state),
          pretask: (_key, _graph, state) => look(state),
          posttask: (...args) => look(args[3]),
          finish: (_, state) => look(state as RunState)
        }
      ]
    });
    expect(states.size).toBe(1);
    expect(edges.size).toBe(1);
    // waiting | ready | running | finished | released
    expect(phases).toEqual([
      'z | y |  |  | ',
      'z |  | y |  | ',
      ' | z |  | y | ',
      ' |  | z | y | ',
      ' |  |  | y z | x y',
      ' |  |  | y z | x y'
    ]);
  });

  it('§1.2: data is in the cache from the beginning; what nobody asked for is not listed', () => {
    getSync(graph, 'z', {
      callbacks: [
        {
          startState: (_, state) => {
            expect(state.cache.get('x')).toBe(1);
            expect(state.cache.has('y')).toBe(false);
            expect(state.dependencies.has('aside')).toBe(false);
            expect(state.ready.map(keyId)).toEqual(['y'].map(keyId));
          }
        }
      ]
    });
    expect.assertions(4);
  });
});
