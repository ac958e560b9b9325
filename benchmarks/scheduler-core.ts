/**
 * What the pure scheduler costs per task, from submission to release: no sockets, no Python, workers that finish at once.
 *
 *     python -m benchmarks scheduler [-- --rounds 15]
 *
 * Prints the median and the fastest of the rounds in microseconds of CPU per task; the first round, before the compiler has warmed up, apart.
 */
import { argument, type Figure, handOver, sorted } from './findings';
import { type Graph, ZeroWorkers } from './zero-workers';

const WORKERS = 2;
/** A round has so many tasks at least. */
const LEAST_TASKS = 25_000;

function merge(leaves: number): Graph {
  const inputs: number[][] = Array.from({ length: leaves }, () => []);
  inputs.push(inputs.map((_, i) => i));
  return inputs;
}

/** A binary reduction in depth-first order, as dask.order gives it. */
function tree(height: number): Graph {
  const inputs: number[][] = [];
  const build = (level: number): number => {
    const own = level === 0 ? [] : [build(level - 1), build(level - 1)];
    return inputs.push(own) - 1;
  };
  build(height);
  return inputs;
}

function chain(length: number): Graph {
  return Array.from({ length }, (_, i) => (i === 0 ? [] : [i - 1]));
}

/** Microseconds a task. */
const LIMITS: Readonly<Record<string, number>> = { 'merge-25K': 2 };

const rounds = argument('--rounds', 15);
const figures: Figure[] = [];
for (const [name, graph] of Object.entries({
  'merge-25K': merge(25_000),
  'tree-15': tree(14),
  'chain-1000': chain(1000)
})) {
  const bench = new ZeroWorkers(WORKERS);
  // The clock of a thread is too coarse for a graph of a millisecond.
  const graphs = Math.ceil(LEAST_TASKS / graph.length);
  const perTask = Array.from({ length: rounds }, () => {
    let seconds = 0;
    for (let at = 0; at < graphs; at++) {
      seconds += bench.run(graph);
    }
    return (seconds * 1e6) / graphs / graph.length;
  });
  const first = perTask.shift()!;
  const fromLeast = sorted(perTask);
  const median = fromLeast[fromLeast.length >> 1]!;
  figures.push({
    row: `${name} (${graph.length.toLocaleString('en')} tasks)`,
    column: 'CPU of a task',
    unit: 'us',
    better: 'lower',
    samples: perTask,
    limit: LIMITS[name],
    tracked: true
  });
  console.log(
    `${name.padEnd(12)} median ${median.toFixed(2)} us/task   fastest ${fromLeast[0]!.toFixed(2)}   first round ${first.toFixed(2)}`
  );
}
handOver({ rounds, workers: WORKERS, uncountedRounds: 1 }, figures);
