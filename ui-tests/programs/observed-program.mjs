/**
 * A Node program as people write them: four schedulers under `observe`, and the records of its own profiler on its output.
 *
 *   node observed-program.mjs NAME FOLDER [SCHEDULER…]
 *
 * ```
 *   span load         span analysis
 *   read × 4    ───►  total  ───►  hold      until FOLDER has a file `enough-SCHEDULER`
 * ```
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  getAsync,
  getProcesses,
  getSync,
  getThreads,
  keyText,
  observe,
  prefixOf,
  Profiler,
  ref,
  span,
  task
} from 'spanwise';

const SCHEDULERS = {
  sync: getSync,
  async: getAsync,
  threads: getThreads,
  processes: getProcesses
};

function read(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  return milliseconds;
}

/** Reads once both processes are there: one may take so long to start that the other has read all by then. */
function readBeside(milliseconds, folder) {
  const fs = process.getBuiltinModule('node:fs');
  const cell = new Int32Array(new SharedArrayBuffer(4));
  fs.writeFileSync(`${folder}/there-${process.pid}`, '');
  const isThere = name => name.startsWith('there-');
  while (fs.readdirSync(folder).filter(isThere).length < 2) {
    Atomics.wait(cell, 0, 0, 20);
  }
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  return milliseconds;
}

async function receive(milliseconds) {
  await sleep(milliseconds);
  return milliseconds;
}

function total(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Holds its thread, whichever that is. */
function hold(path) {
  const { existsSync: isThere } = process.getBuiltinModule('node:fs');
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!isThere(path)) {
    Atomics.wait(cell, 0, 0, 20);
  }
}

async function holdPromise(path) {
  while (!existsSync(path)) {
    await sleep(20);
  }
}

/** By what its keys begin with. */
const FUNCTION_OF = { read: 'reading', total: 'totalling', hold: 'holding' };

/** Panels name functions by their own names: another one for each scheduler, as its graph has other keys. */
function called(name, fn) {
  return Object.defineProperty(fn, 'name', { value: name });
}

function graphOf(scheduler, folder) {
  const enough = join(folder, `enough-${scheduler}`);
  const isAsync = scheduler === 'async';
  const reader =
    scheduler === 'processes' ? readBeside : isAsync ? receive : read;
  const reading = called(`reading-${scheduler}`, reader);
  const totalling = called(`totalling-${scheduler}`, total);
  const holding = called(`holding-${scheduler}`, isAsync ? holdPromise : hold);
  const reads = [0, 1, 2, 3].map(n => [`read-${scheduler}`, n]);
  const graph = new Map();
  span('load', () => {
    for (const key of reads) {
      graph.set(key, task(reading, 20 + 30 * key[1], folder));
    }
  });
  span('analysis', () => {
    graph.set(`total-${scheduler}`, task(totalling, reads.map(ref)));
    graph.set(
      `hold-${scheduler}`,
      task(holding, enough, ref(`total-${scheduler}`))
    );
  });
  return graph;
}

const [, , name, folder, ...asked] = process.argv;
const profiler = new Profiler();
const seconds = () => (performance.timeOrigin + performance.now()) / 1000;
const ends = [];
const before = seconds();
let after;
await observe(
  () => {
    after = seconds();
    return profiler.run(async () => {
      for (const scheduler of asked) {
        const graph = graphOf(scheduler, folder);
        await SCHEDULERS[scheduler](graph, `hold-${scheduler}`, {
          numWorkers: 2
        });
        ends.push(profiler.results.length);
      }
    });
  },
  { name }
);
console.log(
  JSON.stringify(
    profiler.results.map(({ key, startTime, endTime, workerId }, number) => ({
      key: keyText(key),
      function: prefixOf(key).replace(/^\w+/, word => FUNCTION_OF[word]),
      graph: ends.filter(end => end <= number).length,
      // Promises have places of the scheduler, and one thread.
      place: keyText(key).includes('async') ? null : workerId,
      earliestStart: startTime - after,
      latestStop: endTime - before,
      duration: endTime - startTime
    }))
  )
);
