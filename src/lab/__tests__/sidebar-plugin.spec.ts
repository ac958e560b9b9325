/** What the sidebar looks at again while nothing is in front, as after a reload. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { nullTranslator } from '@jupyterlab/translation';
import type { ReactWidget } from '@jupyterlab/ui-components';
import { MessageLoop } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import type { ClusterTarget, ClusterUser } from '../../feed/cluster-ref';

import type { ClusterInfo } from '../../wire/panel-link';
import { KernelClusters } from '../kernel-clusters';
import { sidebarPlugin } from '../sidebar-plugin';
import { labContext } from './lab-context';

/** Of notebooks by their kernels, as far as these are known. */
let paths: Map<string, string>;
let opened: ClusterTarget | undefined;
let lab: ReturnType<typeof setUp>;

function setUp() {
  const notebookOf = ({ notebook }: ClusterUser) =>
    notebook?.path ?? paths.get(notebook?.kernelId ?? '');
  const { feed, contexts } = labContext(undefined, notebookOf);
  const kernelsChanged = new Signal<object, void>({});
  const layoutModified = new Signal<object, void>({});
  const placed: Widget[] = [];
  const app = {
    serviceManager: { serverSettings: {}, kernelspecs: { specs: null } },
    restored: Promise.resolve()
  };
  const panels = {
    contexts,
    kernels: { changed: kernelsChanged, notebookOf },
    opener: {
      get lastTarget() {
        return opened;
      },
      changed: new Signal<object, void>({}),
      find: () => undefined,
      showing: () => [],
      insteadOf: () => undefined
    }
  };
  const shell = {
    currentWidget: null,
    currentChanged: new Signal<object, void>({}),
    layoutModified,
    add: (widget: Widget) => {
      Widget.attach(widget, document.body);
      placed.push(widget);
    }
  };
  const shown = new Signal<object, string>({});
  const clusters = new KernelClusters({
    ask: () => null,
    trans: nullTranslator.load('spanwise')
  });
  const dask = { clusters, shown };
  void sidebarPlugin.activate(
    app as unknown as JupyterFrontEnd,
    ...[feed, panels, shell, null, null, null, null, dask]
  );
  return { feed, contexts, kernelsChanged, layoutModified, placed, shown };
}

/** React carries out here what it would schedule: on a busy machine it yields, and the card of before would be read. */
async function card(): Promise<string> {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  await act(async () => {
    MessageLoop.flush();
    await Promise.all(
      lab.placed.map(widget => (widget as ReactWidget).renderPromise)
    );
  });
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
  return document.querySelector('.sw-cluster')?.textContent ?? '';
}

beforeEach(() => {
  paths = new Map();
  opened = undefined;
  lab = setUp();
});
afterEach(() => lab.placed.forEach(widget => widget.dispose()));

const own: ClusterInfo = clusterInfo({
  cluster: 'a',
  name: 'own',
  state: 'ended',
  notebook: { kernelId: 'k' }
});
const newer: ClusterInfo = clusterInfo({
  cluster: 'b',
  name: 'newer',
  state: 'ended',
  startedAt: 2000
});

it('turns to the panels that come back', async () => {
  lab.feed.setClusters(own, newer);
  expect(await card()).toContain('newer');
  opened = { name: 'own' };
  lab.layoutModified.emit();
  expect(await card()).toContain('own');
});

it('turns to the panels of a notebook that becomes known by its kernel, and names it', async () => {
  lab.feed.setClusters(own, newer);
  opened = { notebook: 'a.ipynb' };
  lab.layoutModified.emit();
  expect(await card()).toContain('newer');
  paths.set('k', 'a.ipynb');
  lab.contexts.refresh();
  lab.kernelsChanged.emit();
  expect(await card()).toContain('own');
  expect(await card()).toContain('used by a.ipynb');
  paths.set('k', 'renamed.ipynb');
  lab.kernelsChanged.emit();
  expect(await card()).toContain('used by renamed.ipynb');
});

it('shows the Dask cluster that one has attached to, once the page has heard of it', async () => {
  lab.feed.setClusters(newer);
  lab.shown.emit('a');
  expect(await card()).toContain('newer');
  lab.feed.setClusters(own, newer);
  expect(await card()).toContain('own');
});
