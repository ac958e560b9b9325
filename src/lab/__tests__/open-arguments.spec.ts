import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { bracketing } from '../../testing/translators';
import type { ClusterUser } from '../../feed/cluster-ref';
import type { ClusterInfo } from '../../wire/panel-link';
import {
  namedTarget,
  readOpenArguments,
  targetInFront
} from '../open-arguments';

const notebookOf = (info: ClusterUser) => info.notebook?.path;
const inA = clusterInfo({ cluster: 'id-a', notebook: { path: 'a.ipynb' } });
const script = clusterInfo({ cluster: 'id-s', name: 'job', startedAt: 5000 });

describe('the arguments of spanwise:open', () => {
  it('name a panel', () => {
    expect(readOpenArguments({ panel: 'memory' })).toEqual({
      panel: 'memory',
      id: undefined,
      target: undefined,
      state: {}
    });
    expect(() => readOpenArguments({ panel: 'nothing' })).toThrow(
      'one of task-stream, fine-metrics, profile, memory'
    );
  });

  it('hold what a layout saved, whatever became of it', () => {
    expect(
      readOpenArguments({
        panel: 'profile',
        id: 'p-1',
        target: { notebook: 'a.ipynb', name: 3, cluster: 'id-a' },
        state: { showsTable: true }
      })
    ).toEqual({
      panel: 'profile',
      id: 'p-1',
      target: { notebook: 'a.ipynb', cluster: 'id-a' },
      state: { showsTable: true }
    });
    expect(readOpenArguments({ panel: 'profile', state: 7 }).state).toEqual({});
  });

  const named = (args: Record<string, string>, notebook?: string) =>
    namedTarget(args, {
      clusters: [inA, script],
      notebookOf,
      notebookOfKernel: kernel => (kernel === 'k-c' ? 'c.ipynb' : undefined),
      notebook,
      trans: bracketing
    });

  it('find a cluster by notebook, id or name', () => {
    expect(named({ notebook: 'x.ipynb' })).toEqual({
      target: { notebook: 'x.ipynb' }
    });
    expect(named({ cluster: 'id-a' })).toEqual({
      target: { notebook: 'a.ipynb' }
    });
    expect(named({ cluster: 'job' })).toEqual({ target: { name: 'job' } });
    expect(named({})).toBeUndefined();
  });

  it('tell the clusters of one notebook apart, and keep to the one that is named', () => {
    const joined = (path: string, at: number) => ({
      client: at,
      name: path,
      notebook: { path },
      joined: at
    });
    const shared = clusterInfo({
      cluster: 'id-d',
      name: 'default',
      environment: '/env',
      clients: [joined('c.ipynb', 10), joined('d.ipynb', 20)]
    });
    const own = clusterInfo({
      cluster: 'id-c',
      notebook: { path: 'c.ipynb' },
      startedAt: 2000
    });
    const at = (args: Record<string, string>, ...clusters: ClusterInfo[]) =>
      namedTarget(
        { cluster: 'id-d', ...args },
        {
          clusters: [shared, ...clusters],
          notebookOf,
          notebookOfKernel: kernel => kernel.slice(2) + '.ipynb',
          notebook: 'e.ipynb',
          trans: bracketing
        }
      )?.target;
    expect(at({ kernel: 'k-c' })).toEqual({ notebook: 'c.ipynb' });
    expect(at({ kernel: 'k-c' }, own)).toEqual({
      notebook: 'c.ipynb',
      name: 'default'
    });
    // The page has not heard of this one's client yet.
    expect(at({ kernel: 'k-e' })).toEqual({ notebook: 'e.ipynb' });
    expect(at({})).toEqual({ name: 'default' });
  });

  it('tell an older cluster of a notebook from its newer one', () => {
    const older = clusterInfo({
      cluster: 'id-o',
      name: 'older',
      startedAt: 500,
      notebook: { path: 'a.ipynb' }
    });
    const target = (cluster: string, args = {}) =>
      namedTarget(
        { cluster, ...args },
        {
          clusters: [older, inA],
          notebookOf,
          notebookOfKernel: () => undefined,
          notebook: 'a.ipynb',
          trans: bracketing
        }
      )?.target;
    expect(target('id-a')).toEqual({ notebook: 'a.ipynb' });
    expect(target('id-o')).toEqual({ notebook: 'a.ipynb', name: 'older' });
    // So is a Dask cluster that the notebook has attached to, and that began before the notebook's own.
    expect(target('id-o', { notebook: 'a.ipynb' })).toEqual({
      notebook: 'a.ipynb',
      name: 'older'
    });
    expect(target('id-a', { notebook: 'a.ipynb' })).toEqual({
      notebook: 'a.ipynb'
    });
    expect(target('id-o', { notebook: 'b.ipynb' })).toEqual({
      notebook: 'b.ipynb'
    });
  });

  it('take no other cluster for one that the page has not heard of', () => {
    const awaited = 'new-id';
    expect(named({ cluster: awaited, kernel: 'k-c' }, 'b.ipynb')).toEqual({
      target: { notebook: 'c.ipynb' },
      awaited
    });
    expect(named({ cluster: awaited, kernel: 'k-x' }, 'b.ipynb')).toEqual({
      target: { notebook: 'b.ipynb' },
      awaited
    });
    expect(named({ cluster: awaited }, 'b.ipynb')).toEqual({
      target: { notebook: 'b.ipynb' },
      awaited
    });
    expect(() => named({ cluster: awaited })).toThrow(
      /^⟦This page has not heard of .*⟧$/
    );
  });
});

describe('the cluster in front', () => {
  const front = (notebook: string | undefined, ...clusters: ClusterInfo[]) =>
    targetInFront({ current: null, notebook, clusters, notebookOf });

  it('is that of the notebook one works in', () => {
    expect(front('a.ipynb', script, inA)).toEqual({ notebook: 'a.ipynb' });
  });

  it('is the newest where the notebook has none', () => {
    expect(front('b.ipynb', inA, script)).toEqual({ name: 'job' });
    expect(front(undefined, inA)).toEqual({ notebook: 'a.ipynb' });
  });

  it('is the notebook’s next where all have ended', () => {
    const ended: ClusterInfo = { ...script, state: 'ended' };
    expect(front('b.ipynb', ended)).toEqual({ notebook: 'b.ipynb' });
    expect(front(undefined, ended)).toEqual({ name: 'job' });
    expect(front(undefined)).toEqual({});
  });
});
