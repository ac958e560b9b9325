import { ObservedCluster } from '../sidecar/observer-process/observed-cluster';

/** A cluster as an observer knows it once its source has said who it is: without rows. */
export function emptyCluster(): ObservedCluster {
  return new ObservedCluster(
    {
      logId: 'log',
      clusterId: 'c1',
      name: 'test',
      kind: 'embedded',
      wallEpoch: 0,
      clockAhead: 0,
      pid: 1,
      versions: {},
      capabilities: {},
      environmentId: '',
      environment: ''
    },
    {},
    // A test that draws a block wrong is to hear of it.
    why => {
      throw new Error(`A block cannot be read: ${why}`);
    }
  );
}
