import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { labContext } from './lab-context';

const inA = clusterInfo({ cluster: 'a', notebook: { path: 'a.ipynb' } });
const inB = clusterInfo({ cluster: 'b', notebook: { path: 'b.ipynb' } });

describe('ContextPool', () => {
  afterEach(() => jest.useRealTimers());

  it('gives all panels of a notebook one selection, and another notebook another', () => {
    const { feed, contexts } = labContext();
    feed.setClusters(inA, inB);
    const a = contexts.get({ notebook: 'a.ipynb' });
    expect(contexts.get({ notebook: 'a.ipynb' })).toBe(a);
    const b = contexts.get({ notebook: 'b.ipynb' });
    a.selection.toggleWorker(1);
    expect(b.selection.isFiltered).toBe(false);
    expect([a.cluster.current, b.cluster.current]).toEqual([inA, inB]);
  });

  it('makes an open target the context of the notebook that it finds', () => {
    const { feed, contexts } = labContext();
    const open = contexts.get({});
    feed.setClusters(inA);
    expect(contexts.get({ notebook: 'a.ipynb' })).toBe(open);
    feed.setClusters(inA, inB);
    expect(open.cluster.current).toBe(inA);
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

  it('stops following its feed when it is disposed', () => {
    const { feed, contexts } = labContext();
    const { cluster } = contexts.get({ notebook: 'a.ipynb' });
    contexts.dispose();
    contexts.dispose();
    feed.setClusters(inA);
    expect(cluster.current).toBeNull();
  });
});
