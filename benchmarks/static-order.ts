/**
 * What the static order costs: µs of CPU per task, once compiled, of graphs of about `--tasks` tasks (100,000). `static_order.py` bundles and
 * runs it.
 *
 * Prints one line of JSON: `[{ graph, tasks, edges, microseconds: [seven rounds] }]`.
 */
import { SeededRandom } from '../src/base/seeded-random';
import { staticOrder } from '../src/order/static-order';
import { argument } from './findings';
import { threadCpuSeconds } from './thread-seconds';

/** Of each task the tasks that it needs. */
type Needs = number[][];

const TASKS = argument('--tasks', 100_000);
const random = new SeededRandom(1);

/** Each task needs up to `most` of the `window` tasks before it; a share of them needs none. */
function drawn(most: number, window: number, roots: number): Needs {
  return Array.from({ length: TASKS }, (_, place) =>
    place === 0 || random.next() < roots
      ? []
      : Array.from(
          { length: 1 + Math.floor(random.next() * most) },
          () => place - 1 - Math.floor(random.next() * Math.min(place, window))
        )
  );
}

function treeWithSharedLeaf(): Needs {
  const needs: Needs = [];
  const build = (height: number): number =>
    needs.push(height === 0 ? [] : [build(height - 1), build(height - 1)]) - 1;
  build(Math.floor(Math.log2(TASKS)) - 1);
  needs[4]!.push(0);
  return needs;
}

function merge(): Needs {
  const needs: Needs = Array.from({ length: TASKS }, () => []);
  needs.push(needs.map((_, place) => place));
  return needs;
}

function chain(): Needs {
  return Array.from({ length: TASKS }, (_, place) =>
    place === 0 ? [] : [place - 1]
  );
}

/** All loads first, then the fits. */
function foldOverLoads(): Needs {
  const steps = TASKS / 2;
  return Array.from({ length: TASKS }, (_, id) =>
    id < steps ? [] : id === steps ? [0] : [id - 1, id - steps]
  );
}

/** Blocks and their transposed ones, added up in fours. */
function transposedSum(): Needs {
  const side = Math.floor(Math.sqrt(0.4 * TASKS));
  const needs: Needs = Array.from({ length: side * side }, () => []);
  let level: number[] = [];
  for (let row = 0; row < side; row++) {
    for (let column = 0; column < side; column++) {
      level.push(needs.push([row * side + column, column * side + row]) - 1);
    }
  }
  while (level.length > 1) {
    const above: number[] = [];
    for (let at = 0; at < level.length; at += 4) {
      above.push(needs.push(level.slice(at, at + 4)) - 1);
    }
    level = above;
  }
  return needs;
}

/** Three steps in which each block needs its eight neighbours: almost seven edges a task. */
function overlap(): Needs {
  const side = Math.floor(Math.sqrt(TASKS / 4));
  const needs: Needs = Array.from({ length: side * side }, () => []);
  const near = [-1, 0, 1];
  for (let step = 1; step < 4; step++) {
    const before = (step - 1) * side * side;
    for (let row = 0; row < side; row++) {
      for (let column = 0; column < side; column++) {
        needs.push(
          near
            .flatMap(down => near.map(right => [row + down, column + right]))
            .filter(place => place.every(at => at >= 0 && at < side))
            .map(([r, c]) => before + r! * side + c!)
        );
      }
    }
  }
  return needs;
}

const graphs: Record<string, () => Needs> = {
  'random, near': () => drawn(2, 60, 0.25),
  'random, far': () => drawn(2, 1000, 0.5),
  'random, dense': () => drawn(5, 300, 0.3),
  'tree with a shared leaf': treeWithSharedLeaf,
  'fold over loads': foldOverLoads,
  'transposed sum': transposedSum,
  overlap,
  merge,
  chain
};

function measured(needs: Needs): { edges: number; microseconds: number[] } {
  const start = new Int32Array(needs.length + 1);
  const all: number[] = [];
  needs.forEach((own, id) => {
    new Set(own).forEach(need => all.push(need));
    start[id + 1] = all.length;
  });
  const graph = {
    dependencies: { start, ids: Int32Array.from(all) },
    data: null,
    nodeCount: needs.length
  };
  const times: number[] = [];
  for (let round = 0; round < 9; round++) {
    const before = threadCpuSeconds();
    staticOrder(graph);
    times.push((1e6 * (threadCpuSeconds() - before)) / needs.length);
  }
  // The first two rounds compile.
  return { edges: all.length, microseconds: times.slice(2) };
}

const found = Object.entries(graphs).map(([graph, make]) => {
  const needs = make();
  return { graph, tasks: needs.length, ...measured(needs) };
});
process.stdout.write(`${JSON.stringify(found)}\n`);
