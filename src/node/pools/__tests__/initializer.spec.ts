/** §1.8: what pools have their workers do before the first task, on real threads and real processes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ref, task } from '../../graph/nodes';
import { module, NotPortableError } from '../../graph/portable';
import { buildNodePrograms } from '../../../testing/node-programs';
import { waitFor } from '../../../testing/wait-for';
import { WorkerEndedError } from '../pool-errors';
import { UnsendableError } from '../unsendable';
import { workerKinds } from './worker-kinds';

let folder: string;
beforeAll(() => {
  buildNodePrograms('pool-thread.mjs', 'pool-process.mjs');
  folder = mkdtempSync(join(tmpdir(), 'spanwise-initializer-'));
  writeFileSync(
    join(folder, 'state.mjs'),
    `let scale;
     export const prepare = async by => { await null; scale = by; };
     export const scaled = x => x * scale;`
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Notes each call, and whose it is, in `globalThis` of the worker. */
const countCalls = (label: string) => {
  const place = globalThis as { initialized?: string[] };
  (place.initialized ??= []).push(label);
};
const callsSeen = (_after?: unknown) =>
  (globalThis as { initialized?: string[] }).initialized;
const inc = (x: number) => x + 1;

describe.each(workerKinds)(
  '§1.8: an initializer of $kind',
  ({ kind, label, get, makePool }) => {
    it('§1.8: is called once in each worker, before its first task, whatever the runs', async () => {
      await using pool = makePool({
        size: 2,
        initializer: countCalls,
        initializerArgs: ['ready']
      });
      const graph = Object.fromEntries(
        Array.from({ length: 40 }, (_, at) => [`k${at}`, task(callsSeen, at)])
      );
      for (let run = 0; run < 2; run++) {
        const seen = await get<string[][]>(graph, Object.keys(graph), { pool });
        expect(seen.map(String)).toEqual(seen.map(() => 'ready'));
      }
    });

    it('§1.8: may be asynchronous, and of a module that tasks use too', async () => {
      const path = join(folder, 'state.mjs');
      await using pool = makePool({
        size: 1,
        initializer: module(path, 'prepare'),
        initializerArgs: [7]
      });
      const graph = { a: task(module(path, 'scaled'), 6) };
      expect(await get(graph, 'a', { pool })).toBe(42);
    });

    it('§1.8: is called in the worker that takes the place of a dead one', async () => {
      await using pool = makePool({
        size: 1,
        initializer: countCalls,
        initializerArgs: ['again']
      });
      const exit = () => process.exit(1);
      await expect(get({ a: task(exit) }, 'a', { pool })).rejects.toThrow(
        WorkerEndedError
      );
      expect(await get({ a: task(callsSeen) }, 'a', { pool })).toEqual([
        'again'
      ]);
    });

    it('§1.8: that throws fails the run with what it threw, every run', async () => {
      const refuse = async (what: string) => {
        await null;
        throw new RangeError(`no ${what} here`);
      };
      await using pool = makePool({
        size: 4,
        initializer: refuse,
        initializerArgs: ['licence']
      });
      // Many: none may be passed on from one failing worker to the next for ever.
      const graph = Object.fromEntries(
        Array.from({ length: 50 }, (_, at) => [`k${at}`, task(inc, at)])
      );
      for (let run = 0; run < 2; run++) {
        const finished: boolean[] = [];
        const error = await get(graph, Object.keys(graph), {
          pool,
          callbacks: [
            { finish: (_graph, _state, errored) => void finished.push(errored) }
          ]
        }).catch((reason: unknown) => reason as WorkerEndedError);
        expect(error).toBeInstanceOf(WorkerEndedError);
        const { message, cause } = error as WorkerEndedError;
        expect(message).toMatch(
          new RegExp(
            `^A worker could not start \\(${label} \\d+ failed in its initializer: no licence here\\)\\.$`
          )
        );
        expect(cause).toBeInstanceOf(RangeError);
        expect((cause as Error).stack).toMatch(
          new RegExp(`at the initializer \\(${label} \\d+\\)$`)
        );
        expect(finished).toEqual([true]);
      }
    });

    it('§1.8: that throws a text, or ends its worker, is told as well', async () => {
      const throwText = () => {
        throw 'just a text';
      };
      const exit = () => process.exit(6);
      for (const [initializer, what] of [
        [throwText, 'failed in its initializer: just a text'],
        [exit, 'exited with code 6']
      ] as const) {
        await using pool = makePool({ size: 1, initializer });
        await expect(get({ a: task(inc, 1) }, 'a', { pool })).rejects.toThrow(
          new RegExp(
            `^A worker could not start \\(${label} \\d+ ${what}\\)\\.$`
          )
        );
      }
    });

    it('§1.8: that never ends is ended by an abort', async () => {
      const place = join(folder, `begun-${kind}`);
      const forever = (path: string) => {
        process.getBuiltinModule('node:fs').writeFileSync(path, 'begun');
        for (;;) {
          // Busy for good.
        }
      };
      await using pool = makePool({
        size: 1,
        initializer: forever,
        initializerArgs: [place]
      });
      const controller = new AbortController();
      const run = get({ a: task(inc, 1) }, 'a', {
        pool,
        signal: controller.signal
      });
      const ended = expect(run).rejects.toThrow('enough');
      await waitFor('the initializer has begun', () => {
        try {
          return readFileSync(place, 'utf8') === 'begun';
        } catch {
          return false;
        }
      });
      controller.abort(new Error('enough'));
      await ended;
    });

    it('§1.8: that takes its time holds up no run for ever, and loses no task', async () => {
      const slow = () => new Promise(resolve => setTimeout(resolve, 60));
      await using pool = makePool({ size: 3, initializer: slow });
      const graph = {
        ...Object.fromEntries(
          Array.from({ length: 30 }, (_, at) => [`k${at}`, task(inc, at)])
        ),
        total: task(
          (parts: number[]) => parts.reduce((a, b) => a + b),
          Array.from({ length: 30 }, (_, at) => ref(`k${at}`))
        )
      };
      expect(await get(graph, 'total', { pool })).toBe((30 * 31) / 2);
    });

    it('§1.8: that fails in one worker after the other ends the run: tasks are not passed on for ever', async () => {
      const place = join(folder, `broken-${kind}`);
      const mayFail = async (path: string) => {
        const fs = await import('node:fs');
        if (fs.existsSync(path)) {
          await new Promise(resolve => setTimeout(resolve, 40));
          throw new Error('broken by now');
        }
      };
      await using pool = makePool({
        size: 4,
        initializer: mayFail,
        initializerArgs: [place]
      });
      const graph = Object.fromEntries(
        Array.from({ length: 400 }, (_, at) => [`k${at}`, task(inc, at)])
      );
      const keys = Object.keys(graph);
      // Once it is known how little a task takes, each worker is given many at once.
      await get(graph, keys, { pool, numWorkers: 1 });
      writeFileSync(place, '');
      const exit = () => process.exit(0);
      await expect(
        get({ a: task(exit) }, 'a', { pool, numWorkers: 1 })
      ).rejects.toThrow(WorkerEndedError);
      await expect(get(graph, keys, { pool })).rejects.toThrow('broken by now');
    });

    it('§1.8: is checked when the pool is made', () => {
      const factor = 3;
      expect(() => makePool({ initializer: () => factor })).toThrow(
        NotPortableError
      );
      expect(() => makePool({ initializer: () => factor })).toThrow(
        /^The initializer cannot run in a worker: .*`factor`/
      );
      const make = () =>
        makePool({ initializer: countCalls, initializerArgs: [{ go: inc }] });
      expect(make).toThrow(UnsendableError);
      expect(make).toThrow(
        'The initializer cannot be sent to a worker: initializerArgs[0].go is a function (inc).'
      );
    });
  }
);
