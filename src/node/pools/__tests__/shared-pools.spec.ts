/** Several runs in one pool: none starves, none waits for ever because of another, and none is left behind when the pool is closed. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ref, task } from '../../graph/nodes';
import { buildNodePrograms } from '../../../testing/node-programs';
import { waitFor } from '../../../testing/wait-for';
import { WorkerEndedError } from '../pool-errors';
import type { ProcessPool } from '../worker-pool';
import { failureOf, workerKinds } from './worker-kinds';

beforeAll(() => buildNodePrograms('pool-thread.mjs', 'pool-process.mjs'));

/** Quick, unless told otherwise; the pool takes it for quick once it has seen it often. */
const step = (what: number | 'endless' | 'fail') => {
  if (what === 'endless') {
    for (;;);
  }
  if (what === 'fail') {
    const begin = Date.now();
    while (Date.now() - begin < 60);
    throw new Error('asked to fail');
  }
  return what;
};

const busy = (ms: number) => {
  const begin = Date.now();
  while (Date.now() - begin < ms);
  return ms;
};

describe.each(workerKinds)(
  'runs that share $kind',
  ({ kind, get, makePool }) => {
    /** How many tasks a worker is given in one message when each takes longer than that. */
    const atOnce = kind === 'threads' ? 1 : 6;
    let pool: ProcessPool;
    afterEach(() => pool.close());

    it('take turns: a small run does not wait until a large one is over', async () => {
      pool = makePool({ size: 1 });
      await get({ warm: task(busy, 1) }, 'warm', { pool });
      const large = Object.fromEntries(
        Array.from({ length: 100 }, (_, at) => [`large-${at}`, task(busy, 10)])
      );
      let finished = 0;
      const whole = get(large, Object.keys(large), {
        pool,
        callbacks: [{ posttask: () => void finished++ }]
      });
      await waitFor('some of the large run', () => finished > 5);
      // Told and counted in this thread, which hands tasks out, however busy the machine is.
      const finishedBefore = finished;
      let whileWaiting = NaN;
      await get({ small: task(busy, 1) }, 'small', {
        pool,
        callbacks: [
          { posttask: () => void (whileWaiting = finished - finishedBefore) }
        ]
      });
      await whole;
      // What the worker is at, what waits in it, and what comes next in turn.
      expect(whileWaiting).toBeLessThanOrEqual(3 * atOnce);
    });

    it('do not wait behind a task of a failed run that never ends', async () => {
      pool = makePool({ size: 2 });
      const many = Object.fromEntries(
        Array.from({ length: 5000 }, (_, at) => [`step-${at}`, task(step, at)])
      );
      // Twice: then both workers know the function.
      await get(many, Object.keys(many), { pool });
      await get(many, Object.keys(many), { pool });
      const failing = failureOf(
        get(
          { endless: task(step, 'endless'), failing: task(step, 'fail') },
          ['endless', 'failing'],
          { pool }
        )
      );
      await Promise.resolve();
      await Promise.resolve();
      const other = get({ a: task(step, 1), b: task(step, 2) }, ['a', 'b'], {
        pool
      });
      expect((await failing).message).toBe('asked to fail');
      expect(await other).toEqual([1, 2]);
    });

    it('fail when the pool is closed before a worker had one of their tasks', async () => {
      pool = makePool({ size: 1 });
      const run = failureOf(get({ a: task(step, 1) }, 'a', { pool }));
      await pool.close();
      const error = await run;
      expect(error).toBeInstanceOf(WorkerEndedError);
      expect(error.message).toContain('The pool was closed.');
    });

    it('fail when the pool is closed while they wait for another run', async () => {
      pool = makePool({ size: 1 });
      await get({ warm: task(step, 1) }, 'warm', { pool });
      const first = failureOf(get({ a: task(step, 'endless') }, 'a', { pool }));
      const second = failureOf(
        get({ b: task(step, 2), c: task(step, ref('b')) }, 'c', { pool })
      );
      await waitFor('a task in the worker', () =>
        pool.workers.some(worker => worker.packs.size > 0)
      );
      await pool.close();
      expect(await first).toBeInstanceOf(WorkerEndedError);
      expect(await second).toBeInstanceOf(WorkerEndedError);
    });

    it('many at once are no leak of signal handlers', async () => {
      pool = makePool({ size: 1 });
      const warnings: Error[] = [];
      const note = (warning: Error) => warnings.push(warning);
      const before = process.listenerCount('SIGINT');
      process.on('warning', note);
      const runs = Array.from({ length: 20 }, (_, at) =>
        get({ a: task(step, at) }, 'a', { pool })
      );
      expect(process.listenerCount('SIGINT')).toBe(before + 1);
      expect(await Promise.all(runs)).toHaveLength(20);
      process.off('warning', note);
      expect(process.listenerCount('SIGINT')).toBe(before);
      expect(warnings).toEqual([]);
    });
  }
);

describe('a batch in a process', () => {
  it('begins no further task once its run has failed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'spanwise-begun-'));
    const pool = workerKinds[1]!.makePool({ size: 2 });
    // The first lasts until the other worker's task has failed, and each until this process lets it end.
    const slow = async (path: string, at: number) => {
      const fs = await import('node:fs');
      fs.writeFileSync(`${path}/${at}`, '');
      while (!fs.existsSync(`${path}/end-${at}`));
    };
    const failing = (path: string) => {
      const fs = process.getBuiltinModule('node:fs');
      while (!fs.existsSync(`${path}/0`));
      throw new Error('asked to fail');
    };
    const keys = Array.from({ length: 6 }, (_, at) => `slow-${at}`);
    const graph = {
      ...Object.fromEntries(
        keys.map((key, at) => [key, task(slow, folder, at)])
      ),
      failing: task(failing, folder)
    };
    await workerKinds[1]!.get({ warm: task(step, 1) }, 'warm', { pool });
    const run = workerKinds[1]!.get(graph, [...keys, 'failing'], {
      pool,
      chunkSize: 6
    });
    expect((await failureOf(run)).message).toBe('asked to fail');
    // The worker is done with the batch when it could be given another one.
    const isOver = () => pool.workers.every(worker => worker.packs.size === 0);
    let begun = 1;
    for (; begun < keys.length; begun++) {
      writeFileSync(join(folder, `end-${begun - 1}`), '');
      await waitFor(
        'the end of the batch, or its next task',
        () => isOver() || existsSync(join(folder, String(begun)))
      );
      if (isOver()) {
        break;
      }
    }
    expect(begun).toBeLessThan(keys.length);
    await pool.close();
    rmSync(folder, { recursive: true });
  });
});
