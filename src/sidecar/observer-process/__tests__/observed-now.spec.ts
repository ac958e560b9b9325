import { ObservedCluster } from '../observed-cluster';

describe('what time it is in a log', () => {
  afterEach(() => jest.restoreAllMocks());

  it('does not jump when the wall clock is set, or the machine has slept', () => {
    const cluster = new ObservedCluster({
      clusterId: 'c',
      logId: 'l',
      name: 'n',
      wallEpoch: Date.now() / 1000 - 100,
      pid: process.pid
    } as ConstructorParameters<typeof ObservedCluster>[0]);
    const before = cluster.now();
    expect(before).toBeGreaterThanOrEqual(99.9);
    const hour = 3_600_000;
    const wall = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(wall + hour);
    expect(cluster.now()).toBeLessThan(before + 3000);
    jest.spyOn(Date, 'now').mockReturnValue(wall - hour);
    expect(cluster.now()).toBeGreaterThanOrEqual(before);
  });
});
