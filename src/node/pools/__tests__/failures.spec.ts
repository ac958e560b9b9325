/** Row 8 of the plan for local schedulers: whatever goes wrong is said clearly, nothing hangs, and the pool goes on working. */
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnknownKeyError } from '../../graph/graph-errors';
import { type Key } from '../../graph/key';
import {
  data,
  type Graph,
  ref,
  task,
  type TaskFunction
} from '../../graph/nodes';
import { module, NotPortableError } from '../../graph/portable';
import type { CallbackHooks } from '../../local/callback';
import { taskKeyOf } from '../../local/task-note';
import { waitFor } from '../../../testing/wait-for';
import { getProcesses } from '../get-processes';
import { getThreads } from '../get-threads';
import { WorkerEndedError } from '../pool-errors';
import { UnsendableError } from '../unsendable';
import { ProcessPool, ThreadPool } from '../worker-pool';
import { buildNodePrograms } from '../../../testing/node-programs';
import { isAlive } from './is-alive';
import { failureOf, workerKinds as kinds } from './worker-kinds';

const inc = (x: number) => x + 1;

let folder: string;
beforeAll(() => {
  buildNodePrograms('pool-thread.mjs', 'pool-process.mjs');
  folder = mkdtempSync(join(tmpdir(), 'spanwise-failures-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(kinds)('§1.7: with $kind', ({ kind, label, get, makePool }) => {
  let pool: ProcessPool;
  beforeAll(() => {
    pool = makePool({ size: 2 });
  });
  afterAll(() => pool.close());
  /** Other runs find the pool in order. */
  const expectUsable = async () => {
    const graph = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [`k${at}`, task(inc, at)])
    );
    const values = await get<number[]>(graph, Object.keys(graph), { pool });
    expect(values).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
  };

  it('a task that throws rejects the run with its error: class, message, code, cause, stack, key', async () => {
    const fail = (x: number) => {
      class OutOfRange extends RangeError {
        readonly code = 'EFAR';
      }
      throw new OutOfRange(`no ${x}`, { cause: new TypeError('because') });
    };
    const error = await failureOf(
      get({ a: 1, b: task(fail, ref('a')) }, 'b', { pool })
    );
    expect(error).toMatchObject({
      name: 'RangeError',
      message: 'no 1',
      code: 'EFAR'
    });
    expect(error.cause).toBeInstanceOf(TypeError);
    expect(error.stack).toContain('at fail (spanwise:fail');
    expect(error.stack).toMatch(new RegExp(`at task b \\(${label} \\d+\\)$`));
    expect(taskKeyOf(error)).toBe('b');
    await expectUsable();
  });

  it('a rejected promise is a failure of its task', async () => {
    const fail = async () => {
      await null;
      throw new URIError('late');
    };
    await expect(get({ a: task(fail) }, 'a', { pool })).rejects.toThrow(
      new URIError('late')
    );
  });

  it('a thrown value is what the caller gets; one that cannot be sent is stood in for by its text', async () => {
    const text = () => {
      throw 'just a text';
    };
    const fn = () => {
      throw () => 'odd';
    };
    await expect(get({ a: task(text) }, 'a', { pool })).rejects.toBe(
      'just a text'
    );
    await expect(get({ a: task(fn) }, 'a', { pool })).rejects.toThrow(
      /\(\) => .odd./
    );
  });

  it('a result that cannot be sent names the task and what it was', async () => {
    const make = () => ({ rows: [{ open: (x: number) => x }] });
    const error = await failureOf(get({ a: task(make) }, 'a', { pool }));
    expect(error).toBeInstanceOf(UnsendableError);
    expect(error.message).toMatch(
      new RegExp(
        `^The result of a cannot be sent back from ${label} \\d+: result.rows\\[0\\].open is a function \\(open\\)\\.$`
      )
    );
    await expectUsable();
  });

  it('an argument that cannot be sent names the task and what it was', async () => {
    const graph: Graph = {
      f: data(inc),
      a: task(inc, 1),
      b: task((o: unknown) => o, { go: ref('f') })
    };
    const told: string[] = [];
    const callback: CallbackHooks = {
      pretask: key => void told.push(`pretask ${String(key)}`),
      posttask: key => void told.push(`posttask ${String(key)}`),
      finish: (_graph, _state, errored) => void told.push(`finish ${errored}`)
    };
    const error = await failureOf(
      get(graph, ['a', 'b'], { pool, callbacks: [callback] })
    );
    expect(told).toContain('pretask b');
    expect(told).not.toContain('posttask b');
    expect(told.at(-1)).toBe('finish true');
    expect(error).toBeInstanceOf(UnsendableError);
    expect(error.message).toBe(
      'Task b cannot be sent to a worker: argument 0.go is a function (inc).'
    );
    await expectUsable();
  });

  it('a function that is not portable is refused before anything runs', async () => {
    const factor = 3;
    const seen: string[] = [];
    const callback: CallbackHooks = {
      start: () => seen.push('start'),
      pretask: () => seen.push('pretask'),
      finish: (_graph, _state, errored) => seen.push(`finish ${errored}`)
    };
    const graph = {
      a: task(inc, 1),
      b: task((x: number) => x * factor, ref('a'))
    };
    const error = await failureOf(
      get(graph, 'b', { pool, callbacks: [callback] })
    );
    expect(error).toBeInstanceOf(NotPortableError);
    expect(error.message).toMatch(
      /^Task b cannot run in a worker: `anonymous` uses `factor` from outside/
    );
    expect(seen).toEqual(['start', 'finish true']);
    // Tasks that the request does not need do not matter.
    expect(await get(graph, 'a', { pool })).toBe(2);
  });

  it('a module that is not there, or lacks the name, is a failure of the task', async () => {
    const path = join(folder, 'nowhere.mjs');
    await expect(
      get({ a: task(module(path, 'x')) }, 'a', { pool })
    ).rejects.toThrow(/nowhere\.mjs/);
    await expect(
      get({ a: task(module('node:os', 'x')) }, 'a', { pool })
    ).rejects.toThrow(/node:os exports no function 'x'/);
    await expectUsable();
  });

  it.each(['start', 'startState', 'pretask', 'posttask', 'finish'] as const)(
    'a callback that throws in %s ends the run with its error',
    async hook => {
      const told: boolean[] = [];
      const witness: CallbackHooks = {
        finish: (_graph, _state, errored) => void told.push(errored)
      };
      const callback: CallbackHooks = {
        [hook]: () => {
          throw new Error(`${hook} went wrong`);
        }
      };
      const graph = Object.fromEntries(
        Array.from({ length: 50 }, (_, at) => [`k${at}`, task(inc, at)])
      );
      await expect(
        get(graph, Object.keys(graph), {
          pool,
          callbacks: [witness, callback]
        })
      ).rejects.toThrow(`${hook} went wrong`);
      expect(told).toEqual([hook !== 'finish']);
      await expectUsable();
    }
  );

  it('items of a batch before the failure are told, those after it are not', async () => {
    const begun: Key[] = [];
    const told: Key[] = [];
    const callback: CallbackHooks = {
      pretask: key => void begun.push(key),
      posttask: key => void told.push(key)
    };
    const failAt2 = (x: number) => {
      if (x === 2) {
        throw new Error('two');
      }
      return x;
    };
    const graph = Object.fromEntries(
      Array.from({ length: 6 }, (_, at) => [`k${at}`, task(failAt2, at)])
    );
    await expect(
      get(graph, Object.keys(graph), {
        pool,
        chunkSize: 6,
        callbacks: [callback]
      })
    ).rejects.toThrow('two');
    expect(begun).toHaveLength(6);
    expect(told).toEqual(begun.slice(0, begun.indexOf('k2')));
  });

  it('rerunExceptionsLocally calls the task again here, and its value counts', async () => {
    // Succeeds only in this process's main thread.
    const fussy = (home: number, x: number) => {
      const worker = process.getBuiltinModule('node:worker_threads');
      if (process.pid !== home || !worker.isMainThread) {
        throw new Error('not here');
      }
      return x;
    };
    const graph = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `k${at}`,
        at % 9 === 4
          ? task(fussy as TaskFunction, process.pid, at + 1)
          : task(inc, at)
      ])
    );
    const keys = Object.keys(graph);
    const values = Array.from(keys, (_, at) => at + 1);
    expect(
      await get(graph, keys, { pool, rerunExceptionsLocally: true })
    ).toEqual(values);
    expect(
      await get(graph, keys, {
        pool,
        rerunExceptionsLocally: true,
        chunkSize: 7
      })
    ).toEqual(values);
    await expect(get(graph, keys, { pool })).rejects.toThrow('not here');
  });

  it('a task that ended its worker is not called again here: it would end this program', async () => {
    const exit = (home: number) => {
      const worker = process.getBuiltinModule('node:worker_threads');
      return process.pid === home && worker.isMainThread
        ? 'called here'
        : process.exit(3);
    };
    const run = get({ a: task(exit, process.pid) }, 'a', {
      pool,
      rerunExceptionsLocally: true
    });
    expect(await failureOf(run)).toBeInstanceOf(WorkerEndedError);
  });

  it('a task that ends its worker is named; the pool gets a new worker', async () => {
    const exit = () => process.exit(3);
    const graph = { a: task(inc, 1), b: task(exit), c: task(inc, ref('b')) };
    const finished: boolean[] = [];
    const callback: CallbackHooks = {
      finish: (_graph, _state, errored) => void finished.push(errored)
    };
    const error = await failureOf(
      get(graph, ['a', 'c'], { pool, chunkSize: 1, callbacks: [callback] })
    );
    expect(finished).toEqual([true]);
    expect(error).toBeInstanceOf(WorkerEndedError);
    expect(error.message).toMatch(
      new RegExp(
        `^The worker that ran b is gone \\(${label} \\d+ exited with code 3\\)\\.$`
      )
    );
    expect((error as WorkerEndedError).keys).toEqual(['b']);
    await expectUsable();
  });

  it('a task that ends its worker among many small ones is named too', async () => {
    const exitAt = (x: number) => (x === 777 ? process.exit(4) : x);
    const graph = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, at) => [`k${at}`, task(exitAt, at)])
    );
    const error = (await failureOf(
      get(graph, Object.keys(graph), { pool })
    )) as WorkerEndedError;
    expect(error).toBeInstanceOf(WorkerEndedError);
    // A thread says which one; of a process it is known that it is one of those it was given.
    expect(error.keys).toContain('k777');
    if (kind === 'threads') {
      expect(error.keys).toEqual(['k777']);
    }
    await expectUsable();
  });

  it('an error that nothing caught ends the worker, and is the cause', async () => {
    const stray = () =>
      new Promise(() => {
        setTimeout(() => {
          throw new RangeError('stray');
        }, 1);
      });
    const error = await failureOf(
      get({ a: task(stray) }, 'a', { pool, chunkSize: 1 })
    );
    expect(error).toBeInstanceOf(WorkerEndedError);
    expect(error.message).toMatch(/^The worker that ran a is gone/);
    if (kind === 'threads') {
      expect(error.message).toContain('stray');
      expect(error.cause).toMatchObject({ message: 'stray' });
    }
    await expectUsable();
  });

  it('an abort ends the run at once with its reason, also in the middle of a task that never ends', async () => {
    const place = join(folder, `busy-${kind}`);
    const forever = (path: string) => {
      process
        .getBuiltinModule('node:fs')
        .writeFileSync(path, String(process.pid));
      for (;;) {
        // Busy for good.
      }
    };
    const finished: boolean[] = [];
    const callback: CallbackHooks = {
      finish: (_graph, _state, errored) => void finished.push(errored)
    };
    const controller = new AbortController();
    const run = failureOf(
      get({ a: task(forever, place), b: task(inc, 1) }, ['a', 'b'], {
        pool,
        signal: controller.signal,
        callbacks: [callback]
      })
    );
    await waitFor('the task has begun', () => {
      try {
        return readFileSync(place, 'utf8') !== '';
      } catch {
        return false;
      }
    });
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await run).toBe(reason);
    expect(finished).toEqual([true]);
    const pid = Number(readFileSync(place, 'utf8'));
    if (kind === 'processes') {
      // It was killed; a run waits a second for the end of those, and a busy machine may take longer.
      await waitFor('its end', () => !isAlive(pid));
    }
    await expectUsable();
  });

  it('a requested key that is nowhere is an error that names it', async () => {
    const finished: boolean[] = [];
    const callback: CallbackHooks = {
      finish: (_graph, _state, errored) => void finished.push(errored)
    };
    const error = await failureOf(
      get({ a: task(inc, 1) }, ['a', 'gone'], { pool, callbacks: [callback] })
    );
    expect(error).toBeInstanceOf(UnknownKeyError);
    expect(error.message).toContain('gone');
    // Processes are given what the request needs, so there it is known before anything begins; else after all is done.
    expect(finished).toEqual(kind === 'threads' ? [false] : []);
  });

  it('a signal that is aborted already runs nothing', async () => {
    const signal = AbortSignal.abort(new Error('before'));
    await expect(
      get({ a: task(inc, 1) }, 'a', { pool, signal })
    ).rejects.toThrow('before');
    await expectUsable();
  });

  it('a pool that is closed during a run fails the run', async () => {
    const own = makePool({ size: 1 });
    const started = new Promise<void>(resolve => {
      const wait = () => new Promise(() => setInterval(() => undefined, 1000));
      const callback: CallbackHooks = { pretask: () => resolve() };
      void expect(
        get({ a: task(wait) }, 'a', { pool: own, callbacks: [callback] })
      ).rejects.toThrow(/gone|pool was closed/);
    });
    await started;
    await own.close();
    await expect(get({ a: task(inc, 1) }, 'a', { pool: own })).rejects.toThrow(
      'The pool is closed.'
    );
  });

  it('what a failed run still had under way does not disturb the next', async () => {
    // It ends when the test says so: by then the next runs must be over.
    const gate = join(folder, `left-over-${kind}`);
    const linger = (path: string) => {
      const fs = process.getBuiltinModule('node:fs');
      fs.writeFileSync(`${path}-begun`, '');
      while (!fs.existsSync(path)) {
        // Busy, not waiting.
      }
    };
    const failAfter = (path: string) => {
      const fs = process.getBuiltinModule('node:fs');
      while (!fs.existsSync(`${path}-begun`)) {
        // Until the other has begun.
      }
      throw new Error('early');
    };
    const graph = { a: task(linger, gate), b: task(failAfter, gate) };
    await expect(
      get(graph, ['b', 'a'], { pool, chunkSize: 1 })
    ).rejects.toThrow('early');
    // Both workers are asked for; one of them is still lingering.
    const together = {
      a: task(linger, `${gate}-1`),
      b: task(failAfter, `${gate}-1`)
    };
    await expect(
      get(together, ['b', 'a'], { pool, chunkSize: 1 })
    ).rejects.toThrow('early');
    await expectUsable();
    writeFileSync(gate, '');
    writeFileSync(`${gate}-1`, '');
    await expectUsable();
  });
});

describe('§1.7: with threads', () => {
  it('an abort is not held up by a thread that is inside a call of the system', async () => {
    const pool = new ThreadPool({ size: 1 });
    const begun = join(folder, 'begun');
    const sleep = async (path: string) => {
      const { execSync } = await import('node:child_process');
      execSync(
        `touch ${path}; until [ -e ${path}-over ]; do sleep 0.02; done; rm ${path}`
      );
    };
    const abort = new AbortController();
    const run = failureOf(
      getThreads({ a: task(sleep, begun) }, 'a', { pool, signal: abort.signal })
    );
    await waitFor('the task to begin', () => existsSync(begun));
    abort.abort(new Error('enough'));
    expect((await run).message).toBe('enough');
    expect(existsSync(begun)).toBe(true);
    const again = { b: task(inc, 1) };
    expect(await getThreads(again, 'b', { pool })).toBe(2);
    expect(existsSync(begun)).toBe(true);
    writeFileSync(`${begun}-over`, '');
    // The thread ends when its call does; who closes the pool waits for that.
    await pool.close();
  });
});

describe('§1.7: with processes', () => {
  it('one that is killed from outside is named', async () => {
    await using pool = new ProcessPool({ size: 1 });
    const place = join(folder, 'victim');
    const wait = (path: string) => {
      process
        .getBuiltinModule('node:fs')
        .writeFileSync(path, String(process.pid));
      return new Promise(() => setInterval(() => undefined, 1000));
    };
    const run = failureOf(
      getProcesses({ a: task(wait, place) }, 'a', { pool })
    );
    let pid = 0;
    await waitFor('the task has begun', () => {
      try {
        pid = Number(readFileSync(place, 'utf8'));
      } catch {
        return false;
      }
      return pid > 0;
    });
    process.kill(pid, 'SIGKILL');
    expect((await run).message).toBe(
      `The worker that ran a is gone (process ${pid} was killed by SIGKILL).`
    );
    expect(isAlive(pid)).toBe(false);
    expect(await getProcesses({ a: task(inc, 1) }, 'a', { pool })).toBe(2);
  });
});
