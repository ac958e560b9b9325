/**
 * A million synthetic runs through the observer: how fast they come in, how soon a tile is there, and what memory it takes.
 *
 *     python -m benchmarks observer [-- --runs 1000000]
 */
import { performance } from 'node:perf_hooks';
import { compileFilter } from '../src/observer/filter';
import { asOfNow, complete } from '../src/observer/folds/context';
import { foldView } from '../src/observer/folds/fold-view';
import { ingestBlock } from '../src/observer/store/ingest';
import type { BlockRows } from '../src/observer/store/column-table';
import { LogStore } from '../src/observer/store/log-store';
import { Pyramid } from '../src/observer/tiles/pyramid';
import { makeTile } from '../src/observer/tiles/tile';
import { warmUp } from '../src/observer/warm-up';
import { argument, figuresNamed, handOver } from './findings';
import { clusterLog } from './million-runs';

/** Milliseconds and megabytes. */
const LIMITS: Readonly<Record<string, number>> = {
  'first tile, whole run, ms': 250,
  'filtered tile, whole run, ms': 100,
  'process, MB': 400
};

const runs = argument('--runs', 1_000_000);
const figures: Record<string, number> = {};

function megabytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return process.memoryUsage().rss / 1e6;
}

function milliseconds<R>(name: string, body: () => R): R {
  const start = performance.now();
  const cpu = process.cpuUsage();
  const result = body();
  figures[name] = performance.now() - start;
  // On shared cores wall time measures the neighbours too.
  const spent = process.cpuUsage(cpu);
  figures[`${name} of CPU`] = (spent.user + spent.system) / 1000;
  return result;
}

// As the program does when it starts.
milliseconds('warm-up at start, ms', () => complete(warmUp()));

const log = new LogStore('synthetic');
let ingestMilliseconds = 0;
let ingestMicroseconds = 0;
// Blocks are made a few at a time, so that the memory measured is the observer's and not the generator's.
let batch: BlockRows[] = [];
function flush(): void {
  const start = performance.now();
  const cpu = process.cpuUsage();
  for (const block of batch) {
    ingestBlock(log, block);
  }
  ingestMilliseconds += performance.now() - start;
  const spent = process.cpuUsage(cpu);
  ingestMicroseconds += spent.user + spent.system;
  batch = [];
}
for (const block of clusterLog(runs)) {
  batch.push(block);
  if (batch.length >= 50) {
    flush();
  }
}
flush();
figures['ingest, runs per second'] = (runs / ingestMilliseconds) * 1000;
figures['ingest of a run, us of CPU'] = ingestMicroseconds / runs;

const open = compileFilter({}, log);
const pyramid = new Pyramid(log, open);
const seconds = log.lastStop;
const whole = Math.ceil(Math.log2((seconds * 1e6) / 512));
milliseconds('first tile, whole run, ms', () =>
  complete(makeTile(log, pyramid, whole, 0, Infinity))
);
const filtered = new Pyramid(
  log,
  compileFilter({ spans: { any: [{ tag: 'span 2' }] } }, log)
);
milliseconds('filtered tile, whole run, ms', () =>
  complete(makeTile(log, filtered, whole, 0, Infinity))
);
const panned: number[] = [];
for (let level = whole - 1; level >= 4; level--) {
  const tiles = Math.ceil((seconds * 1e6) / (512 * 2 ** level));
  for (let i = 0; i < 8; i++) {
    const index = Math.floor((tiles * i) / 8);
    const start = performance.now();
    complete(makeTile(log, pyramid, level, index, Infinity));
    panned.push(performance.now() - start);
  }
}
panned.sort((a, b) => a - b);
figures['tile while panning and zooming, median ms'] =
  panned[panned.length >> 1]!;
figures['tile while panning and zooming, worst ms'] =
  panned[panned.length - 1]!;
const context = asOfNow({
  log,
  filter: open,
  time: 'all',
  now: log.now,
  ended: false
});
for (const view of ['task-stream', 'fine-metrics', 'spans', 'tasks'] as const) {
  milliseconds(`view ${view}, ms`, () => complete(foldView(view, context, {})));
}
figures['tables, MB'] = log.nbytes / 1e6;
figures['pages, MB'] = (pyramid.nbytes + filtered.nbytes) / 1e6;
figures['process, MB'] = megabytes();

for (const [name, value] of Object.entries(figures)) {
  const text =
    value >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
  console.log(`${name.padEnd(48)} ${text.padStart(12)}`);
}
handOver({ runs }, figuresNamed(figures, LIMITS));
