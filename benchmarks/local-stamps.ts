/**
 * What it costs that workers stamp their tasks, in CPU time of this process and its threads: two readings of the clock in the worker, two
 * numbers in a message, two in the record.
 *
 *     python -m benchmarks local-stamps [-- --tasks 20000 --rounds 21]
 *
 * Runs with a callback that hears of every task are compared with runs whose callback is told the stamps too.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { getSync, getThreads, task, ThreadPool } from '../src/node';
import { Callback } from '../src/node/local/callback';
import { STAMPED } from '../src/node/local/stamped-callback';
import { extraPerTaskAsync, figuresOf } from './extra-cost';
import { argument, type Figure, handOver } from './findings';

const settings = {
  tasks: argument('--tasks', 20_000),
  rounds: argument('--rounds', 21)
};
/** Microseconds a task. */
const LIMIT = 0.3;

const checkout = fileURLToPath(new URL('..', import.meta.url));
execFileSync(
  process.execPath,
  [
    'scripts/bundle-node-programs.mjs',
    '.build/node-programs',
    'pool-thread.mjs'
  ],
  { cwd: checkout }
);

const graph = new Map<string, unknown>();
const nothing = () => 1;
for (let at = 0; at < settings.tasks; at++) {
  graph.set(`nothing-${at}`, task(nothing));
}
const keys = [...graph.keys()];

let heard = 0;
let seconds = 0;
class Hearing extends Callback {
  override posttask(): void {
    heard++;
  }
}
class Stamped extends Hearing {
  [STAMPED](_: unknown, startMs: number, stopMs: number): void {
    seconds += stopMs - startMs;
  }
}

await using pool = new ThreadPool({ size: 1 });
const runs = {
  'getThreads, one thread': (callback: Callback) =>
    getThreads(graph, keys, { pool, callbacks: [callback] }),
  getSync: async (callback: Callback) =>
    getSync(graph, keys, { callbacks: [callback] })
};
const figures: Figure[] = [];
for (const [name, run] of Object.entries(runs)) {
  const hearing = new Hearing();
  const stamped = new Stamped();
  const cost = await extraPerTaskAsync(
    () => run(hearing),
    () => run(stamped),
    settings.tasks,
    settings.rounds
  );
  figures.push(...figuresOf(name, cost, LIMIT));
  console.log(
    `${name.padEnd(24)} a task ${cost.bare.toFixed(2)} us, stamped ${cost.extra.toFixed(2)} us more`
  );
}
if (heard === 0 || !(seconds > 0)) {
  throw new Error('No task was heard of.');
}

handOver(settings, figures);
