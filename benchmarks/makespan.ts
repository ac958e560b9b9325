/**
 * Makespans of our scheduler and of `distributed`'s on the same simulated cluster, and what no schedule can beat.
 *
 *     python -m benchmarks makespan [-- --only rechunk --workers 4]
 *     python -m benchmarks makespan -- --tasks 400
 *     python -m benchmarks makespan -- --recorded rows.json
 *
 * `makespan.py` starts this program and answers for `distributed`: its `Scheduler` and `WorkStealing` decide, this file's workers
 * (`src/simulate`) run. What is compared is policy alone: decisions cost no time.
 */
import { readFileSync, readSync, writeSync } from 'node:fs';
import {
  boundsOf,
  DEFAULT_CLUSTER,
  type ISimulatedScheduler,
  type Order,
  type Outcome,
  randomGraph,
  recordedGraph,
  type RecordedRows,
  type Report,
  simulate,
  type SimulatedCluster,
  type SimulatedGraph,
  SpanwiseCore,
  workloads
} from '../src/simulate';
import { argument, type Figure, handOver, textArgument } from './findings';

/** Ours may take so many times as long as the better of theirs. */
const LIMIT = 1.05;
/** Settings `distributed.scheduler.worker-saturation`: the default, and off. */
const SATURATIONS = ['1.1', 'inf'];
/** Workers and the threads of each. */
const CLUSTERS: readonly (readonly [number, number])[] = [
  [4, 2],
  [8, 1],
  [16, 4]
];

/** Lines to and from `makespan.py`. */
class Peer {
  private readonly _in = argument('--from-peer', -1);
  private readonly _out = argument('--to-peer', -1);
  private readonly _buffer = Buffer.alloc(1 << 20);
  private _rest = Buffer.alloc(0);

  ask(question: unknown): Order[] {
    const bytes = Buffer.from(`${JSON.stringify(question)}\n`);
    for (let at = 0; at < bytes.length;) {
      at += writeSync(this._out, bytes, at);
    }
    const parts = [this._rest];
    while (!parts.at(-1)!.includes(10)) {
      const length = readSync(this._in, this._buffer);
      if (length === 0) {
        throw new Error('makespan.py has ended.');
      }
      parts.push(Buffer.from(this._buffer.subarray(0, length)));
    }
    const all = Buffer.concat(parts);
    const end = all.indexOf(10);
    this._rest = all.subarray(end + 1);
    return JSON.parse(all.toString('utf8', 0, end)) as Order[];
  }
}

/** The scheduler of `distributed`, in the process of `makespan.py`. */
class DistributedCore implements ISimulatedScheduler {
  /** `distributed.scheduler.work-stealing-interval`. */
  readonly interval = 0.1;

  constructor(
    private readonly _peer: Peer,
    private readonly _saturation: string
  ) {}

  begin(graph: SimulatedGraph, cluster: SimulatedCluster): Order[] {
    return this._peer.ask({
      type: 'begin',
      saturation: this._saturation,
      workers: cluster.workers,
      threads: cluster.threads,
      functions: graph.functions,
      functionIds: [...graph.functionIds],
      seconds: [...graph.seconds],
      nbytes: [...graph.nbytes],
      firstInput: [...graph.firstInput],
      inputs: [...graph.inputs],
      wanted: [...graph.wanted]
    });
  }

  hear(at: number, reports: readonly Report[]): Order[] {
    return this._peer.ask({ type: 'hear', at, reports });
  }
}

const MB = 1e6;
const only = textArgument('--only');
/** A file of {@link RecordedRows}: that graph instead of the drawn ones. */
const recorded = textArgument('--recorded');
/** One random graph of so many tasks instead of the drawn ones. */
const tasks = argument('--tasks', 0);
const onlyWorkers = argument('--workers', 0);
const peer = new Peer();
const figures: Figure[] = [];
const rows: unknown[] = [];

const told = (outcome: Outcome): string =>
  `${outcome.makespan.toFixed(3)} s ${(outcome.bytesMoved / MB).toFixed(0).padStart(6)} MB`.padStart(
    19
  );

console.log(
  `${'workload'.padEnd(24)}${'workers'.padEnd(9)}${'ours'.padStart(19)}${SATURATIONS.map(s => `saturation ${s}`.padStart(19)).join('')}${'path'.padStart(9)}${'area'.padStart(9)}   ours/theirs`
);
function chosenGraphs(): SimulatedGraph[] {
  if (recorded !== undefined) {
    const rows = JSON.parse(readFileSync(recorded, 'utf8')) as RecordedRows;
    return [recordedGraph(recorded, rows)];
  }
  return tasks === 0 ? workloads() : [randomGraph(tasks)];
}

for (const graph of chosenGraphs()) {
  if (only !== undefined && !graph.name.startsWith(only)) {
    continue;
  }
  for (const [workers, threads] of CLUSTERS) {
    if (onlyWorkers !== 0 && workers !== onlyWorkers) {
      continue;
    }
    const cluster = { ...DEFAULT_CLUSTER, workers, threads };
    const ours = simulate(graph, cluster, new SpanwiseCore());
    const theirs = SATURATIONS.map(saturation =>
      simulate(graph, cluster, new DistributedCore(peer, saturation))
    );
    const best = Math.min(...theirs.map(({ makespan }) => makespan));
    const bounds = boundsOf(graph, workers * threads);
    const row = `${graph.name}, ${workers} × ${threads}`;
    figures.push({
      row,
      column: 'ours over the better of theirs',
      unit: '',
      better: 'lower',
      samples: [ours.makespan / best],
      limit: LIMIT
    });
    rows.push({ workload: graph.name, workers, threads, ours, theirs, bounds });
    console.log(
      graph.name.padEnd(24) +
        `${workers} × ${threads}`.padEnd(9) +
        [ours, ...theirs].map(told).join('') +
        `${bounds.criticalPath.toFixed(3)}`.padStart(9) +
        `${bounds.area.toFixed(3)}`.padStart(9) +
        `   ${(ours.makespan / best).toFixed(3)}`
    );
  }
}
handOver(
  {
    ...DEFAULT_CLUSTER,
    clusters: CLUSTERS,
    saturations: SATURATIONS,
    // makespan.py has seen to it: theirs decides otherwise with another one.
    hashSeed: process.env['PYTHONHASHSEED'] ?? 'random'
  },
  figures,
  { rows }
);
