/**
 * A page with one panel and the observer behind it, to look at and to measure:
 *
 *   page.html?panel=task-stream&shade=dark&live&cancelled=2&delay=100      a drawn run
 *   page.html?panel=fine-metrics&runs=20000                                a synthetic one of so many runs
 *   page.html?panel=compare&functions=12                                   with an earlier run
 *   page.html?runs=100000&workers=1000&mean=400                            on so many workers, of so many milliseconds
 *   page.html?runs=5000&failed=0.0006                                      of which such a share fails at once
 *
 * Built and opened by `look.mjs`.
 */
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { readPalette, setShade } from '../../charts/theme';
import { ClusterRef } from '../../feed/cluster-ref';
import { SelectionModel } from '../../feed/selection';
import { bandwidthPanel } from '../../panels/bandwidth';
import { comparePanel } from '../../panels/compare';
import { fineMetricsPanel } from '../../panels/fine-metrics';
import { memoryPanel } from '../../panels/memory';
import type { ITheme } from '../../panels/panel-context';
import type { PanelDescription } from '../../panels/panel';
import { profilePanel } from '../../panels/profile';
import { progressPanel } from '../../panels/progress';
import { systemPanel } from '../../panels/system';
import { taskStreamPanel } from '../../panels/task-stream';
import { syntheticLog } from '../synthetic-log';
import { drawnLog } from './drawn-log';
import { firstLook } from './drawn-run';
import { ObservedPage } from './observed-page';

const query = new URLSearchParams(window.location.search);
const runs = Number(query.get('runs') ?? 0);
setShade(document.body, query.get('shade') === 'dark' ? 'dark' : 'light');
document.body.dataset.jpThemeLight = String(query.get('shade') !== 'dark');

const isLive = query.has('live');
const drawn = firstLook(Number(query.get('functions') ?? 0));
const { feed } = new ObservedPage({
  blocks:
    runs > 0
      ? syntheticLog({
          runs,
          workers: Number(query.get('workers') ?? 4),
          threadsPerWorker: Number(query.get('threads') ?? 2),
          functions: 20,
          spans: 6,
          meanMilliseconds: Number(query.get('mean') ?? 40),
          partsShare: 0.3,
          ...(query.has('failed') && {
            failedShare: Number(query.get('failed')),
            failedMilliseconds: 0.05
          })
        })
      : drawnLog(drawn, {
          live: isLive,
          cancelled: Number(query.get('cancelled') ?? 0)
        }),
  earlier:
    query.get('panel') === 'compare'
      ? drawnLog(firstLook(2 * Number(query.get('functions') ?? 0) + 3))
      : undefined,
  liveAt: isLive ? drawn.end + 0.9 : undefined,
  delayMilliseconds: Number(query.get('delay') ?? 0)
});

class PageTheme implements ITheme {
  readonly palette = readPalette(document.body);
  readonly changed: Signal<ITheme, ITheme['palette']> = new Signal(this);
}

const descriptions: readonly PanelDescription[] = [
  taskStreamPanel,
  fineMetricsPanel,
  profilePanel,
  memoryPanel,
  progressPanel,
  bandwidthPanel,
  systemPanel,
  comparePanel
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
    translator: nullTranslator,
    of: () => {
      throw new Error('There is one cluster here.');
    },
    release: () => undefined
  }
});
if (panel) {
  Widget.attach(panel, document.body);
  Object.assign(window, { panel, selection, feed });
}
