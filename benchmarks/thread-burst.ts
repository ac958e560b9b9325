/**
 * A burst of small portable calls on two worker threads: `getThreads` against piscina at its best setting.
 *
 *     python -m benchmarks thread-burst [-- --calls 25000 --rounds 11]
 *
 * Both have warm workers and compiled code, both give every result, which is checked; ours builds its graph in the time measured. piscina's
 * settings are tried first and the fastest is used. Then both run in turn. The goal is 8x.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { FixedQueue, Piscina } from 'piscina';
import { task } from '../src/node/graph/nodes';
import { getThreads } from '../src/node/pools/get-threads';
import { ThreadPool } from '../src/node/pools/worker-pool';
import { argument, handOver, median } from './findings';

const THREADS = 2;
/** How many times as fast as piscina. */
const LIMIT = 3;
/** Of piscina's settings, those that are tried again, with both of its queues, after one try of each. */
const FINALISTS = 2;
const TRIALS = 3;

const calls = argument('--calls', 25_000);
const rounds = argument('--rounds', 11);

type Cost = { readonly wallMs: number; readonly cpuMs: number };

/** CPU of all threads of this process: on a busy machine it repeats where wall time does not. */
async function measured(body: () => Promise<number[]>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const values = await body();
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  for (let at = 0; at < calls; at++) {
    if (values[at] !== at + 1) {
      throw new Error(`Wrong result of call ${at}: ${values[at]}`);
    }
  }
  return { wallMs, cpuMs: (user + system) / 1000 };
}

// This file runs from .build, in which the pool looks for the programs of its workers.
execFileSync(
  process.execPath,
  [
    'scripts/bundle-node-programs.mjs',
    '.build/node-programs',
    'pool-thread.mjs'
  ],
  { cwd: resolve(import.meta.dirname, '..') }
);

const folder = mkdtempSync(join(tmpdir(), 'thread-burst-'));
const workerFile = join(folder, 'inc.mjs');
writeFileSync(workerFile, 'export default x => x + 1;');

type Settings = NonNullable<ConstructorParameters<typeof Piscina>[0]>;
const allSettings: readonly Settings[] = (
  ['sync', 'async', 'disabled'] as const
).flatMap(atomics =>
  [1, 10, 100, 1000].map(concurrentTasksPerWorker => ({
    atomics,
    concurrentTasksPerWorker
  }))
);

// Fewer only to see that everything runs.
const settings = allSettings.slice(0, argument('--settings', 100));

function nameOf(one: Settings): string {
  const queue = one.taskQueue === undefined ? 'array' : 'fixed';
  return `atomics ${one.atomics}, ${one.concurrentTasksPerWorker} per worker, ${queue} queue`;
}

function piscinaPool(one: Settings): Piscina {
  return new Piscina({
    filename: workerFile,
    minThreads: THREADS,
    maxThreads: THREADS,
    ...one
  });
}

function piscinaBurst(pool: Piscina): Promise<number[]> {
  const results: Promise<number>[] = [];
  for (let at = 0; at < calls; at++) {
    results.push(pool.run(at) as Promise<number>);
  }
  return Promise.all(results);
}

const inc = (x: number) => x + 1;

function ourBurst(pool: ThreadPool): Promise<number[]> {
  const graph = new Map<string, unknown>();
  const keys: string[] = [];
  for (let at = 0; at < calls; at++) {
    const key = `inc-${at}`;
    keys.push(key);
    graph.set(key, task(inc, at));
  }
  return getThreads<number[]>(graph, keys, { pool });
}

async function timeOf(one: Settings, trials: number): Promise<number> {
  const pool = piscinaPool(one);
  const times: number[] = [];
  // One round more, for starting the threads and compiling.
  for (let trial = 0; trial <= trials; trial++) {
    times.push((await measured(() => piscinaBurst(pool))).wallMs);
  }
  await pool.destroy();
  return median(times.slice(1));
}

async function fastest(
  candidates: readonly Settings[],
  trials: number,
  count: number
): Promise<readonly Settings[]> {
  const times: { readonly one: Settings; readonly ms: number }[] = [];
  for (const one of candidates) {
    times.push({ one, ms: await timeOf(one, trials) });
  }
  times.sort((a, b) => a.ms - b.ms);
  return times.slice(0, count).map(({ one }) => one);
}

const finalists = (await fastest(settings, 1, FINALISTS)).flatMap(one => [
  one,
  { ...one, taskQueue: new FixedQueue() }
]);
const best = (await fastest(finalists, TRIALS, 1))[0]!;
console.log(`piscina's best of ${settings.length} settings: ${nameOf(best)}`);
const theirs = piscinaPool(best);
const ours = new ThreadPool({ size: THREADS });
const costs: { readonly ours: Cost; readonly theirs: Cost }[] = [];
// One round of each that is not counted: threads start, code is compiled.
await ourBurst(ours);
await piscinaBurst(theirs);
for (let round = 0; round < rounds; round++) {
  costs.push({
    ours: await measured(() => ourBurst(ours)),
    theirs: await measured(() => piscinaBurst(theirs))
  });
}
await ours.close();
await theirs.destroy();
rmSync(folder, { recursive: true });

const piscinaSetting = nameOf(best);
const common = {
  row: `${calls.toLocaleString('en')} calls`,
  better: 'lower'
} as const;
const sides = (clock: keyof Cost) => ({
  spanwise: costs.map(cost => cost.ours[clock]),
  piscina: costs.map(cost => cost.theirs[clock])
});
const wall = sides('wallMs');
const cpu = sides('cpuMs');
for (const [name, values] of Object.entries({
  'spanwise, wall ms': wall.spanwise,
  'piscina, wall ms': wall.piscina,
  'spanwise, CPU ms': cpu.spanwise,
  'piscina, CPU ms': cpu.piscina
})) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  console.log(
    `${name.padEnd(20)} ${median(values).toFixed(1).padStart(8)}   (${least.toFixed(1)} … ${most.toFixed(1)})`
  );
}
handOver(
  { calls, threads: THREADS, rounds, uncountedRounds: 1 },
  [
    {
      ...common,
      column: 'getThreads',
      unit: 'ms',
      samples: wall.spanwise,
      tracked: true
    },
    { ...common, column: 'piscina', unit: 'ms', samples: wall.piscina },
    {
      ...common,
      column: 'times as fast',
      unit: 'x',
      better: 'higher',
      samples: wall.piscina,
      over: wall.spanwise,
      limit: LIMIT,
      tracked: true
    },
    {
      ...common,
      column: 'times as fast by CPU',
      unit: 'x',
      better: 'higher',
      samples: cpu.piscina,
      over: cpu.spanwise
    }
  ],
  { piscinaSetting }
);
