import { NONE_U16 } from '../../../records/enumerations';
import { ObservedCluster, type OpenFields } from '../observed-cluster';
import { encoded } from './observer-fixture';

const hour = 3600;

/** Of a log that began 100 s ago. @param ahead - of its clock */
function opened(ahead = 0, told = ahead): ObservedCluster {
  return new ObservedCluster({
    clusterId: 'c',
    logId: 'l',
    name: 'n',
    kind: 'dask',
    wallEpoch: Date.now() / 1000 - 100 + ahead,
    clockAhead: told,
    pid: process.pid
  } as OpenFields);
}

/** Its source has looked again how far its clock is ahead. */
function toldAnew(cluster: ObservedCluster, offset: number): void {
  const columns = {
    t: Float64Array.of(100),
    worker: Uint16Array.of(NONE_U16),
    offset: Float64Array.of(offset),
    within: Float64Array.of(0.001),
    drift: Float64Array.of(NaN),
    why: Uint8Array.of(0)
  };
  const seq = cluster.store.seq + 1;
  cluster.take([
    encoded({ seq, table: 'clocks', rows: 1, columns, text: new Uint8Array() })
  ]);
}

describe('what time it is in a log', () => {
  afterEach(() => jest.restoreAllMocks());

  it('does not jump when the wall clock is set, or the machine has slept', () => {
    const cluster = opened();
    const before = cluster.now();
    expect(before).toBeGreaterThanOrEqual(99.9);
    const wall = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(wall + hour * 1000);
    expect(cluster.now()).toBeLessThan(before + 3000);
    jest.spyOn(Date, 'now').mockReturnValue(wall - hour * 1000);
    expect(cluster.now()).toBeGreaterThanOrEqual(before);
  });

  it.each([-hour, hour])('is told by its own clock, %d s ahead', ahead => {
    const wall = Date.now() / 1000;
    const cluster = opened(ahead);
    expect(cluster.now()).toBeGreaterThanOrEqual(99.9);
    expect(cluster.now()).toBeLessThan(100 + hour / 2);
    // Times of day are of this machine's clock.
    expect(cluster.info().startedAt).toBeGreaterThanOrEqual(wall - 100.1);
    expect(cluster.info().startedAt).toBeLessThan(wall - 100 + hour / 2);
    cluster.end('closed', 100);
    expect(cluster.info().endedAt).toBeGreaterThanOrEqual(wall - 0.1);
    expect(cluster.info().endedAt).toBeLessThan(wall + hour / 2);
  });

  it('is right once its source knows better, and after the source is back', () => {
    const cluster = opened(-hour, 0);
    expect(cluster.now()).toBeGreaterThan(hour);
    toldAnew(cluster, -hour);
    expect(cluster.now()).toBeGreaterThanOrEqual(99.9);
    expect(cluster.now()).toBeLessThan(100 + hour / 2);
    const wallEpoch = Date.now() / 1000 - 100 - hour;
    cluster.reopened({ wallEpoch, clockAhead: -hour } as OpenFields);
    expect(cluster.now()).toBeLessThan(100 + hour / 2);
  });

  it('says which clock it is, if that is another one', () => {
    const said = (ahead: number) =>
      opened(ahead).info().clock?.replaceAll('\u00a0', ' ');
    expect([0, 0.9, -0.9].map(said)).toEqual([undefined, undefined, undefined]);
    expect(said(-40)).toBe(
      'The scheduler’s clock is 40.0 s behind JupyterLab’s: times of day are JupyterLab’s here, the scheduler’s in Python.'
    );
    expect(said(hour)).toContain(
      ' clock is 60 min 00 s ahead of JupyterLab’s: '
    );
  });
});
