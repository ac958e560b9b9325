/**
 * What the diagnostics of local runs cost, and whether they keep what they promise.
 *
 *     python -m benchmarks local-profilers [-- --tasks 20000 --rounds 15 --seconds 5]
 *
 * Each round runs the same graph of tasks that do nothing bare, with profilers, and bare again; the cost is the median of what the profiled
 * run needs more than the mean of its neighbours, in CPU time, which repeats on a shared machine where wall time does not.
 */
import { execFileSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import {
  CacheProfiler,
  getSync,
  Profiler,
  ResourceProfiler,
  task,
  visualize
} from '../src/node';
import {
  extraPerTask,
  type ExtraCost,
  figuresOf,
  treeGraph
} from './extra-cost';
import { argument, type Figure, handOver } from './findings';

/** Microseconds a task, percent of the samples asked for, seconds and megabytes of the picture. */
const LIMITS = { cost: 1, share: 95, seconds: 2, megabytes: 5 };

const settings = {
  tasks: argument('--tasks', 20_000),
  rounds: argument('--rounds', 15),
  seconds: argument('--seconds', 5)
};
/** Seconds between samples: ten times as often as the default. */
const INTERVAL = 0.1;
/** Tasks of the picture that must be drawn in 2 s and 5 MB. */
const PICTURE_TASKS = 50_000;

/** Microseconds per task of Profiler and CacheProfiler together. */
function profilerCost(): ExtraCost {
  const { graph, top } = treeGraph(settings.tasks);
  const bare = () => void getSync(graph, top);
  const both = () => {
    const profiler = new Profiler();
    const cache = new CacheProfiler();
    profiler.run(() => cache.run(() => getSync(graph, top)));
  };
  return extraPerTask(bare, both, graph.size, settings.rounds);
}

/** Share of the samples asked for that were taken while this thread was busy all the time. */
function sampledShare(): { asked: number; taken: number } {
  const profiler = new ResourceProfiler({ interval: INTERVAL });
  const busy = () => {
    const end = performance.now() + 1000 * settings.seconds;
    while (performance.now() < end) {
      // Nothing else runs in this thread.
    }
  };
  profiler.run(() => getSync({ busy: task(busy) }, 'busy'));
  return {
    asked: Math.floor(settings.seconds / INTERVAL),
    taken: profiler.results.length
  };
}

/** Seconds and megabytes of a page with tasks, resources and cache. */
function picture(): { tasks: number; seconds: number; megabytes: number } {
  const { graph, top } = treeGraph(
    Math.min(PICTURE_TASKS, settings.tasks * 10) / 2
  );
  const profiler = new Profiler();
  const resources = new ResourceProfiler({ interval: 0.02 });
  const cache = new CacheProfiler();
  profiler.run(() => resources.run(() => cache.run(() => getSync(graph, top))));
  const begin = performance.now();
  const html = visualize([profiler, resources, cache]).toHtml();
  return {
    tasks: profiler.results.length,
    seconds: (performance.now() - begin) / 1000,
    megabytes: Buffer.byteLength(html) / 1e6
  };
}

// The sampler and the page's script, from the same sources.
const checkout = fileURLToPath(new URL('..', import.meta.url));
execFileSync(
  process.execPath,
  [
    'scripts/bundle-node-programs.mjs',
    '.build/node-programs',
    'sampler.mjs',
    'visualize-page.js'
  ],
  { cwd: checkout }
);

const cost = profilerCost();
const samples = sampledShare();
const page = picture();
const share = (100 * samples.taken) / samples.asked;
console.log(`a bare task of getSync                  ${cost.bare.toFixed(2)} us
Profiler + CacheProfiler, more per task ${cost.extra.toFixed(2)} us
ResourceProfiler, thread busy           ${samples.taken} of ${samples.asked} samples (${share.toFixed(0)} %)
visualize, ${page.tasks} tasks             ${page.seconds.toFixed(2)} s, ${page.megabytes.toFixed(2)} MB`);

const figures: Figure[] = [
  ...figuresOf('Profiler + CacheProfiler', cost, LIMITS.cost),
  {
    row: 'ResourceProfiler, thread busy',
    column: 'samples of those asked for',
    unit: '%',
    better: 'higher',
    samples: [share],
    limit: LIMITS.share
  },
  {
    row: `visualize, ${page.tasks} tasks`,
    column: 'time',
    unit: 's',
    better: 'lower',
    samples: [page.seconds],
    limit: LIMITS.seconds
  },
  {
    row: `visualize, ${page.tasks} tasks`,
    column: 'size',
    unit: 'MB',
    better: 'lower',
    samples: [page.megabytes],
    limit: LIMITS.megabytes
  }
];
handOver(settings, figures);
