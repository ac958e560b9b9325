import fc from 'fast-check';
import { buildNodePrograms } from '../../../testing/node-programs';
import { lawfulRuns } from '../../__tests__/drawn-graphs';
import { getProcesses } from '../get-processes';
import { getThreads } from '../get-threads';
import { ProcessPool, ThreadPool } from '../worker-pool';

beforeAll(() => buildNodePrograms('pool-thread.mjs', 'pool-process.mjs'));

describe('§1: drawn graphs with failures', () => {
  it('getThreads keeps every law', async () => {
    await using pool = new ThreadPool({ size: 2 });
    await fc.assert(
      lawfulRuns({
        get: (graph, keys, options) =>
          getThreads(graph, keys, { ...options, pool }),
        numWorkers: 2,
        runsAhead: true
      }),
      { numRuns: 500 }
    );
  });

  it('getProcesses keeps every law', async () => {
    await using pool = new ProcessPool({ size: 2 });
    await fc.assert(
      lawfulRuns({
        get: (graph, keys, options) =>
          getProcesses(graph, keys, { ...options, pool }),
        numWorkers: 2,
        runsAhead: true,
        culls: true
      }),
      { numRuns: 500 }
    );
  });
});
