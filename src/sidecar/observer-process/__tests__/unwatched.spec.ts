/** A cluster that is not the source's own outlives who watches it. */
import { ObservedCluster, type OpenFields } from '../observed-cluster';

function opening(kind: OpenFields['kind']): OpenFields {
  return {
    clusterId: 'c',
    logId: 'l',
    name: 'n',
    kind,
    wallEpoch: 1000,
    clockAhead: 0,
    pid: process.pid
  } as OpenFields;
}
const opened = (kind: OpenFields['kind']) => new ObservedCluster(opening(kind));

describe('a cluster that is watched no more', () => {
  it('is not said to have ended', () => {
    const cluster = opened('dask');
    expect(cluster.info().unwatched).toBeUndefined();
    cluster.end('closed', 10, 'the cluster was let go and went on', true);
    const { state, unwatched, endedAt, why } = cluster.info();
    expect([state, unwatched, endedAt]).toEqual(['ended', true, 1010]);
    expect(why).toMatch(
      /^Not watched since \d\d:\d\d:\d\d: the cluster was let go and went on\. The history is kept\.$/
    );
    cluster.reopened(opening('dask'));
    expect(cluster.info().unwatched).toBeUndefined();
  });

  it('has not ended with the kernel that watched it', () => {
    const cluster = opened('dask');
    cluster.lost(10);
    const { state, unwatched, why } = cluster.info();
    expect([state, unwatched]).toEqual(['ended', true]);
    expect(why).toMatch(
      /^Not watched since .*: the kernel or program that watched the cluster was lost\. The history is kept\.$/
    );
  });

  it.each([
    ['embedded', /^The scheduler stopped at /],
    ['local', /^Ended at .*: its process was lost\./]
  ] as const)('is none whose scheduler is lost (%s)', (kind, words) => {
    const cluster = opened(kind);
    cluster.lost(10);
    expect(cluster.info().why).toMatch(words);
    expect(cluster.info().unwatched).toBeUndefined();
  });

  it('has ended if it was closed', () => {
    const cluster = opened('dask');
    cluster.end('closed', 10, 'the cluster was closed');
    expect(cluster.info().why).toMatch(
      /^Ended at .*: the cluster was closed\./
    );
    expect(cluster.info().unwatched).toBeUndefined();
  });
});
