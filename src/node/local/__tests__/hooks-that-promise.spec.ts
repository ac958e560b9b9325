/** Hooks that are async functions: what they fail with ends the run, and never the program. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../../testing/wait-for';
import { buildNodePrograms } from '../../../testing/node-programs';
import { alias, ref, task } from '../../graph/nodes';
import { getProcesses } from '../../pools/get-processes';
import { getThreads } from '../../pools/get-threads';
import type { CallbackHooks } from '../callback';
import { getAsync } from '../get-async';
import { getSync } from '../get-sync';

beforeAll(() => buildNodePrograms('pool-thread.mjs', 'pool-process.mjs'));

const names = ['start', 'startState', 'pretask', 'posttask', 'finish'] as const;
const graph = {
  a: task(() => 1),
  b: task((x: number) => x + 1, ref('a')),
  c: alias('b')
};

/** A hook that fails at once, or after a while. */
const failing = (name: string, ms: number | null): CallbackHooks => ({
  [name]: async () => {
    if (ms !== null) {
      await sleep(ms);
    }
    throw new Error(`${name} failed`);
  }
});

/** Node's reports of unhandled rejections; jest does not collect them by itself. */
const unheard: unknown[] = [];
const hear = (reason: unknown) => void unheard.push(reason);
beforeEach(() => {
  jest.restoreAllMocks();
  unheard.length = 0;
  process.on('unhandledRejection', hear);
});
afterEach(async () => {
  await sleep(1);
  process.off('unhandledRejection', hear);
  expect(unheard).toEqual([]);
});

describe.each([
  ['getAsync', getAsync],
  ['getThreads', getThreads],
  ['getProcesses', getProcesses]
] as const)('%s', (_, get) => {
  it.each(names.flatMap(name => [null, 0, 15].map(ms => [name, ms] as const)))(
    'is rejected if the promise of %s is, after %p ms',
    async (name, ms) => {
      const run = get(graph, 'c', { callbacks: [failing(name, ms)] });
      await expect(run).rejects.toThrow(`${name} failed`);
    }
  );

  it('ends when what hooks promised is kept', async () => {
    let kept = 0;
    const posttask = async () => {
      await sleep(20);
      kept++;
    };
    expect(await get(graph, 'c', { callbacks: [{ posttask }] })).toBe(2);
    expect(kept).toBe(3);
  });

  it('waits for a promise that is never kept until it is aborted', async () => {
    const over = new AbortController();
    const finish = () => {
      setTimeout(() => over.abort(new Error('enough')), 5);
      return new Promise<void>(() => undefined);
    };
    await expect(
      get(graph, 'c', {
        callbacks: [{ finish }],
        signal: over.signal
      })
    ).rejects.toThrow('enough');
  });

  it("has a task's error before a hook's", async () => {
    const broken = {
      a: task(() => {
        throw new Error('of the task');
      })
    };
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue();
    await expect(
      get(broken, 'a', { callbacks: [failing('finish', 5)] })
    ).rejects.toThrow('of the task');
    expect(warning).toHaveBeenCalledTimes(1);
    warning.mockRestore();
  });
});

describe('getSync', () => {
  it('has its answer, and the failure is told as a warning', async () => {
    const warning = jest.spyOn(process, 'emitWarning').mockReturnValue();
    try {
      const callbacks = [failing('posttask', null)];
      expect(getSync({ a: task(() => 1) }, 'a', { callbacks })).toBe(1);
      await waitFor('the warning', () => warning.mock.calls.length > 0);
      expect(warning.mock.calls).toEqual([
        [expect.stringContaining('posttask failed'), expect.anything()]
      ]);
    } finally {
      warning.mockRestore();
    }
  });
});
