import { REFUSED_CLUSTER, type ClusterInfo } from '../../wire/panel-link';
import {
  ClusterRef,
  followingTarget,
  newestOf,
  notebooksOf,
  pinnedTarget,
  targetKey,
  targetOf,
  type ClusterTarget,
  type ClusterUser
} from '../cluster-ref';
import { clusterInfo, FakeFeed } from './fake-feed';

const notebookOf = (info: ClusterUser) => info.notebook?.path;

function make(target: ClusterTarget, ...clusters: ClusterInfo[]) {
  const feed = new FakeFeed();
  feed.setClusters(...clusters);
  const ref = new ClusterRef({ feed, target, notebookOf });
  return { feed, ref };
}

const of = (cluster: string, over: Partial<ClusterInfo>) =>
  clusterInfo({ cluster, name: cluster, ...over });

/** As client 1 of a cluster; `left`: it is connected no more. */
const joined = (path: string, at: number, left?: number) => ({
  client: 1,
  name: path,
  notebook: { path },
  joined: at,
  ...(left !== undefined && { left })
});

describe('A cluster that notebooks share', () => {
  const shared = of('shared', {
    startedAt: 1,
    environment: '/env',
    clients: [joined('a.ipynb', 2), joined('b.ipynb', 3, 5)]
  });
  const own = of('own', { startedAt: 4, notebook: { path: 'b.ipynb' } });

  it('is found by each of its notebooks', () => {
    for (const notebook of ['a.ipynb', 'b.ipynb']) {
      expect(make({ notebook }, shared).ref.current).toBe(shared);
    }
    expect(make({ notebook: 'c.ipynb' }, shared).ref.current).toBeNull();
  });

  it('gives way to the cluster that the notebook is connected to, and then to the one that it used last', () => {
    const { feed, ref } = make({ notebook: 'b.ipynb' }, shared, own);
    expect(ref.current).toBe(own);
    const back = { ...shared, clients: [joined('b.ipynb', 3)] };
    feed.setClusters(back, { ...own, state: 'ended' });
    expect(ref.current).toBe(back);
    const gone = { ...shared, clients: [joined('b.ipynb', 3, 600)] };
    feed.setClusters(gone, { ...own, state: 'ended', endedAt: 900 });
    expect(ref.current?.cluster).toBe('own');
    feed.setClusters(gone, { ...own, state: 'ended', endedAt: 300 });
    expect(ref.current?.cluster).toBe('shared');
  });

  it('is called by its notebook while it has one, and by its name when it has several', () => {
    const alone = { ...shared, clients: [joined('a.ipynb', 2)] };
    expect(targetOf(alone, notebookOf)).toEqual({ notebook: 'a.ipynb' });
    expect(targetOf(shared, notebookOf)).toEqual({ name: 'shared' });
    expect(targetOf({ ...shared, clients: [] }, notebookOf)).toEqual({
      name: 'shared'
    });
    expect(targetOf({ ...own, clients: shared.clients }, notebookOf)).toEqual({
      notebook: 'b.ipynb'
    });
  });

  it('lists its notebooks, and which are connected', () => {
    const uses = (info: ClusterInfo) =>
      notebooksOf(info, notebookOf).map(
        ({ path, isHere }) => `${path}${isHere ? '' : ' left'}`
      );
    expect(uses(shared)).toEqual(['a.ipynb', 'b.ipynb left']);
    expect(uses({ ...shared, state: 'ended' })).toEqual([
      'a.ipynb left',
      'b.ipynb left'
    ]);
  });
});

describe('Of two clusters of a notebook', () => {
  const older = of('older', { startedAt: 1, notebook: { path: 'a.ipynb' } });
  const newer = of('newer', { startedAt: 2, notebook: { path: 'a.ipynb' } });
  const twin = { ...newer, cluster: 'twin', startedAt: 3 };

  it('the newer one is followed, and the older one kept by its name', () => {
    const infos = [older, newer];
    const follow = (info: ClusterInfo) =>
      followingTarget(info, infos, notebookOf);
    expect(follow(newer)).toEqual({ notebook: 'a.ipynb' });
    expect(follow(older)).toEqual({ notebook: 'a.ipynb', name: 'older' });
    expect(make(follow(older), ...infos).ref.current).toBe(older);
  });

  it('each can be kept, whatever the notebook starts next', () => {
    const target = pinnedTarget(newer, [older, newer], notebookOf);
    expect(target).toEqual({ notebook: 'a.ipynb', name: 'newer' });
    const { feed, ref } = make(target, older, newer);
    const third = of('third', { startedAt: 9, notebook: { path: 'a.ipynb' } });
    feed.setClusters(older, newer, third);
    expect(ref.current).toBe(newer);
    // It goes on with the next run of the name.
    feed.setClusters(older, { ...newer, state: 'ended' }, third, twin);
    expect(ref.current).toBe(twin);
  });

  it('of one name each is found by its id, and by its name when the page knows the id no more', () => {
    const target = pinnedTarget(newer, [older, newer, twin], notebookOf);
    expect(target).toEqual({
      notebook: 'a.ipynb',
      name: 'newer',
      cluster: 'newer'
    });
    expect(targetKey(target)).not.toBe(
      targetKey({ notebook: 'a.ipynb', name: 'newer' })
    );
    expect(make(target, older, newer, twin).ref.current).toBe(newer);
    expect(make(target, older, twin).ref.current).toBe(twin);
  });
});

describe('ClusterRef', () => {
  const a1 = of('a1', { startedAt: 1, notebook: { path: 'a.ipynb' } });
  const b1 = of('b1', { startedAt: 2, notebook: { path: 'b.ipynb' } });

  it('does not mix two notebooks', () => {
    const { feed, ref } = make({ notebook: 'a.ipynb' }, b1);
    expect(ref.current).toBeNull();
    feed.setClusters(b1, a1);
    expect(ref.current).toBe(a1);
    feed.setClusters(b1, { ...a1, state: 'ended' });
    expect(ref.current?.cluster).toBe('a1');
  });

  it('names what runs elsewhere, or has ended there, while nothing of its own is known', () => {
    const { feed, ref } = make({ notebook: 'a.ipynb' });
    const told: (string | undefined)[] = [];
    ref.changed.connect(({ elsewhere }) =>
      told.push(elsewhere?.cluster, elsewhere?.state)
    );
    const ended = { ...b1, state: 'ended' as const };
    const toldOf = (...infos: ClusterInfo[]) => {
      feed.setClusters(...infos);
      return told.splice(0);
    };
    expect(toldOf(ended)).toEqual(['b1', 'ended']);
    expect(toldOf(b1)).toEqual(['b1', 'running']);
    expect(toldOf({ ...b1, tasks: b1.tasks + 1 })).toEqual([]);
    const later = { ...ended, cluster: 'b2', startedAt: 9 };
    expect(toldOf(b1, later)).toEqual([]);
    expect(toldOf(ended, later)).toEqual(['b2', 'ended']);
    expect(toldOf(of(REFUSED_CLUSTER, {}))).toEqual([undefined, undefined]);
    expect(toldOf(b1, a1)).toEqual([undefined, undefined]);
    expect(toldOf(b1, { ...a1, state: 'ended' })).toEqual([
      undefined,
      undefined
    ]);
  });

  it('follows the next cluster of its notebook by itself', () => {
    const { feed, ref } = make({ notebook: 'a.ipynb' }, a1);
    const ended: ClusterInfo = { ...a1, state: 'ended' };
    const next = of('a2', { startedAt: 9, notebook: { path: 'a.ipynb' } });
    feed.setClusters(ended, next);
    expect(ref.current).toBe(next);
  });

  it('prefers a running cluster to one that started later and ended', () => {
    const late = of('a2', {
      startedAt: 9,
      state: 'ended',
      notebook: { path: 'a.ipynb' }
    });
    expect(make({ notebook: 'a.ipynb' }, a1, late).ref.current).toBe(a1);
  });

  describe('when what it shows ends', () => {
    const path = { notebook: { path: 'a.ipynb' } };
    const orders = of('orders', { startedAt: 1, ...path });
    const ended = (info: ClusterInfo, endedAt: number): ClusterInfo => ({
      ...info,
      state: 'ended',
      endedAt
    });
    const over = ended(of('blas', { startedAt: 50, ...path }), 60);

    it.each([
      ['of a notebook', { notebook: 'a.ipynb' }],
      ['of whatever comes first', {}]
    ])(
      'stays there, although another one began later and ended before (%s)',
      (_, target) => {
        const { feed, ref } = make(target, orders, over);
        expect(ref.current).toBe(orders);
        const lost = { ...ended(orders, 1000), why: 'It was killed.' };
        feed.setClusters(lost, over);
        expect(ref.current).toBe(lost);
        // (as after a reload)
        expect(make(target, lost, over).ref.current).toBe(lost);
        expect(newestOf([lost, over])).toBe(lost);
        const next = of('next', { startedAt: 1010, ...path });
        feed.setClusters(lost, over, next);
        expect(ref.current).toBe(next);
      }
    );

    it('stays there, although another one of the same kernel ends a little later', () => {
      const late = of('late', { startedAt: 50, ...path });
      const { feed, ref } = make({ notebook: 'a.ipynb' }, orders, late);
      expect(ref.current).toBe(late);
      const gone = ended(late, 1000);
      feed.setClusters(ended(orders, 1004), gone);
      expect(ref.current).toBe(gone);
    });
  });

  it('stays when following is off', () => {
    const { feed, ref } = make({ notebook: 'a.ipynb' }, a1);
    ref.setFollows(false);
    const next = of('a2', { startedAt: 9, notebook: { path: 'a.ipynb' } });
    feed.setClusters({ ...a1, state: 'ended' }, next);
    expect(ref.current?.cluster).toBe('a1');
    ref.setFollows(true);
    expect(ref.current).toBe(next);
  });

  it('binds an open target to the first cluster it meets', () => {
    const { feed, ref } = make({});
    expect(ref.name).toBeUndefined();
    feed.setClusters(a1);
    expect(ref.target).toEqual({ notebook: 'a.ipynb' });
    feed.setClusters({ ...a1, state: 'ended' }, b1);
    expect(ref.current?.cluster).toBe('a1');
  });

  it('waits for a cluster that a new observer does not know yet, and takes no older one for it', () => {
    jest.useFakeTimers();
    try {
      const newer = of('a2', { startedAt: 9, notebook: { path: 'a.ipynb' } });
      const { feed, ref } = make({ notebook: 'a.ipynb' }, a1, newer);
      expect([ref.current, ref.missingSince]).toEqual([newer, null]);
      const told = jest.fn();
      ref.changed.connect(told);
      feed.setClusters();
      expect(ref.current).toBe(newer);
      expect(ref.missingSince).toBe(Date.now());
      expect(told).toHaveBeenCalledTimes(1);
      feed.setClusters(a1);
      expect(ref.current).toBe(newer);
      feed.setClusters(a1, newer);
      expect([ref.current, ref.missingSince]).toEqual([newer, null]);
      // One that does not come back gives way in the end.
      feed.setClusters(a1);
      // The wall clock is put back meanwhile.
      jest.setSystemTime(Date.now() - 60_000);
      jest.advanceTimersByTime(9_900);
      expect(ref.current).toBe(newer);
      jest.advanceTimersByTime(200);
      expect([ref.current, ref.missingSince]).toEqual([a1, null]);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('says for a while that it waits for a cluster that it was told of', () => {
    jest.useFakeTimers();
    try {
      const { feed, ref } = make({ notebook: 'a.ipynb' }, b1);
      ref.await('a1');
      expect([ref.current, ref.isAwaiting]).toEqual([null, true]);
      const told = jest.fn();
      ref.changed.connect(told);
      feed.setClusters(b1, a1);
      expect([ref.current, ref.isAwaiting]).toEqual([a1, false]);
      expect(told).toHaveBeenCalledTimes(1);
      // Of a run of weeks ago, whose output still shows a button, nobody will hear.
      ref.await('of weeks ago');
      expect([ref.current, ref.isAwaiting]).toEqual([a1, true]);
      jest.advanceTimersByTime(30_000);
      expect(ref.isAwaiting).toBe(false);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('knows scripts by their name', () => {
    const script = of('first_look', { notebook: undefined });
    const { ref } = make({}, script);
    expect(ref.target).toEqual({ name: 'first_look' });
  });

  it('shows that a cluster was turned away only while it knows no other', () => {
    const refused = of(REFUSED_CLUSTER, {
      startedAt: 99,
      state: 'reconnecting',
      notebook: undefined
    });
    expect(newestOf([refused, a1])).toBe(a1);
    const { feed, ref } = make({}, refused);
    expect(ref.current).toBe(refused);
    // It is not held to what it was shown in the meantime.
    feed.setClusters(refused, a1);
    expect(ref.current).toBe(a1);
    expect(ref.target).toEqual({ notebook: 'a.ipynb' });
  });

  it('shows a forgotten cluster as it was last seen', () => {
    const { feed, ref } = make({ notebook: 'a.ipynb' }, a1);
    feed.setClusters();
    expect(ref.current).toBe(a1);
  });

  it('tells of changes and of nothing else', () => {
    const { feed, ref } = make({ notebook: 'a.ipynb' }, a1);
    const told = jest.fn();
    ref.changed.connect(told);
    feed.setClusters(a1, b1);
    expect(told).not.toHaveBeenCalled();
    feed.setClusters({ ...a1, tasks: 99 }, b1);
    expect(told).toHaveBeenCalledTimes(1);
    ref.dispose();
    feed.setClusters(b1);
    expect(told).toHaveBeenCalledTimes(1);
  });
});
