/**
 * All texts of panels that are answered by the observer's own session over a drawn log. All of it goes through the translator, whose texts
 * are bracketed here: outside the brackets stand the user's own names, and figures with their units.
 */
import { type ITranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { readPalette } from '../../charts/theme';
import { ClusterRef } from '../../feed/cluster-ref';
import { SelectionModel } from '../../feed/selection';
import { BoxKind } from '../../records/enumerations';
import { bracketing, untranslated } from '../../testing/translators';
import type { LogStore } from '../../observer/store/log-store';
import type { Honoured } from '../../observer/folds/context';
import { HONOURED } from '../../observer/folds/honoured';
import { ACTIVITIES } from '../../observer/store/activity-cells';
import { drawnLog, drawnStore } from '../../testing/panel-harness/drawn-log';
import { firstLook } from '../../testing/panel-harness/drawn-run';
import { ObservedPage } from '../../testing/panel-harness/observed-page';
import { waitFor } from '../../testing/wait-for';
import { bandwidthPanel } from '../bandwidth';
import { progressPanel } from '../progress';
import { comparePanel } from '../compare';
import { fineMetricsPanel } from '../fine-metrics';
import { memoryPanel } from '../memory';
import type { PanelDescription, SpanwisePanel } from '../panel';
import type { ITheme, PanelContext } from '../panel-context';
import { profilePanel } from '../profile';
import { systemPanel } from '../system';
import { taskStreamPanel } from '../task-stream';

jest.mock('../../charts/plotly-bundle', () => ({
  plotly: { react: () => Promise.reject(new Error('…')), purge: () => {} }
}));

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

const run = firstLook(38);
/** Texts that are not ours: names in the drawn log, and names of source and observer for what they measure. */
const given = [
  ...run.boxes.map(box => box.function),
  ...run.spans.map(span => span.tag),
  ...framesOf(drawnStore(run)),
  ...ACTIVITIES,
  'first-look',
  'ValueError: Input X contains NaN.',
  // The observer's sentence: it knows no translator.
  (HONOURED['task-stream'].time as Honoured).why ?? '',
  'before',
  'after',
  // Types of results, whole in the table and short in the chart.
  'pandas:DataFrame',
  'numpy:ndarray',
  'DataFrame',
  'ndarray'
];
function framesOf(log: LogStore): string[] {
  return log.frames.chunks.flatMap(({ columns, rows }) =>
    Array.from({ length: rows }, (_, i) => [
      log.name(columns.function[i]!),
      log.name(columns.file[i]!).split('/').at(-1)!
    ]).flat()
  );
}

/** Texts and what stands for texts: titles, labels and descriptions. */
function textsOf(root: Element): string[] {
  const texts: string[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() !== null) {
    const parent = walker.currentNode.parentElement;
    // Keys, places in files and errors are the user's own.
    if (parent?.closest('code, pre, style, svg') === null) {
      texts.push(walker.currentNode.textContent ?? '');
    }
  }
  for (const element of root.querySelectorAll('*')) {
    for (const name of [
      'title',
      'aria-label',
      'aria-description',
      'aria-roledescription',
      'placeholder'
    ]) {
      texts.push(element.getAttribute(name) ?? '');
    }
  }
  return texts.filter(text => text !== '');
}

type Opened = {
  readonly panel: SpanwisePanel;
  readonly selection: SelectionModel;
  text(): string;
};

describe('the panels', () => {
  let page: ObservedPage;
  let panel: SpanwisePanel;

  async function open(
    description: PanelDescription,
    state = {}
  ): Promise<Opened> {
    page = new ObservedPage({
      blocks: drawnLog(run, { live: true }),
      liveAt: run.end + 0.9,
      trans: bracketing
    });
    const theme = { palette: readPalette(document.body) } as ITheme;
    Object.assign(theme, { changed: new Signal(theme) });
    const selection = new SelectionModel();
    const context: PanelContext = {
      feed: page.feed,
      cluster: new ClusterRef({
        feed: page.feed,
        target: { name: 'first-look' },
        notebookOf: () => undefined
      }),
      selection,
      theme,
      translator: { load: () => bracketing } as unknown as ITranslator,
      // The run is compared with itself.
      of: () => context,
      release: () => undefined
    };
    const { cluster, name } = page.cluster.info();
    panel = description.create({
      context,
      state: { ...state, second: { cluster, name } }
    });
    Widget.attach(panel, document.body);
    page.feed.reconnect();
    const text = () => {
      MessageLoop.flush();
      return panel.node.textContent ?? '';
    };
    await waitFor('figures of the panel', () => {
      text();
      return (
        panel.node.querySelector(
          '.sw-legend, .sw-Bandwidth-types, [role=tree], td'
        ) !== null
      );
    });
    return { panel, selection, text };
  }

  afterEach(() => {
    panel.dispose();
    page.dispose();
  });

  const panels = [
    ['Task Stream', taskStreamPanel],
    ['Fine Performance Metrics', fineMetricsPanel],
    ['Profile', profilePanel],
    ['Memory Sampler', memoryPanel],
    ['Progress', progressPanel],
    ['Bandwidth', bandwidthPanel],
    ['System', systemPanel],
    ['Compare', comparePanel]
  ] as const;
  const pasts = (root: Element) =>
    textsOf(root).filter(text => untranslated(text, given) !== '');

  it.each(panels)(
    'show no text in the chart of %s that went past the translator',
    async (_, description) => {
      await open(description, { align: 'clock', show: 'workers' });
      expect(textsOf(panel.node).length).toBeGreaterThan(20);
      expect(pasts(panel.node)).toEqual([]);
    }
  );

  it.each(panels)(
    'show no text in the table of %s that went past the translator',
    async (_, description) => {
      await open(description, { showsTable: true });
      expect(textsOf(panel.node).length).toBeGreaterThan(20);
      expect(pasts(panel.node)).toEqual([]);
    }
  );

  it('show none in the drawer of a task and among conditions', async () => {
    const { selection } = await open(taskStreamPanel);
    const failed = run.boxes.find(({ kind }) => kind === BoxKind.Failed)!;
    selection.select({ kind: 'run', run: failed.run });
    const drawer = await waitFor('the drawer', () => {
      MessageLoop.flush();
      return panel.node.querySelector('.sw-drawer-body') ?? undefined;
    });
    expect(drawer.textContent).toContain('⟦⟦failed⟧, attempt 1⟧');
    expect(pasts(panel.node)).toEqual([]);
    selection.toggleSpan({ path: ['Alice’s workflow', 'clean'] }, 'any');
    selection.toggleSpan({ tag: 'features' }, 'not');
    selection.toggleFunction('fit_fold');
    selection.toggleFunction('getitem', true);
    selection.setTime({ from: 3, to: 12 });
    await waitFor('the chips', () => {
      MessageLoop.flush();
      return panel.node.querySelector('.sw-chips') !== null;
    });
    expect(pasts(panel.node)).toEqual([]);
  });

  it('show none among the facts of a frame, and none of groups', async () => {
    await open(profilePanel, { groupBy: 'worker', showsTable: true });
    const frames = () =>
      [...panel.node.querySelectorAll<HTMLElement>('[role=treeitem]')].map(
        item => item.firstElementChild?.textContent?.replace(/[▾▸]/, '')
      );
    await waitFor('four workers', () => frames().length >= 5);
    expect(
      frames()
        .filter(name => name?.includes('worker'))
        .sort()
    ).toEqual([0, 1, 2, 3].map(worker => `⟦worker ${worker}⟧`));
    expect(frames()[0]).toBe('⟦all functions⟧');
    panel.node
      .querySelector<HTMLElement>('[role=treeitem]:nth-child(3)')!
      .click();
    panel.node
      .querySelector<HTMLElement>(
        '[aria-label^="⟦Show as"], [aria-pressed=true][aria-label*=table]'
      )!
      .click();
    await waitFor('the facts', () => {
      MessageLoop.flush();
      return panel.node.querySelector('.sw-Profile-details') !== null;
    });
    expect(pasts(panel.node)).toEqual([]);
  });

  it('show none where a chart cannot be drawn', async () => {
    await open(memoryPanel);
    const said = await waitFor(
      'what is said instead',
      () => panel.node.querySelector('[role=alert].sw-drawer-note') ?? undefined
    );
    expect(said.textContent).toContain('The chart could not be drawn');
    expect(pasts(panel.node)).toEqual([]);
  });

  it('show none where the page has no link to the observer', async () => {
    const { selection } = await open(taskStreamPanel);
    page.feed.dispose();
    selection.select({ kind: 'run', run: run.boxes[0]!.run });
    await waitFor('what is said instead of the task', () => {
      MessageLoop.flush();
      return panel.node.textContent?.includes('There is no connection');
    });
    expect(pasts(panel.node)).toEqual([]);
  });

  it.each(['breakdown', 'difference'])(
    'show none in the %s of memory',
    async below => {
      await open(memoryPanel, { below, align: 'zero' });
      await waitFor('what is below the chart', () => {
        MessageLoop.flush();
        return panel.node.querySelector('.sw-Memory-breakdown') !== null;
      });
      expect(pasts(panel.node)).toEqual([]);
    }
  );
});
