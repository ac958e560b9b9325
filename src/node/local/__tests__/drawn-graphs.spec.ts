import fc from 'fast-check';
import { lawfulRuns } from '../../__tests__/drawn-graphs';
import { getAsync } from '../get-async';
import { getSync } from '../get-sync';

describe('§1: drawn graphs with failures', () => {
  it('getSync keeps every law', async () => {
    await fc.assert(lawfulRuns({ get: getSync, numWorkers: 1 }), {
      numRuns: 600
    });
  });

  it.each([1, 3])('getAsync keeps every law with %d at once', async n => {
    await fc.assert(
      lawfulRuns({
        get: (graph, keys, options) =>
          getAsync(graph, keys, { ...options, numWorkers: n }),
        numWorkers: n,
        promises: true
      }),
      { numRuns: 600 }
    );
  });
});
