/**
 * A burst of small portable calls on two worker threads: `getThreads` against piscina at its best setting.
 *
 *     npx esbuild benchmarks/thread-burst.ts --bundle --platform=node --format=esm --external:piscina --outfile=.build/thread-burst.mjs
 *     node .build/thread-burst.mjs [--calls 25000] [--rounds 11] [--json FILE]
 *
 * Both have warm workers and compiled code, both give every result, which is checked; ours builds its graph in the time measured. piscina's
 * settings are tried first and the fastest is used. Then both run in turn. Limit: 3x; goal: 8x.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { FixedQueue, Piscina } from 'piscina';
import { task } from '../src/node/graph/nodes';
import { getThreads } from '../src/node/pools/get-threads';
import { ThreadPool } from '../src/node/pools/worker-pool';

const THREADS = 2;
const LEAST_RATIO = 3;
/** Of piscina's settings, those that are tried again, with both of its queues, after one try of each. */
const FINALISTS = 2;
const TRIALS = 3;

const calls = Number(argument('--calls') ?? 25_000);
const rounds = Number(argument('--rounds') ?? 11);

function argument(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

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

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

function median(values: readonly number[]): number {
  return sorted(values)[Math.floor(values.length / 2)]!;
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
const settings = allSettings.slice(0, Number(argument('--settings') ?? 100));

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
await ourBurst(ours);
for (let round = 0; round < rounds; round++) {
  costs.push({
    ours: await measured(() => ourBurst(ours)),
    theirs: await measured(() => piscinaBurst(theirs))
  });
}
await ours.close();
await theirs.destroy();
rmSync(folder, { recursive: true });

const wallRatios = costs.map(cost => cost.theirs.wallMs / cost.ours.wallMs);
const cpuRatios = costs.map(cost => cost.theirs.cpuMs / cost.ours.cpuMs);
const figures = {
  calls,
  threads: THREADS,
  rounds,
  node: process.version,
  piscinaSetting: nameOf(best),
  loadAtEnd: loadavg()[0],
  'spanwise, wall ms': summary(costs.map(cost => cost.ours.wallMs)),
  'piscina, wall ms': summary(costs.map(cost => cost.theirs.wallMs)),
  'spanwise, CPU ms': summary(costs.map(cost => cost.ours.cpuMs)),
  'piscina, CPU ms': summary(costs.map(cost => cost.theirs.cpuMs)),
  'piscina / spanwise, wall': summary(wallRatios),
  'piscina / spanwise, CPU': summary(cpuRatios)
};

function summary(values: readonly number[]) {
  const ordered = sorted(values);
  return { median: median(values), least: ordered[0], most: ordered.at(-1) };
}

for (const [name, value] of Object.entries(figures)) {
  if (typeof value === 'object' && value !== null) {
    const { median: middle, least, most } = value;
    console.log(
      `${name.padEnd(26)} ${middle.toFixed(1).padStart(8)}   (${least!.toFixed(1)} … ${most!.toFixed(1)})`
    );
  }
}
const ratio = median(wallRatios);
console.log(
  `${ratio.toFixed(1)}x (limit ${LEAST_RATIO}x): ${ratio >= LEAST_RATIO ? 'reached' : 'missed'}`
);
const file = argument('--json');
if (file !== undefined) {
  writeFileSync(file, `${JSON.stringify({ figures, costs }, null, 2)}\n`);
}
