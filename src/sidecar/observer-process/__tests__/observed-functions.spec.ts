import { fnv1a32 } from '../../../observer/function-slots';
import { emptyCluster } from '../../../testing/observed-cluster';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { encoded } from './observer-fixture';

describe('what is told of the functions of a cluster in the list', () => {
  it('are hashes of the names of those that ran', () => {
    const cluster = emptyCluster();
    expect(cluster.info().functions).toBeUndefined();
    const names = ['load', 'fit', 'never'].map((text, i) => ({
      id: i + 1,
      text
    }));
    const runs = [1, 2, 1].map((fn, i) => ({
      run: i,
      function: fn,
      start: i,
      duration: 1
    }));
    cluster.take([
      encoded(rowsToBlock(1, 'names', names)),
      encoded(rowsToBlock(2, 'runs', runs))
    ]);
    const hashes = ['load', 'fit'].map(fnv1a32).sort((a, b) => a - b);
    expect(cluster.info().functions).toEqual(hashes);
  });
});
