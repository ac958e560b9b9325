/** The line in the status bar is of the cluster in front. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { IStatusBar } from '@jupyterlab/statusbar';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import type { ClusterInfo } from '../../wire/panel-link';
import { SidebarModel } from '../sidebar-model';
import { statusPlugin } from '../status-plugin';
import { labContext } from './lab-context';

function of(path: string, workers: number, over: Partial<ClusterInfo>) {
  const info = clusterInfo();
  return clusterInfo({
    cluster: path,
    name: path,
    notebook: { path },
    workers: Array.from({ length: workers }, (_, worker) => ({
      ...info.workers[0]!,
      worker
    })),
    ...over
  });
}

function setUp(hasSidebar: boolean) {
  const { feed, contexts } = labContext();
  const model = new SidebarModel({
    feed,
    contexts,
    notebookOf: ({ notebook }) => notebook?.path
  });
  let registered: IStatusBar.IItem | undefined;
  const statusBar = {
    registerStatusItem: (_: string, item: IStatusBar.IItem) => {
      registered = item;
    }
  };
  void statusPlugin.activate(
    {} as JupyterFrontEnd,
    ...[feed, statusBar, null, hasSidebar ? model : null]
  );
  const { item, isActive } = registered!;
  Widget.attach(item, document.body);
  const text = async () => {
    // React carries out here what it would schedule: on a busy machine it yields, and the line of before would be read.
    Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
    await act(async () => MessageLoop.flush());
    Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
    return isActive!() ? (item.node.textContent ?? '') : null;
  };
  const title = () => item.node.querySelector('button')?.title ?? '';
  const label = () =>
    item.node.querySelector('button')?.getAttribute('aria-label') ?? '';
  return { feed, model, text, title, label };
}

it('is of the notebook in front, whatever is newer', async () => {
  const { feed, model, text, title } = setUp(true);
  const one = of('one.ipynb', 1, { startedAt: 1000 });
  const two = of('two.ipynb', 2, { startedAt: 2000 });
  feed.setClusters(one, two);
  model.turnTo({ notebook: 'one.ipynb' });
  expect(await text()).toMatch(/^1.worker ·/);
  model.turnTo({ notebook: 'two.ipynb' });
  expect(await text()).toMatch(/^2.workers ·/);
  feed.setClusters(one, { ...two, running: 7 });
  expect(await text()).toContain('7 running ·');
  feed.setClusters(one, { ...two, running: 7, runningCancelled: 2 });
  expect(await text()).toContain('7 running, 2 of them cancelled ·');
  const waiting = [
    { reason: 'input', tasks: 1 },
    { reason: 'no-resource', tasks: 12 }
  ] as const;
  feed.setClusters(one, { ...two, running: 0, waiting });
  expect(await text()).toContain('· 0 running, 13 waiting ·');
  expect(title().split('\n')).toEqual([
    'Spanwise: two.ipynb',
    '12 tasks wait: no worker has the resources that they need (resources=…).',
    '1 task waits for its inputs.'
  ]);
  // Dask tells late that tasks run, and at once that they wait.
  feed.setClusters(one, { ...two, kind: 'dask', running: 3, waiting });
  expect(await text()).toMatch(/^2.workers · 13 waiting · [^·]+$/);
  feed.setClusters(one, { ...two, kind: 'dask', running: 3 });
  expect(await text()).toMatch(/^2.workers · [^·]+$/);
});

it('tells of what runs where the cluster in front has ended', async () => {
  const { feed, model, text, title, label } = setUp(true);
  const ended = of('mine.ipynb', 1, {
    cluster: 'before',
    name: 'mine',
    state: 'ended',
    startedAt: 1000,
    endedAt: 1500
  });
  const next = of('mine.ipynb', 2, { name: 'mine', startedAt: 2000 });
  const other = of('other.ipynb', 3, { startedAt: 3000 });
  feed.setClusters(ended, next, other);
  model.choose(ended);
  model.turnTo({ notebook: 'mine.ipynb', cluster: 'before' });
  expect(model.cluster?.cluster).toBe('before');
  // Of the same notebook, though another is newer; it is named, for the sidebar shows another one.
  expect(await text()).toMatch(/^mine:2.workers ·/);
  expect(label()).toMatch(/^Spanwise: mine: 2.workers, /);
  expect(title().split('\n')).toEqual([
    'Spanwise: mine',
    'The sidebar shows a cluster that has ended.'
  ]);
  feed.setClusters(ended, { ...next, state: 'ended', endedAt: 2500 }, other);
  expect(await text()).toMatch(/^other\.ipynb:3.workers ·/);
  feed.setClusters(ended, { ...other, state: 'ended' });
  expect(await text()).toBeNull();
});

it('names the cluster where it is not that of the notebook in front', async () => {
  const { feed, model, text, title, label } = setUp(true);
  const evil = '<img src=x onerror=alert(1)>';
  const one = of('one.ipynb', 1, { name: evil, startedAt: 1000 });
  const two = of('two.ipynb', 2, { startedAt: 2000 });
  feed.setClusters(one);
  model.turnTo({ notebook: 'work/two.ipynb' });
  expect(await text()).toMatch(/^<img src=x onerror=alert\(1\)>:1.worker ·/);
  expect(label()).toMatch(
    /^Spanwise: <img src=x onerror=alert\(1\)>: 1.worker, /
  );
  expect(title().split('\n')).toEqual([
    `Spanwise: ${evil}`,
    'two.ipynb does not use this cluster, which is that of one.ipynb.'
  ]);
  // Its own came, or one is in its own notebook.
  feed.setClusters(one, { ...two, notebook: { path: 'work/two.ipynb' } });
  expect(await text()).toMatch(/^2.workers ·/);
  expect(label()).toMatch(/^Spanwise: 2.workers, /);
  model.choose(one);
  expect(await text()).toMatch(/^<img/);
  model.turnTo({ notebook: 'one.ipynb' });
  expect(await text()).toMatch(/^1.worker ·/);
  expect(title()).toBe(`Spanwise: ${evil}`);
  // With nothing in front it is nobody else's.
  model.forgetFront();
  expect(await text()).toMatch(/^1.worker ·/);
});

it('is of the newest where no sidebar says what is in front', async () => {
  const { feed, text } = setUp(false);
  expect(await text()).toBeNull();
  feed.setClusters(
    of('one.ipynb', 1, { startedAt: 1000 }),
    of('two.ipynb', 2, { startedAt: 2000 })
  );
  expect(await text()).toMatch(/^2.workers ·/);
});
