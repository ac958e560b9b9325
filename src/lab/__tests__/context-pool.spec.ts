import { clusterInfo } from '../../feed/__tests__/fake-feed';
import type { SelectionModel } from '../../feed/selection';
import { labContext } from './lab-context';

const inA = clusterInfo({ cluster: 'a', notebook: { path: 'a.ipynb' } });
const inB = clusterInfo({ cluster: 'b', notebook: { path: 'b.ipynb' } });

describe('ContextPool', () => {
  afterEach(() => jest.useRealTimers());

  it('gives all panels of a notebook one selection, and another notebook with another cluster another', () => {
    const { feed, contexts } = labContext();
    feed.setClusters(inA, inB);
    const a = contexts.get({ notebook: 'a.ipynb' });
    expect(contexts.get({ notebook: 'a.ipynb' })).toBe(a);
    const b = contexts.get({ notebook: 'b.ipynb' });
    a.selection.toggleWorker(1);
    expect(b.selection.isFiltered).toBe(false);
    expect([a.cluster.current, b.cluster.current]).toEqual([inA, inB]);
  });

  describe('of notebooks that share a cluster', () => {
    const user = (path: string) => ({
      client: 1,
      name: path,
      notebook: { path },
      joined: 2000
    });
    const shared = clusterInfo({
      cluster: 's',
      name: 'default',
      clients: [user('a.ipynb'), user('b.ipynb')]
    });
    const load = { path: ['load'] };

    it('has one filter, whichever notebook a panel is open for, and each goes on by itself', () => {
      const { feed, contexts } = labContext();
      feed.setClusters(inA, shared);
      const a = contexts.get({ notebook: 'a.ipynb' });
      const ofA = a.of(inA, 'pinned');
      const b = contexts.get({ notebook: 'b.ipynb' });
      expect([a, b].map(({ cluster }) => cluster.current)).toEqual([
        shared,
        shared
      ]);
      b.selection.pickSpan(load);
      expect(a.selection.filter).toEqual({ spans: { any: [load] } });
      // What shows another cluster is not concerned, the same notebook's neither.
      expect(ofA.selection.isFiltered).toBe(false);
      const ofOther = contexts.get({ name: shared.name });
      expect(ofOther.selection.filter).toEqual({ spans: { any: [load] } });

      feed.setClusters(inA, shared, { ...inB, startedAt: 3000 });
      expect(b.cluster.current?.cluster).toBe('b');
      b.selection.clear();
      expect(a.selection.isFiltered).toBe(true);
    });

    it('is not changed by a notebook that comes from another cluster', () => {
      const { feed, contexts } = labContext();
      feed.setClusters(inB, { ...shared, clients: [user('a.ipynb')] });
      const a = contexts.get({ notebook: 'a.ipynb' });
      a.selection.pickSpan(load);
      a.selection.setTime({ from: 1, to: 2 });
      const b = contexts.get({ notebook: 'b.ipynb' });
      b.selection.setTime({ from: 4, to: 5 });
      feed.setClusters(inB, shared);
      expect(b.cluster.current).toBe(shared);
      for (const { selection } of [a, b]) {
        expect(selection.filter).toEqual({ spans: { any: [load] } });
        expect(selection.time).toEqual({ from: 1, to: 2 });
      }
    });

    it('is what a notebook has that joins, after a reload as well', () => {
      jest.useFakeTimers();
      const { feed, contexts, saved } = labContext();
      const b = contexts.get({ notebook: 'b.ipynb' });
      feed.setClusters({ ...shared, clients: [user('a.ipynb')] });
      const a = contexts.get({ notebook: 'a.ipynb' });
      a.selection.pickSpan(load);
      expect(b.selection.isFiltered).toBe(false);
      feed.setClusters(shared);
      expect(b.selection.filter).toEqual({ spans: { any: [load] } });
      contexts.get({ name: shared.name });
      jest.runAllTimers();
      expect(saved.size).toBe(3);
      expect(
        new Set([...saved.values()].map(each => JSON.stringify(each))).size
      ).toBe(1);
    });
  });

  it('makes an open target the context of the notebook that it finds', () => {
    const { feed, contexts } = labContext();
    const open = contexts.get({});
    feed.setClusters(inA);
    expect(contexts.get({ notebook: 'a.ipynb' })).toBe(open);
    feed.setClusters(inA, inB);
    expect(open.cluster.current).toBe(inA);
  });

  describe('of a cluster that panels are pinned to', () => {
    const first = { ...inA, name: 'first' };
    const survey = clusterInfo({
      cluster: 's',
      name: 'survey',
      startedAt: 2000,
      notebook: { path: 'a.ipynb' }
    });
    const setUp = () => {
      const { feed, contexts } = labContext();
      feed.setClusters(first);
      const own = contexts.get({ notebook: 'a.ipynb' });
      own.selection.toggleFunction('inc');
      const pinned = own.of(first, 'pinned');
      return { feed, contexts, own, pinned };
    };

    it('stays with it, while the notebook goes on', () => {
      const { feed, own, pinned } = setUp();
      expect(pinned.cluster.current).toBe(first);
      feed.setClusters(first, survey);
      expect(own.cluster.current).toBe(survey);
      expect(pinned.cluster.current).toBe(first);
      expect(pinned.of(survey, 'follows')).toBe(own);
      expect(pinned.of(first, 'follows')).toBe(pinned);
    });

    it('has the notebook’s filter as long as that shows the same cluster, and takes it back', () => {
      const { feed, own, pinned } = setUp();
      expect(pinned.selection.filter).toEqual({ functions: ['inc'] });
      pinned.selection.toggleFunction('dec');
      expect(own.selection.filter).toEqual({ functions: ['inc', 'dec'] });
      own.selection.undo();
      expect(pinned.selection.filter).toEqual({ functions: ['inc'] });
      pinned.selection.undo();
      expect(own.selection.filter).toEqual({ functions: ['inc', 'dec'] });

      feed.setClusters(first, survey);
      own.selection.clear();
      expect(pinned.selection.isFiltered).toBe(true);
      // Who comes back to the cluster finds its filter.
      feed.setClusters(first, { ...survey, state: 'ended' });
      expect(own.cluster.current).toBe(first);
      expect(own.selection.filter).toEqual({ functions: ['inc', 'dec'] });
    });

    it('can be one run alone', () => {
      const { feed, own } = setUp();
      const run = own.of(first, 'run');
      const next = { ...first, cluster: 'a2', startedAt: 3000 };
      feed.setClusters({ ...first, state: 'ended' }, next);
      expect(own.cluster.current).toBe(next);
      expect(run.cluster.current?.cluster).toBe('a');
    });

    it('lets go of a run when all to whom it was given have, and saves its filter', () => {
      const { feed, contexts, saved } = labContext();
      feed.setClusters(first, survey);
      const own = contexts.get({ notebook: 'a.ipynb' });
      const run = own.of(first, 'run');
      expect(own.of(first, 'run')).toBe(run);
      run.selection.toggleFunction('inc');
      run.release();
      expect(run.cluster.isDisposed).toBe(false);
      run.release();
      expect(run.cluster.isDisposed).toBe(true);
      expect(run.selection.isDisposed).toBe(true);
      expect([...saved.values()]).toEqual([
        expect.objectContaining({
          filter: { functions: ['inc'] },
          time: 'all'
        })
      ]);
      // Given again it is another one.
      const next = own.of(first, 'run');
      expect(next).not.toBe(run);
      // A panel has it as its target.
      expect(contexts.get(next.cluster.target)).toBe(next);
      next.release();
      expect(next.cluster.isDisposed).toBe(false);
    });
  });

  it('lends the context of one run until it is given back, and others for good', () => {
    const { feed, contexts } = labContext();
    feed.setClusters(inA);
    const run = { notebook: 'a.ipynb', name: inA.name, cluster: 'a' };
    const lent = contexts.lend(run);
    expect(contexts.lend(run)).toBe(lent);
    // To look what a target means makes no context, and keeps none.
    expect(contexts.clusterOf(run)).toBe(inA);
    expect(contexts.clusterOf({ notebook: 'b.ipynb' })).toBeNull();
    lent.release();
    expect(lent.cluster.isDisposed).toBe(false);
    lent.release();
    expect(lent.cluster.isDisposed).toBe(true);

    const own = contexts.lend({ notebook: 'a.ipynb' });
    own.release();
    expect(own.cluster.isDisposed).toBe(false);

    const ofPanel = contexts.get(run);
    contexts.lend(run).release();
    expect(ofPanel.cluster.isDisposed).toBe(false);
  });

  it('brings a saved filter back, unless there is a newer one', async () => {
    jest.useFakeTimers();
    const first = labContext();
    const target = { notebook: 'a.ipynb' };
    first.contexts
      .get(target)
      .selection.toggleSpan({ path: ['flow', '<b>load'] }, 'any');
    jest.runAllTimers();

    const again = labContext(first.saved);
    const { selection } = again.contexts.get(target);
    await again.contexts.restored(target);
    expect(selection.filter).toEqual({
      spans: { any: [{ path: ['flow', '<b>load'] }] }
    });

    const busy = labContext(first.saved);
    const own = busy.contexts.get(target).selection;
    own.toggleFunction('inc');
    await busy.contexts.restored(target);
    expect(own.filter).toEqual({ functions: ['inc'] });
  });

  describe('when its notebook goes on to another cluster', () => {
    const next = clusterInfo({
      cluster: 'a2',
      logId: 'log-2',
      startedAt: 3000,
      notebook: { path: 'a.ipynb' }
    });
    const load = { path: ['load'] };
    const target = { notebook: 'a.ipynb' };
    const filterAll = (selection: SelectionModel) => {
      selection.pickSpan(load);
      selection.toggleWorker(1);
      selection.setTime({ from: 4.44, to: 4.83 });
      selection.select({ kind: 'run', run: 7 });
    };
    const names = { filter: { spans: { any: [load] } }, time: 'all' };

    it('keeps names, and neither the task nor the workers and the seconds of the one before', () => {
      const { feed, contexts } = labContext();
      feed.setClusters(inA);
      const { selection, of } = contexts.get(target);
      const pinned = of(inA, 'pinned').selection;
      filterAll(selection);
      feed.setClusters({ ...inA, state: 'ended' }, next);
      for (const each of [selection, pinned]) {
        expect(each.state).toEqual({ ...names, selected: null });
      }
      // Nor does Ctrl Z bring one back.
      selection.undo();
      expect(selection.state).toEqual({
        filter: {},
        time: 'all',
        selected: null
      });
      expect(selection.canUndo).toBe(false);

      // A cluster that is attached anew has its id, and another log.
      selection.setTime({ from: 1, to: 2 });
      feed.setClusters({ ...next, logId: 'log-3' });
      expect([selection.time, pinned.time]).toEqual(['all', 'all']);

      selection.setTime({ last: 5 });
      selection.select({ kind: 'function', name: 'inc' });
      feed.setClusters({ ...next, logId: 'log-4' });
      expect(selection.state).toEqual({
        filter: {},
        time: { last: 5 },
        selected: { kind: 'function', name: 'inc' }
      });
    });

    it.each(['before', 'after'])(
      'and the page was reloaded, %s the page hears of it',
      async order => {
        jest.useFakeTimers();
        const first = labContext();
        first.feed.setClusters(inA);
        filterAll(first.contexts.get(target).selection);
        jest.runAllTimers();

        for (const [now, state] of [
          [inA, first.contexts.get(target).selection.state],
          [next, names]
        ] as const) {
          const again = labContext(new Map(first.saved));
          if (order === 'after') {
            again.feed.setClusters(now);
          }
          const { selection } = again.contexts.get(target);
          await again.contexts.restored(target);
          again.feed.setClusters(now);
          expect(selection.state).toEqual({ ...state, selected: null });
        }
      }
    );
  });

  it('stops following its feed when it is disposed', () => {
    const { feed, contexts } = labContext();
    const { cluster } = contexts.get({ notebook: 'a.ipynb' });
    contexts.dispose();
    contexts.dispose();
    feed.setClusters(inA);
    expect(cluster.current).toBeNull();
  });
});
