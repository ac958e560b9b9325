/**
 * A page with one panel on a drawn run, to look at and to measure:
 *
 *   page.html?panel=task-stream&shade=dark&live&runs=1000000&delay=100&functions=50
 *   page.html?panel=fine-metrics&observed=20000
 *
 * Built and opened by `look.mjs`.
 */
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { readPalette } from '../../charts/theme';
import { ClusterRef } from '../../feed/cluster-ref';
import { SelectionModel } from '../../feed/selection';
import { fineMetricsPanel } from '../../panels/fine-metrics';
import { memoryPanel } from '../../panels/memory';
import type { ITheme } from '../../panels/panel-context';
import type { PanelDescription } from '../../panels/panel';
import { profilePanel } from '../../panels/profile';
import { taskStreamPanel } from '../../panels/task-stream';
import { DrawnFeed } from './drawn-feed';
import { firstLook, manyRuns } from './drawn-run';
import { ObservedRun } from './observed-run';

const query = new URLSearchParams(window.location.search);
const runs = Number(query.get('runs') ?? 0);
document.body.dataset.swShade = query.get('shade') ?? 'light';
document.body.dataset.jpThemeLight = String(query.get('shade') !== 'dark');

const observed = query.has('observed')
  ? new ObservedRun(Number(query.get('observed')) || 20_000)
  : null;
const feed = new DrawnFeed({
  run: runs > 0 ? manyRuns(runs) : firstLook(),
  live: query.has('live'),
  delayMs: Number(query.get('delay') ?? 0),
  moreFunctions: Number(query.get('functions') ?? 0),
  ...(observed === null
    ? {}
    : {
        answer: spec => observed.answer(spec),
        tile: (spec, level, index) => observed.tile(spec, level, index),
        detail: run => observed.detail(run)
      })
});

class PageTheme implements ITheme {
  readonly palette = readPalette(document.body);
  readonly changed: Signal<ITheme, ITheme['palette']> = new Signal(this);
}

const descriptions: readonly PanelDescription[] = [
  taskStreamPanel,
  fineMetricsPanel,
  profilePanel,
  memoryPanel
];
const description = descriptions.find(
  item => item.name === (query.get('panel') ?? 'task-stream')
);
const selection = new SelectionModel();
const panel = description?.create({
  context: {
    feed,
    cluster: new ClusterRef({
      feed,
      target: { name: 'first-look' },
      notebookOf: () => undefined
    }),
    selection,
    theme: new PageTheme(),
    translator: nullTranslator
  }
});
if (panel) {
  Widget.attach(panel, document.body);
  Object.assign(window, { panel, selection, feed });
}
