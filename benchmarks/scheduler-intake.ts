/**
 * One measurement of `intake.py` in a process of its own, as a line of JSON.
 *
 *     intake      seconds of CPU to enter a graph, without workers
 *     throughput  tasks per second of CPU, from submission to release, with workers that finish at once
 *     memory      bytes that a task takes in the scheduler, when its graph is there
 */
import { argument, textArgument } from './findings';
import { type Graph, ZeroWorkers } from './zero-workers';

const WIDTH = 1000;
const WORKERS = 2;

/** Rows of neighbours, and a task that needs the last row. */
function stencil(tasks: number): Graph {
  const width = Math.min(WIDTH, tasks);
  const inputs: number[][] = [];
  for (let i = 0; i < tasks - 1; i++) {
    const row = Math.floor(i / width) - 1;
    const column = i % width;
    inputs.push(
      row < 0
        ? []
        : [-1, 0, 1].map(by => row * width + ((column + by + width) % width))
    );
  }
  inputs.push(
    Array.from({ length: Math.min(width, tasks - 1) }, (_, k) => tasks - 2 - k)
  );
  return inputs;
}

/** One task that needs all others: an edge a task. */
function merge(tasks: number): Graph {
  const inputs: number[][] = Array.from({ length: tasks - 1 }, () => []);
  inputs.push(inputs.map((_, i) => i));
  return inputs;
}

function usedBytes(): number {
  globalThis.gc!();
  globalThis.gc!();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function measure(what: string, graph: Graph): number {
  switch (what) {
    case 'intake':
      return new ZeroWorkers(0).submit(graph);
    case 'throughput':
      return graph.length / new ZeroWorkers(WORKERS).run(graph);
    case 'memory': {
      const before = usedBytes();
      const cluster = new ZeroWorkers(0);
      cluster.submit(graph);
      const used = usedBytes() - before;
      // The cluster lives until here.
      return (used * Number(cluster.isLoaded)) / graph.length;
    }
    default:
      throw new Error(`There is no measurement "${what}".`);
  }
}

const graphOf = textArgument('--graph') === 'merge' ? merge : stencil;
// The compiler has seen all of it before, as in a cluster that has run for a while.
measure(textArgument('--what')!, graphOf(argument('--warm-up', 20_000)));
const value = measure(
  textArgument('--what')!,
  graphOf(argument('--tasks', 300_000))
);
console.log(JSON.stringify({ value }));
