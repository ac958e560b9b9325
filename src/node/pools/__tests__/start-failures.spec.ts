/** Workers that cannot be started: the run says why, at once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { task } from '../../graph/nodes';
import { buildNodePrograms } from '../../../testing/node-programs';
import { getProcesses } from '../get-processes';
import { getThreads } from '../get-threads';
import { WorkerEndedError } from '../pool-errors';
import { childOptions } from '../process-worker';
import { ProcessPool, ThreadPool } from '../worker-pool';
import type { IWorkerTransport } from '../worker-transport';
import { failureOf } from './worker-kinds';

beforeAll(() => buildNodePrograms('pool-thread.mjs', 'pool-process.mjs'));

const graph = { a: task(() => 1) };

describe('a worker that cannot be started', () => {
  const { execPath } = process;
  afterEach(() => {
    process.execPath = execPath;
  });

  it('because there is no such program', async () => {
    await using pool = new ProcessPool({ size: 1 });
    const folder = mkdtempSync(join(tmpdir(), 'spanwise-start-'));
    process.execPath = join(folder, 'node');
    const error = await failureOf(getProcesses(graph, 'a', { pool }));
    expect(error).toBeInstanceOf(WorkerEndedError);
    expect(error.message).toContain('ENOENT');
    process.execPath = execPath;
    rmSync(folder, { recursive: true });
    expect(await getProcesses(graph, 'a', { pool })).toBe(1);
  });

  it('because starting it throws', async () => {
    class FullPool extends ThreadPool {
      protected override start(): IWorkerTransport {
        throw new Error('spawn EAGAIN');
      }
    }
    await using pool: ThreadPool = new FullPool({ size: 2 });
    const error = await failureOf(getThreads(graph, 'a', { pool }));
    expect(error).toBeInstanceOf(WorkerEndedError);
    expect(error.message).toBe('A worker could not start (spawn EAGAIN).');
  });

  it('because its heap is too small for Node: said before the process dies of it', () => {
    expect(() => new ThreadPool({ maxHeapMegabytes: 1 })).toThrow(RangeError);
    expect(() => new ProcessPool({ maxHeapMegabytes: NaN })).toThrow(
      RangeError
    );
  });

  it.each([ThreadPool, ProcessPool])(
    'runs with the least heap that is allowed: %p',
    async Pool => {
      await using pool = new Pool({ size: 1, maxHeapMegabytes: 16 });
      const get = getProcesses as (...args: unknown[]) => Promise<unknown>;
      const run = Pool === ProcessPool ? get : (getThreads as typeof get);
      expect(await run(graph, 'a', { pool })).toBe(1);
    }
  );
});

describe('options of this Node that its children are not given', () => {
  it.each([
    [['--input-type', 'module', '-e', '1'], []],
    [['--input-type=module', '--eval', '-1'], []],
    [['--eval=1'], []],
    [['--test', '--test-reporter', 'spec', '--test-only'], []],
    [
      ['--watch-path', './src', '--enable-source-maps'],
      ['--enable-source-maps']
    ],
    [
      ['--inspect-port', '0', '-C', 'dev'],
      ['-C', 'dev']
    ],
    [
      ['--import', 'tsx', '--conditions=a', '--inspect-brk=1'],
      ['--import', 'tsx', '--conditions=a']
    ]
  ])('%j → %j', (given, kept) => {
    expect(childOptions(given)).toEqual(kept);
  });
});
