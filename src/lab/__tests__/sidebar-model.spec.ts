import { Signal } from '@lumino/signaling';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import type { ClusterTarget, ClusterUser } from '../../feed/cluster-ref';
import type { ClusterInfo } from '../../wire/panel-link';
import { keepArrange } from '../kept-arrange';
import { SidebarModel } from '../sidebar-model';
import { drawnSpans } from './drawn-spans';
import { labContext } from './lab-context';

const inA = clusterInfo({ cluster: 'a', notebook: { path: 'a.ipynb' } });
const inB = clusterInfo({
  cluster: 'b',
  name: 'bob',
  startedAt: 2000,
  notebook: { path: 'b.ipynb' }
});

function setUp(
  inPanels?: SidebarModel.IOptions['inPanels'],
  isInPanels?: SidebarModel.IOptions['isInPanels']
) {
  /** Of notebooks by their kernels, as far as these are known. */
  const paths = new Map<string, string>();
  const notebookOf = ({ notebook }: ClusterUser) =>
    notebook?.path ?? paths.get(notebook?.kernelId ?? '');
  const { feed, contexts } = labContext(undefined, notebookOf);
  const model = new SidebarModel({
    feed,
    contexts,
    notebookOf,
    inPanels,
    isInPanels
  });
  return { feed, contexts, paths, model };
}

describe('SidebarModel', () => {
  it('shares the selection of panels that were opened before there was a cluster', () => {
    const { feed, contexts, model } = setUp();
    const ofPanels = contexts.get({ notebook: 'a.ipynb' });
    feed.setClusters(inA);
    expect(model.cluster).toBe(inA);
    expect(model.context.selection).toBe(ofPanels.selection);
  });

  it('turns to the cluster of the notebook in front, and stays where that has none', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA, inB);
    expect(model.cluster?.name).toBe('bob');
    model.turnTo({ notebook: 'a.ipynb' });
    expect(model.cluster).toBe(inA);
    model.turnTo({ notebook: 'none.ipynb' });
    expect(model.cluster).toBe(inA);
  });

  it('knows the notebook in front, whatever cluster it shows', () => {
    const { feed, model } = setUp();
    expect(model.notebookInFront).toBeUndefined();
    const told = jest.fn();
    model.changed.connect(told);
    model.turnTo({ notebook: 'deep/b.ipynb' });
    expect(model.notebookInFront).toBe('deep/b.ipynb');
    // It may have something to offer.
    expect(told).toHaveBeenCalled();
    feed.setClusters(inA);
    expect(model.target.notebook).toBe('a.ipynb');
    expect(model.notebookInFront).toBe('deep/b.ipynb');
    model.choose(inA);
    expect(model.notebookInFront).toBe('deep/b.ipynb');
  });

  it('turns from one notebook to the other of a cluster that they share, with one filter', () => {
    const { feed, model } = setUp();
    const client = (path: string) => ({
      client: 1,
      name: path,
      notebook: { path },
      joined: 1
    });
    const shared = clusterInfo({
      cluster: 's',
      name: 'default (env)',
      environment: '/env',
      clients: [client('a.ipynb'), client('b.ipynb')]
    });
    feed.setClusters(inA, shared);
    model.turnTo({ notebook: 'b.ipynb' });
    expect(model.cluster).toBe(shared);
    // There is room for one name: that of the notebook in front.
    expect(model.users.notebooks).toEqual(['b.ipynb', 'a.ipynb']);
    model.choose(shared);
    expect(model.target).toEqual({ notebook: 'b.ipynb' });
    const ofB = model.context.selection;
    feed.setClusters({ ...inA, state: 'ended' }, shared);
    model.turnTo({ notebook: 'a.ipynb' });
    expect(model.cluster).toBe(shared);
    const ofA = model.context.selection;
    ofA.pickSpan({ path: ['load'] });
    expect(ofB.filter).toEqual(ofA.filter);
    expect(model.target).toEqual({ notebook: 'a.ipynb' });
  });

  it('shows a cluster that was started in it as soon as it hears of it', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA);
    model.turnTo({ notebook: 'a.ipynb' });
    model.showWhenHeardOf('s');
    expect(model.cluster).toBe(inA);
    const started = clusterInfo({ cluster: 's', name: 'default' });
    feed.setClusters(inA, started);
    expect(model.cluster).toBe(started);
    model.turnTo({ notebook: 'a.ipynb' });
    feed.setClusters(inA, { ...started, tasks: 9 });
    expect(model.cluster).toBe(inA);
  });

  it('turns to the notebook in front when its cluster comes, unless another was chosen', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA);
    model.turnTo({ notebook: 'b.ipynb' });
    expect(model.cluster).toBe(inA);
    feed.setClusters(inA, inB);
    expect(model.cluster).toBe(inB);
    model.choose(inA);
    feed.setClusters(inA, { ...inB, tasks: 1 });
    expect(model.cluster).toBe(inA);
  });

  it('turns from what has ended to a program that runs, where nothing else is in front', () => {
    const { feed, model } = setUp();
    const old: ClusterInfo = { ...inA, state: 'ended' };
    const program = clusterInfo({ cluster: 'p', name: 'job', startedAt: 3000 });
    feed.setClusters(old);
    expect(model.cluster).toBe(old);
    feed.setClusters(old, program);
    expect(model.cluster).toBe(program);
    model.turnTo({ notebook: 'a.ipynb' });
    feed.setClusters(old, { ...program, tasks: 1 });
    expect(model.cluster).toBe(old);
  });

  it('shows what the open panels show while nothing is in front, as after a reload', () => {
    const panels: ClusterTarget[] = [];
    const { feed, model } = setUp(() => panels[0]);
    const own: ClusterInfo = { ...inA, state: 'ended' };
    const observation: ClusterInfo = { ...inB, kind: 'local', state: 'ended' };
    feed.setClusters(own, observation);
    expect(model.cluster).toBe(observation);
    // They come back when JupyterLab restores its layout.
    panels.push({ notebook: 'a.ipynb' });
    model.lookAtPanels();
    expect(model.cluster).toBe(own);
    feed.setClusters(own, { ...observation, tasks: 3 });
    expect(model.cluster).toBe(own);
    // What runs is not hidden by what has ended.
    feed.setClusters(own, inB);
    expect(model.cluster).toBe(inB);
    // Who turns to a notebook, or chooses, has the last word.
    feed.setClusters(inA, inB);
    expect(model.cluster).toBe(inA);
    model.turnTo({ notebook: 'b.ipynb' });
    model.lookAtPanels();
    expect(model.cluster).toBe(inB);
    model.turnTo({ notebook: 'none.ipynb' });
    feed.setClusters(inA, { ...inB, tasks: 3 });
    model.lookAtPanels();
    expect(model.cluster?.cluster).toBe('b');
    // Who closes what is in front has not asked for the other cluster.
    model.forgetFront();
    model.lookAtPanels();
    expect(model.cluster?.cluster).toBe('b');
  });

  it('stays with what was chosen while nothing is in front, whatever the open panels show', () => {
    const { feed, model } = setUp(() => ({ notebook: 'a.ipynb' }));
    feed.setClusters(inA, inB);
    expect(model.cluster).toBe(inA);
    model.choose(inB);
    model.lookAtPanels();
    feed.setClusters({ ...inA, tasks: 9 }, inB);
    expect(model.cluster).toBe(inB);
  });

  it('stays with what an open panel shows when a newer one shows something else, or is pinned no more', () => {
    const panels: ClusterTarget[] = [{ notebook: 'a.ipynb' }];
    const shown = new Set(['a']);
    const { feed, model } = setUp(
      () => panels.at(-1),
      ({ cluster }) => shown.has(cluster)
    );
    feed.setClusters(inA, inB);
    expect(model.cluster).toBe(inA);
    panels.push({ notebook: 'b.ipynb' });
    shown.add('b');
    model.lookAtPanels();
    feed.setClusters({ ...inA, tasks: 1 }, inB);
    expect(model.cluster?.cluster).toBe('a');
    // What runs still takes the place of what has ended.
    feed.setClusters({ ...inA, state: 'ended' }, inB);
    expect(model.cluster?.cluster).toBe('b');
    shown.clear();
    panels.pop();
    feed.setClusters(inA, inB);
    expect(model.cluster?.cluster).toBe('a');
  });

  it('stays with what was chosen when more is known of the notebook in front', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA, inB);
    model.turnTo({ notebook: 'a.ipynb' });
    model.choose(inB);
    model.turnTo({ notebook: 'renamed.ipynb' }, null, false);
    model.turnTo({ notebook: 'a.ipynb' }, null, false);
    feed.setClusters({ ...inA, tasks: 1 }, inB);
    expect(model.cluster).toBe(inB);
    model.showWhenHeardOf('c');
    model.turnTo({ notebook: 'a.ipynb' }, null, false);
    const inC = clusterInfo({ cluster: 'c', name: 'carol' });
    feed.setClusters(inA, inB, inC);
    expect(model.cluster).toBe(inC);
    // Who turns to it anew has the last word.
    model.turnTo({ notebook: 'a.ipynb' });
    expect(model.cluster).toBe(inA);
  });

  it.each([
    ['are there at once', true],
    ['come back later', false]
  ])(
    'shows what the open panels show until the kernel of the notebook in front is known; they %s',
    (_, areThere) => {
      const panels: ClusterTarget[] = [];
      const { feed, model } = setUp(() => panels[0]);
      if (areThere) {
        panels.push({ name: inA.name });
      }
      model.turnTo({ notebook: 'unknown yet' });
      feed.setClusters(
        { ...inA, state: 'ended' },
        { ...inB, kind: 'local', state: 'ended' }
      );
      expect(model.cluster?.cluster).toBe(areThere ? 'a' : 'b');
      panels[0] ??= { name: inA.name };
      model.lookAtPanels();
      expect(model.cluster?.cluster).toBe('a');
    }
  );

  it('shows what the open panels show when their notebook becomes known by its kernel, and tells of nothing else', () => {
    const { feed, contexts, paths, model } = setUp(() => ({
      notebook: 'a.ipynb'
    }));
    const kernel = { kernelId: 'k' };
    const own: ClusterInfo = { ...inA, notebook: kernel, state: 'ended' };
    const observation: ClusterInfo = { ...inB, kind: 'local', state: 'ended' };
    feed.setClusters(own, observation);
    expect(model.cluster).toBe(observation);
    const told = jest.fn();
    model.changed.connect(told);
    model.lookAtPanels();
    expect(told).not.toHaveBeenCalled();
    paths.set('k', 'a.ipynb');
    contexts.refresh();
    model.lookAtPanels();
    expect(model.cluster).toBe(own);
    expect(told).toHaveBeenCalled();
    told.mockClear();
    model.lookAtPanels();
    expect(told).not.toHaveBeenCalled();
  });

  it('stays with a program that has ended, until what the open panels show runs again', () => {
    const { feed, model } = setUp(() => ({ notebook: 'a.ipynb' }));
    const own: ClusterInfo = { ...inA, state: 'ended' };
    const program = clusterInfo({ cluster: 'p', name: 'job', startedAt: 3000 });
    const ended: ClusterInfo = { ...program, state: 'ended' };
    feed.setClusters(own);
    expect(model.cluster).toBe(own);
    feed.setClusters(own, program);
    expect(model.cluster).toBe(program);
    feed.setClusters(own, ended);
    model.lookAtPanels();
    expect(model.cluster).toBe(ended);
    const again = { ...inA, cluster: 'a2', startedAt: 4000 };
    feed.setClusters(own, ended, again);
    expect(model.cluster).toBe(again);
    feed.setClusters(own, ended, { ...again, state: 'ended' });
    expect(model.cluster?.cluster).toBe('a2');
  });

  it('turns from what has ended to a program that runs, where the panel or notebook in front was closed', () => {
    const { feed, model } = setUp();
    const old: ClusterInfo = { ...inA, state: 'ended' };
    const program = clusterInfo({ cluster: 'p', name: 'job', startedAt: 3000 });
    const first = new Signal<object, void>({});
    const second = new Signal<object, void>({});
    feed.setClusters(old);
    model.turnTo({ notebook: 'a.ipynb' }, first);
    model.turnTo({ notebook: 'a.ipynb' }, second);
    // The one that is in front now is open.
    first.emit();
    feed.setClusters(old, program);
    expect(model.cluster).toBe(old);
    expect(model.notebookInFront).toBe('a.ipynb');
    second.emit();
    expect(model.notebookInFront).toBeUndefined();
    expect(model.cluster).toBe(program);
    // As if all had been closed before it started.
    model.turnTo({ notebook: 'a.ipynb' }, first);
    feed.setClusters(old);
    expect(model.cluster).toBe(old);
    model.forgetFront();
    expect(model.cluster).toBe(old);
    feed.setClusters(old, program);
    expect(model.cluster).toBe(program);
  });

  it('stays with a cluster that runs when its panels are closed', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA, inB);
    model.turnTo({ notebook: 'a.ipynb' });
    model.forgetFront();
    feed.setClusters(inA, { ...inB, tasks: 1 });
    expect(model.cluster).toBe(inA);
  });

  it('stays with an ended one that was chosen', () => {
    const { feed, model } = setUp();
    const old: ClusterInfo = { ...inA, state: 'ended' };
    feed.setClusters(old);
    model.choose(old);
    feed.setClusters(old, inB);
    expect(model.cluster).toBe(old);
  });

  it('can show an older cluster of a notebook that has two', () => {
    const { feed, model } = setUp();
    const older = clusterInfo({
      cluster: 'b0',
      name: 'first',
      startedAt: 500,
      notebook: { path: 'b.ipynb' }
    });
    feed.setClusters(older, inB);
    model.choose(older);
    expect(model.cluster).toBe(older);
    model.choose(inB);
    expect(model.cluster).toBe(inB);
  });

  it('watches spans while it is visible, those of the cluster it shows', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA);
    expect(feed.running).toHaveLength(0);
    model.setVisible(true);
    expect(feed.running.map(({ spec }) => [spec.view, spec.cluster])).toEqual([
      ['spans', 'a']
    ]);
    const answer = drawnSpans('flow 3');
    feed.running[0]?.answer(answer);
    expect(model.spans).toBe(answer);
    feed.setClusters(inA, inB);
    model.turnTo({ notebook: 'b.ipynb' });
    expect(feed.running.map(({ spec }) => spec.cluster)).toEqual(['b']);
    expect(model.spans).toBeNull();
    model.setVisible(false);
    expect(feed.running).toHaveLength(0);
  });

  it('knows what is recorded beside the cluster, and the cluster beside the recording', () => {
    const { feed, model } = setUp();
    const local = clusterInfo({
      cluster: 'l',
      name: 'local',
      kind: 'local',
      startedAt: 500,
      notebook: { path: 'a.ipynb' }
    });
    feed.setClusters(inA, { ...inB, kind: 'local' });
    model.turnTo({ notebook: 'a.ipynb' });
    // That of another notebook is none of its own.
    expect(model.beside).toBeNull();
    feed.setClusters(inA, local);
    expect([model.cluster, model.beside]).toEqual([inA, local]);
    model.choose(local);
    expect([model.cluster, model.beside]).toEqual([local, inA]);
    feed.setClusters(inA, { ...local, state: 'ended' });
    model.choose(inA);
    expect(model.beside).toBeNull();
    // Two runs are chosen from, and need no line.
    feed.setClusters(inA, { ...inB, notebook: { path: 'a.ipynb' } });
    expect(model.beside).toBeNull();
  });

  it('says what is recorded beside a shared cluster in the notebook in front, and in no other', () => {
    const { feed, model } = setUp();
    const client = (path: string) => ({
      client: 1,
      name: path,
      joined: 1,
      notebook: { path }
    });
    const shared = clusterInfo({
      cluster: 's',
      clients: [client('a.ipynb'), client('b.ipynb')]
    });
    const localIn = (path: string) =>
      clusterInfo({
        cluster: `local in ${path}`,
        name: path,
        kind: 'local',
        startedAt: -1,
        notebook: { path }
      });
    const [inFirst, inSecond] = [localIn('a.ipynb'), localIn('b.ipynb')];
    feed.setClusters(shared, inFirst);
    model.choose(shared);
    model.turnTo({ notebook: 'b.ipynb' });
    expect([model.cluster, model.beside]).toEqual([shared, null]);
    feed.setClusters(shared, inFirst, inSecond);
    expect(model.beside).toBe(inSecond);
    model.turnTo({ notebook: 'a.ipynb' });
    expect(model.beside).toBe(inFirst);
  });

  it('forgets the context of one run when it turns away', () => {
    const { feed, contexts, model } = setUp();
    feed.setClusters(inA, inB);
    const run = contexts.of(inA, 'run');
    model.turnTo(run.cluster.target);
    expect(model.context).toBe(run);
    run.release();
    // What is in front is looked at again and again.
    feed.setClusters({ ...inA }, inB);
    expect(run.cluster.isDisposed).toBe(false);
    model.turnTo({ notebook: 'b.ipynb' });
    expect(model.cluster).toBe(inB);
    expect(run.cluster.isDisposed).toBe(true);
  });

  it('keeps no context of one run that was chosen, when it turns away', () => {
    const { feed, contexts, model } = setUp();
    // Two of the same name: the older one is known by its id alone.
    const older = { ...inA, cluster: 'older', startedAt: 100 };
    feed.setClusters(older, inA, inB);
    model.choose(older);
    const { context } = model;
    expect(context.cluster.target.cluster).toBe('older');
    contexts.clearFilter(context.cluster.target);
    expect(context.cluster.isDisposed).toBe(false);
    model.turnTo({ notebook: 'b.ipynb' });
    expect(model.cluster).toBe(inB);
    expect(context.cluster.isDisposed).toBe(true);
  });

  it.each<[string, (model: SidebarModel) => void]>([
    ['turned a row', model => model.setTurned(['a'], true)],
    ['searched', model => model.setSearch('load')],
    ['picked a span', model => model.keepArrange()]
  ])(
    'keeps spans arranged as they were when one %s, on the same cluster',
    (_, use) => {
      const { feed, model } = setUp();
      feed.setClusters(inA, inB);
      model.turnTo({ notebook: 'a.ipynb' });
      model.setVisible(true);
      const notebook = (times: number) => {
        const drawn = drawnSpans(
          ['a.ipynb 9', '  # fit 1', '    load 1']
            .concat(Array.from({ length: times - 1 }, () => '  # fit 1'))
            .join('\n')
        );
        return {
          ...drawn,
          rows: drawn.rows.map((row, i) => ({
            ...row,
            id: `id ${i}`,
            origin:
              ({ 'a.ipynb': 'notebook', '# fit': 'cell' } as const)[
                row.tag as '# fit'
              ] ?? ('user' as const)
          }))
        };
      };
      const tell = (times: number) => feed.running[0]!.answer(notebook(times));
      // Nothing is there to stay as it is.
      use(model);
      tell(2);
      expect(model.arrange).toBe('cell');
      tell(1);
      expect(model.arrange).toBe('path');
      use(model);
      tell(2);
      expect(model.arrange).toBe('path');
      model.setVisible(false);
      model.setVisible(true);
      tell(2);
      expect(model.arrange).toBe('path');
      // Who chooses has the last word.
      model.setArrange('tag');
      expect(model.arrange).toBe('tag');
    }
  );

  it('turns no spans below the pointer, and does when it has left', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA);
    model.setVisible(true);
    const tell = (origin: 'cell' | 'user') => {
      const drawn = drawnSpans('load 1');
      const rows = drawn.rows.map(row => ({ ...row, origin }));
      feed.running[0]!.answer({ ...drawn, rows });
    };
    // Nothing is there to stay as it is.
    model.holdArrange(true);
    tell('cell');
    expect(model.arrange).toBe('cell');
    model.holdArrange(true);
    tell('user');
    expect(model.arrange).toBe('cell');
    const told = jest.fn();
    model.changed.connect(told);
    model.holdArrange(false);
    expect(model.arrange).toBe('path');
    expect(told).toHaveBeenCalled();
  });

  it('arranges spans as they were chosen to be, also after a reload', async () => {
    const saved = new Map<string, unknown>();
    const state = {
      fetch: (key: string) => Promise.resolve(saved.get(key) as never),
      save: (key: string, value: unknown) => {
        saved.set(key, value);
        return Promise.resolve() as never;
      }
    };
    const { model } = setUp();
    await keepArrange(model, state);
    expect([model.chosenArrange, saved.size]).toEqual([null, 0]);
    model.setArrange('tag');
    const again = setUp().model;
    await keepArrange(again, state);
    expect(again.arrange).toBe('tag');
    // Who chooses before the page knows has the last word.
    const later = setUp().model;
    const kept = keepArrange(later, state);
    later.setArrange('cell');
    await kept;
    expect([later.arrange, ...saved.values()]).toEqual(['cell', 'cell']);
    // It may be of another version.
    saved.set([...saved.keys()][0]!, 'by colour');
    const other = setUp().model;
    await keepArrange(other, state);
    expect(other.chosenArrange).toBeNull();
  });

  it('arranges spans of another cluster as is usual for them, however those before were', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA, inB);
    model.turnTo({ notebook: 'a.ipynb' });
    model.setVisible(true);
    feed.running[0]!.answer(drawnSpans('load 1'));
    model.setSearch('load');
    model.turnTo({ notebook: 'b.ipynb' });
    const cells = drawnSpans('# fit 1');
    feed.running[0]!.answer({
      ...cells,
      rows: cells.rows.map(row => ({ ...row, origin: 'cell' }))
    });
    expect(model.arrange).toBe('cell');
  });

  it('keeps the spans it had while hidden', () => {
    const { feed, model } = setUp();
    feed.setClusters(inA);
    model.setVisible(true);
    const answer = drawnSpans('flow 3');
    feed.running[0]?.answer(answer);
    model.setVisible(false);
    expect(model.spans).toBe(answer);
    model.setVisible(true);
    expect(model.spans).toBe(answer);
  });
});
