import { Clipboard } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { createElement } from '../../charts/shown-element';
import { readPalette } from '../../charts/theme';
import { ClusterRef, type ClusterTarget } from '../../feed/cluster-ref';
import { clusterInfo, FakeFeed } from '../../feed/__tests__/fake-feed';
import { SelectionModel } from '../../feed/selection';
import { labContext } from '../../lab/__tests__/lab-context';
import type { SpansResult } from '../../wire/panel-link';
import { taskStreamIcon } from '../icons';
import { SpanwisePanel } from '../panel';
import { strips } from '../panel-states';
import type { TableData } from '../format';
import type {
  IClusterOffers,
  ITheme,
  PanelContext,
  PanelFace,
  PanelOptions
} from '../panel-context';
import { useWatch } from '../use-watch';

const face: PanelFace = {
  name: 'task-stream',
  title: trans => trans.__('Task Stream'),
  question: trans => trans.__('What ran where, and when?'),
  icon: taskStreamIcon
};

const ANSWER: SpansResult = {
  view: 'spans',
  rows: [],
  totalThreadSeconds: 7,
  totalTasks: 3,
  clients: []
};

/** Of a clock that stands: seconds that panels count depend on no pace. */
const NOW = 1_800_000_000_000;

/** A part of a chart that asks for figures of its own. */
function Beside(props: { readonly context: PanelContext }): JSX.Element {
  const { snapshot } = useWatch(props.context, 'spans', { all: true });
  const { result } = snapshot ?? {};
  return <b>{result?.view === 'spans' ? `${result.totalTasks} beside` : ''}</b>;
}

class TestPanel extends SpanwisePanel<SpansResult> {
  breaks = false;
  asksTwice = false;
  /** What it says of its own where there is no task. */
  own = '';

  protected get view() {
    return 'spans' as const;
  }

  protected override isEmpty(result: SpansResult) {
    return result.totalTasks === 0 ? { hidden: 456 } : null;
  }

  protected override ownState(result: SpansResult) {
    return this.own !== '' && result.totalTasks === 0
      ? { title: this.own, sentence: '' }
      : null;
  }

  protected renderChart(result: SpansResult) {
    if (this.breaks) {
      throw new Error('the chart is <b>broken</b>');
    }
    return (
      <p>
        {result.totalTasks} tasks
        {this.asksTwice && <Beside context={this.context} />}
      </p>
    );
  }

  protected tableData(result: SpansResult): TableData {
    return {
      columns: [{ name: 'Tasks', numeric: true }],
      rows: [[{ text: '3', value: result.totalTasks }]]
    };
  }
}

function setUp(
  options: Partial<PanelOptions> & {
    target?: ClusterTarget;
    offers?: IClusterOffers;
    of?: PanelContext['of'];
    turnPanels?: PanelContext['turnPanels'];
  }
) {
  const feed = new FakeFeed();
  const cluster = new ClusterRef({
    feed,
    target: options.target ?? {},
    notebookOf: info => info.notebook?.path
  });
  const selection = new SelectionModel();
  const theme = { palette: readPalette(document.body) } as ITheme;
  Object.assign(theme, { changed: new Signal(theme) });
  const context: PanelContext = {
    feed,
    cluster,
    selection,
    theme,
    translator: nullTranslator,
    offers: options.offers,
    of:
      options.of ??
      (() => {
        throw new Error('There is one cluster here.');
      }),
    turnPanels: options.turnPanels,
    release: () => undefined
  };
  const panel = new TestPanel(face, { context, state: options.state });
  Widget.attach(panel, document.body);
  return { feed, cluster, selection, context, panel };
}

/** What `jest.useFakeTimers` leaves alone: Lumino and React draw by some of them. */
const ALL_BUT_TIMEOUTS = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'requestAnimationFrame',
  'cancelAnimationFrame',
  'requestIdleCallback',
  'cancelIdleCallback',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval'
] as const;

/** React carries out here what it would schedule; elsewhere Lumino attaches and detaches as it does in a page. */
async function settled(what: () => Promise<void>): Promise<void> {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  await act(what);
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
}

/** Let Lumino and React draw. */
async function drawn(panel: TestPanel): Promise<string> {
  await settled(async () => {
    MessageLoop.flush();
    await panel.renderPromise;
  });
  return panel.node.textContent ?? '';
}

/** What the panel says after so many milliseconds of `setTimeout`, whose clock the test has stopped. */
async function later(panel: TestPanel, milliseconds: number): Promise<string> {
  await settled(async () => void jest.advanceTimersByTime(milliseconds));
  return drawn(panel);
}

const get = (panel: TestPanel, selector: string) => {
  const found = panel.node.querySelector<HTMLElement>(selector);
  if (found === null) {
    throw new Error(`no ${selector} in ${panel.node.innerHTML}`);
  }
  return found;
};

describe('SpanwisePanel', () => {
  let panel: TestPanel | undefined;
  afterEach(() => {
    panel?.dispose();
    panel?.dispose();
  });

  it('ends when it is closed, and who tracks it hears so', () => {
    const made = setUp({});
    panel = made.panel;
    const ended = jest.fn();
    panel.disposed.connect(ended);
    panel.close();
    MessageLoop.flush();
    expect(panel.isDisposed).toBe(true);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('says that there is no cluster, and names it when it comes', async () => {
    const made = setUp({});
    panel = made.panel;
    expect(panel.title.label).toBe('Task Stream');
    expect(await drawn(panel)).toContain('No cluster is running.');
    expect(made.feed.watches).toHaveLength(0);

    made.feed.setClusters(clusterInfo());
    expect(panel.title.label).toBe('Task Stream · first-look');
    await drawn(panel);
    expect(get(panel, 'section').getAttribute('aria-label')).toBe(
      'Task Stream, first-look'
    );
    expect(get(panel, '[role=toolbar]').getAttribute('aria-label')).toBe(
      'Task Stream tools'
    );
  });

  it('offers the Dask cluster of its notebook until it shows one', async () => {
    const target = { notebook: 'a.ipynb' };
    const address = 'tcp://<b>there</b>:8786';
    const show = jest.fn();
    let offer: ReturnType<IClusterOffers['of']> = null;
    const of = jest.fn((_: ClusterTarget) => offer);
    const offers = { of } as unknown as IClusterOffers;
    const changed = new Signal<unknown, void>(offers);
    Object.assign(offers, { changed });
    const made = setUp({ target, offers });
    panel = made.panel;
    expect(await drawn(panel)).toContain('No cluster is running.');
    const told = async (what: object) => {
      offer = { address, isUnderWay: false, problem: undefined, show, ...what };
      changed.emit();
      return drawn(made.panel);
    };
    expect(await told({})).toContain(`The notebook is connected to ${address}`);
    expect(of).toHaveBeenLastCalledWith(target);
    get(panel, '.sw-state-buttons button').click();
    expect(show).toHaveBeenCalledTimes(1);

    expect(await told({ isUnderWay: true })).toContain('Attaching…');
    get(panel, '.sw-state-buttons button').click();
    expect(show).toHaveBeenCalledTimes(1);
    expect(await told({ problem: 'Nobody listens.' })).toContain(
      'The cluster is not shown.Nobody listens.'
    );
    made.feed.setClusters(clusterInfo({ notebook: { path: 'a.ipynb' } }));
    expect(await drawn(panel)).not.toContain('not shown');
  });

  it('says where something runs while nothing of its notebook does', async () => {
    const made = setUp({ target: { notebook: 'a.ipynb' } });
    panel = made.panel;
    expect(await drawn(panel)).toContain('No cluster is running.');
    made.feed.setClusters(clusterInfo({ name: '<b>daily</b>', kind: 'local' }));
    const text = await drawn(panel);
    expect(text).toContain('No cluster of a.ipynb is running.');
    expect(text).toContain('<b>daily</b> is running elsewhere.');
  });

  it('shows what runs elsewhere by a button, in the other panels too', async () => {
    const other = setUp({ target: { name: 'daily' } });
    const asked: unknown[][] = [];
    const turned: string[] = [];
    const made = setUp({
      target: { notebook: 'a.ipynb' },
      of: ({ cluster }, stay) => {
        asked.push([cluster, stay]);
        return other.context;
      },
      turnPanels: ({ cluster }) => turned.push(cluster)
    });
    panel = made.panel;
    const daily = clusterInfo({ name: 'daily' });
    other.feed.setClusters(daily);
    made.feed.setClusters(daily);
    await drawn(panel);
    const buttons = panel.node.querySelectorAll('.sw-state-buttons button');
    expect([...buttons].map(({ textContent }) => textContent)).toEqual([
      'Show daily here'
    ]);
    get(panel, '.sw-state-buttons button').click();
    expect(panel.cluster).toBe(daily);
    expect(asked).toEqual([[daily.cluster, 'follows']]);
    expect(turned).toEqual([daily.cluster]);
    other.panel.dispose();
  });

  it.each([
    ['local', 'The observation <b>daily</b> has ended, and its history'],
    ['embedded', '<b>daily</b> has ended, and its history'],
    ['dask', '<b>daily</b> has ended, and its history']
  ] as const)(
    'says which run (%s) has ended while nothing of its notebook runs',
    async (kind, words) => {
      const made = setUp({ target: { notebook: 'a.ipynb' } });
      panel = made.panel;
      const info = clusterInfo({ name: '<b>daily</b>', kind });
      made.feed.setClusters(info);
      const runs = await drawn(panel);
      expect(runs).toContain('is running elsewhere.');
      expect(runs).not.toContain('client = Client()');
      made.feed.setClusters({ ...info, state: 'ended' });
      expect(await drawn(panel)).toBe(
        `No cluster of a.ipynb is running.${words} is kept. Run client = Client() in a notebook, after from spanwise import Client.Show <b>daily</b> here`
      );
      const codes = [
        ...panel.node.querySelectorAll('.sw-state-sentence code')
      ].map(({ textContent }) => textContent);
      expect(codes).toEqual([
        'client = Client()',
        'from spanwise import Client'
      ]);
      made.feed.setClusters(info);
      made.feed.setClusters({ ...info, state: 'ended', unwatched: true });
      expect(await drawn(panel)).toContain(
        '<b>daily</b> is not watched any more, and its history is kept. Run'
      );
    }
  );

  it('says of a cluster that has ended without a task that none ran', async () => {
    const made = setUp({});
    panel = made.panel;
    const none = { tasks: 0, running: 0 } as const;
    made.feed.setClusters(clusterInfo(none));
    expect(await drawn(panel)).toContain('No tasks yet.');
    made.feed.setClusters(clusterInfo({ ...none, state: 'ended' }));
    const text = await drawn(panel);
    expect(text).toContain(
      'No task ran.first-look ended before it ran a task.'
    );
    made.feed.setClusters(
      clusterInfo({ ...none, state: 'ended', unwatched: true })
    );
    expect(await drawn(panel)).toContain(
      'No task was seen.first-look ran no task while it was watched.'
    );
    expect(text).not.toContain('yet');
  });

  it('says once what waits in vain, in place of the figures or above them', async () => {
    const made = setUp({});
    panel = made.panel;
    const told = 'Start a worker that has it.';
    const stuck = {
      waiting: [{ reason: 'no-resource', tasks: 3, told } as const]
    };
    made.feed.setClusters(clusterInfo({ ...stuck, runs: 0 }));
    const before = await drawn(panel);
    expect(before).toContain('3 tasks wait, none has run yet.');
    expect(before.split(told)).toHaveLength(2);
    expect(panel.node.querySelector('.sw-strip')).toBeNull();
    made.feed.setClusters(clusterInfo({ ...stuck, runs: 1 }));
    expect(await drawn(panel)).not.toContain('none has run yet');
    expect(get(panel, '.sw-strip').textContent).toContain('3 tasks wait');
  });

  it('says of an observation without tasks what it will show', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(
      clusterInfo({ name: 'daily', kind: 'local', tasks: 0, running: 0 })
    );
    expect(await drawn(panel)).toContain(
      'daily observes computations without a cluster: their tasks appear here as they start.'
    );
  });

  it('watches while it is visible and keeps its figures while hidden', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo());
    expect(made.feed.running).toHaveLength(1);
    made.feed.running[0]?.answer(ANSWER);
    expect(await drawn(panel)).toContain('3 tasks');
    panel.hide();
    expect(made.feed.running).toHaveLength(0);
    panel.show();
    expect(made.feed.running).toHaveLength(1);
    expect(await drawn(panel)).toContain('3 tasks');
  });

  it('asks for nothing while hidden, whatever parts of its chart ask for', async () => {
    const made = setUp({});
    panel = made.panel;
    panel.asksTwice = true;
    made.feed.setClusters(clusterInfo());
    made.feed.running[0]?.answer(ANSWER);
    await drawn(panel);
    const views = () => made.feed.running.map(({ spec }) => spec.params);
    expect(views()).toEqual([{}, { all: true }]);
    const own = made.feed.running[1];
    await settled(async () => own?.answer({ ...ANSWER, totalTasks: 9 }));
    expect(await drawn(panel)).toContain('9 beside');
    panel.hide();
    await drawn(panel);
    expect(views()).toEqual([]);
    panel.show();
    // What it had is there before there is more.
    expect(await drawn(panel)).toContain('9 beside');
    expect(views()).toEqual([{}, { all: true }]);
  });

  it('waits for a cluster that it was opened for, and shows no other', async () => {
    const made = setUp({ target: { notebook: 'a.ipynb' } });
    panel = made.panel;
    const b = clusterInfo({ cluster: 'b', notebook: { path: 'b.ipynb' } });
    const a = clusterInfo({ cluster: 'a', notebook: { path: 'a.ipynb' } });
    made.feed.setClusters(b);
    expect(await drawn(panel)).toContain('No cluster of a.ipynb is running.');
    made.cluster.await('a');
    expect(await drawn(panel)).toContain('Waiting for the cluster of a.ipynb…');
    expect(made.feed.running).toHaveLength(0);
    made.feed.setClusters(b, a);
    expect(made.feed.running.map(({ spec }) => spec.cluster)).toEqual(['a']);
    made.feed.running[0]?.answer(ANSWER);
    const text = await drawn(panel);
    expect(text).toContain('3 tasks');
    expect(text).not.toContain('Waiting');
  });

  it('reconnects while a new observer does not know the cluster yet', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(NOW);
    try {
      const made = setUp({});
      panel = made.panel;
      const info = clusterInfo();
      made.feed.setClusters(info);
      made.feed.running[0]?.answer(ANSWER);
      made.feed.setClusters();
      const text = await drawn(panel);
      expect(text).toContain('3 tasks');
      expect(text).toContain('Reconnecting (0 s).');
      expect(text).not.toContain('No cluster');
      made.feed.setClusters(info);
      expect(await drawn(panel)).not.toContain('Reconnecting');
    } finally {
      clock.mockRestore();
    }
  });

  it('says that a history has ended with its observer', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo({ state: 'ended' }));
    made.feed.running[0]?.answer(ANSWER);
    made.feed.setClusters();
    const text = await drawn(panel);
    expect(text).toContain('The observer was restarted');
    expect(text).not.toContain('Reconnecting');
  });

  it('follows the selection, shows it as chips, and clears it', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo());
    made.feed.running[0]?.answer(ANSWER);
    made.selection.toggleSpan({ path: ['flow', 'data load'] }, 'any');
    expect(made.feed.running[0]?.changes).toEqual([
      { filter: made.selection.filter, time: 'all' }
    ]);
    await drawn(panel);
    get(panel, '[aria-label="Filter"]');
    get(panel, '[aria-label="Remove any flow › data load"]').click();
    expect(made.selection.isFiltered).toBe(false);
    await drawn(panel);
    expect(panel.node.querySelector('[aria-label="Filter"]')).toBeNull();
  });

  it('takes the filter’s last step back on Ctrl Z, also when the chips are gone', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo());
    made.feed.running[0]?.answer(ANSWER);
    made.selection.toggleSpan({ path: ['flow'] }, 'any');
    const { filter } = made.selection;
    await drawn(panel);
    get(panel, '.sw-chips .sw-link').click();
    await drawn(panel);
    expect(made.selection.isFiltered).toBe(false);
    const press = (target: Element, more = {}) =>
      target.dispatchEvent(
        new KeyboardEvent('keydown', {
          key: 'z',
          ctrlKey: true,
          bubbles: true,
          ...more
        })
      );
    // Where the focus is now that the button has gone with its row.
    press(document.activeElement!, { shiftKey: true });
    expect(made.selection.isFiltered).toBe(false);
    press(document.activeElement!);
    expect(made.selection.filter).toEqual(filter);
    // Typed text has an undo of its own.
    made.selection.toggleFunction('x');
    const input = panel.node.appendChild(document.createElement('input'));
    press(input);
    expect(made.selection.filter.functions).toEqual(['x']);
  });

  it('says which conditions leave nothing', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo());
    made.selection.toggleSpan({ path: ['warm-up'] }, 'any');
    made.selection.toggleFunction('fit_fold');
    made.feed.running[0]?.answer({ ...ANSWER, totalTasks: 0 });
    expect(await drawn(panel)).toContain(
      '456 task runs are hidden. No task of “fit_fold” is in span “warm-up”.'
    );
    get(panel, '.sw-button-primary').click();
    expect(made.selection.isFiltered).toBe(false);
  });

  it('names all conditions where there are others, of which each may be the one', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo());
    made.selection.toggleFunction('fit_fold');
    made.selection.toggleWorker(2);
    made.feed.running[0]?.answer({ ...ANSWER, totalTasks: 0 });
    expect(await drawn(panel)).toContain(
      'The filter matches no task.456 task runs are hidden. The filter: function fit_fold, worker 2.'
    );
  });

  it('says nothing of a new filter before its answer', async () => {
    const made = setUp({});
    panel = made.panel;
    panel.own = 'No samples yet.';
    made.feed.setClusters(clusterInfo());
    const watch = made.feed.running[0]!;
    const none = { ...ANSWER, totalTasks: 0 };
    const filter = (name: string) =>
      made.selection.setFilter({ functions: [name] });
    filter('nothing');
    watch.answer(none);
    const before = await drawn(panel);
    expect(before).toContain('No task of “nothing” ran.');
    expect(before).toContain('exact');
    filter('fit_fold');
    const asked = await drawn(panel);
    expect(asked).toContain('fit_fold');
    expect(asked).not.toMatch(/No task of|exact|3 tasks/);
    // Without a link there is no answer to come: what it had is said, of what it was asked for.
    made.feed.setStatus({ kind: 'reconnecting', since: NOW });
    expect(await drawn(panel)).toContain('No task of “nothing” ran.');
    made.feed.setStatus({ kind: 'open' });
    watch.answer(none);
    expect(await drawn(panel)).toContain('No task of “fit_fold” ran.');
    made.selection.clear();
    expect(await drawn(panel)).not.toContain('No samples yet.');
    watch.answer(none);
    expect(await drawn(panel)).toContain('No samples yet.');
  });

  it('blames the filter that an unlinked panel has, and offers to link it', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo());
    made.selection.toggleFunction('fit_fold');
    const watch = made.feed.running[0]!;
    watch.answer({ ...ANSWER, totalTasks: 0 });
    const watching = panel['_watchNow']();
    watching.setUnlinked(true);
    made.selection.setFilter({ workers: [7] });
    expect(await drawn(panel)).toContain(
      'The filter matches no task.456 task runs are hidden. No task of “fit_fold” ran.'
    );
    made.selection.clear();
    expect(await drawn(panel)).toContain('No task of “fit_fold” ran.');
    const link = get(panel, '.sw-button-primary');
    expect(link.textContent).toBe('Link again');
    made.selection.setFilter({ workers: [7] });
    link.click();
    expect(watching.isUnlinked).toBe(false);
    expect(watch.changes.at(-1)?.filter).toEqual({ workers: [7] });
    expect(panel.node.contains(document.activeElement)).toBe(true);
  });

  it('keeps the button of a strip that is closed where there is room for all by now', async () => {
    const made = setUp({});
    panel = made.panel;
    const observed = new Set<() => void>();
    class Observer {
      constructor(private readonly _measure: () => void) {}
      observe() {
        observed.add(this._measure);
      }
      disconnect() {
        observed.delete(this._measure);
      }
    }
    const before = globalThis.ResizeObserver;
    globalThis.ResizeObserver = Observer as never;
    const width = jest
      .spyOn(Element.prototype, 'scrollWidth', 'get')
      .mockReturnValue(0);
    const resized = (to: number) =>
      settled(async () => {
        width.mockReturnValue(to);
        observed.forEach(measure => measure());
      });
    const strip = '.sw-strip button[aria-expanded]';
    try {
      made.feed.setClusters(clusterInfo({ state: 'ended', why: 'Ended.' }));
      made.feed.running[0]?.answer(ANSWER);
      await drawn(panel);
      expect(panel.node.querySelector(strip)).toBeNull();
      await resized(300);
      const button = get(panel, strip);
      button.focus();
      button.click();
      await drawn(panel);
      await resized(0);
      expect(button.getAttribute('aria-expanded')).toBe('true');
      button.click();
      await drawn(panel);
      expect(button.getAttribute('aria-expanded')).toBe('false');
      expect(document.activeElement).toBe(button);
      await settled(async () => button.blur());
      expect(panel.node.querySelector(strip)).toBeNull();
    } finally {
      width.mockRestore();
      globalThis.ResizeObserver = before;
    }
  });

  it('opens what a strip has no room for by a button, which stays', async () => {
    const made = setUp({});
    panel = made.panel;
    const why = 'Ended at 09:22:10: the client was closed.';
    made.feed.setClusters(clusterInfo({ state: 'ended', why }));
    const isCut = jest
      .spyOn(Element.prototype, 'scrollWidth', 'get')
      .mockReturnValue(300);
    try {
      made.feed.running[0]?.answer(ANSWER);
      await drawn(panel);
      const strip = get(panel, '.sw-strip');
      expect(strip.dataset['whole']).toBeUndefined();
      const button = get(panel, '.sw-strip button[aria-expanded]');
      expect(button.getAttribute('aria-label')).toBe('Whole sentence');
      for (const isWhole of [true, false]) {
        // (in several lines nothing is cut)
        isCut.mockReturnValue(isWhole ? 0 : 300);
        button.focus();
        button.click();
        await drawn(panel);
        expect(strip.dataset['whole']).toBe(isWhole ? 'true' : undefined);
        expect(button.getAttribute('aria-expanded')).toBe(String(isWhole));
        expect(document.activeElement).toBe(button);
      }
      expect(get(panel, '.sw-strip-sentence').textContent).toBe(why);
    } finally {
      isCut.mockRestore();
    }
  });

  it('has no such button where all of it is seen', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo({ state: 'ended' }));
    made.feed.running[0]?.answer(ANSWER);
    await drawn(panel);
    expect(panel.node.querySelector('.sw-strip')).not.toBeNull();
    expect(panel.node.querySelector('[aria-expanded]')).toBeNull();
    // The short label of a narrow panel is a part of the button's name.
    const follow = get(panel, 'button[data-short]');
    expect(follow.getAttribute('aria-label')).toBe(
      'Follow the next run of first-look'
    );
    expect(follow.getAttribute('aria-label')!.toLowerCase()).toContain(
      follow.dataset['short']!.toLowerCase()
    );
  });

  it('offers no next run where it stays with one cluster', async () => {
    const made = setUp({ target: { name: 'first-look', cluster: 'c1' } });
    panel = made.panel;
    made.feed.setClusters(clusterInfo({ cluster: 'c1', state: 'ended' }));
    made.feed.running[0]?.answer(ANSWER);
    expect(await drawn(panel)).toContain('Ended');
    expect(panel.node.querySelector('.sw-strip button')).toBeNull();
  });

  it('keeps the history of an ended cluster and goes on to the next', async () => {
    const made = setUp({ target: { notebook: 'north/a.ipynb' } });
    panel = made.panel;
    const first = clusterInfo({ notebook: { path: 'north/a.ipynb' } });
    made.feed.setClusters(first);
    made.feed.running[0]?.answer(ANSWER);
    const why = 'Ended at 09:22:10: the client was closed.';
    made.feed.setClusters({ ...first, state: 'ended', why });
    expect(panel.title.label).toBe('Task Stream · first-look (ended)');
    made.feed.setClusters({ ...first, state: 'ended', why, unwatched: true });
    expect(panel.title.label).toBe('Task Stream · first-look (not watched)');
    const text = await drawn(panel);
    expect(text).toContain(why);
    expect(text).toContain('3 tasks');
    const follow = get(panel, 'button[aria-pressed][title*=next]');
    expect(follow.textContent).toBe('Follow the next run of a.ipynb');
    expect(follow.title).toBe(
      'Shows the next cluster of north/a.ipynb here. Others are chosen in the sidebar, under Cluster.'
    );

    const next = { ...first, cluster: 'c2', startedAt: 2000 };
    made.feed.setClusters({ ...first, state: 'ended', why }, next);
    expect(panel.title.label).toBe('Task Stream · first-look');
    expect(made.feed.running.map(watch => watch.spec.cluster)).toEqual(['c2']);
    expect(await drawn(panel)).not.toContain('3 tasks');
  });

  it.each([
    [
      { name: 'first-look' },
      'Follow the next run of first-look',
      'Shows the next cluster that is called first-look here.'
    ],
    [
      { name: 'first-look', notebook: 'north/a.ipynb' },
      'Follow the next run of a.ipynb, first-look',
      'Shows the next cluster of north/a.ipynb that is called first-look here.'
    ]
  ])('says what it goes on to where it goes by a name', async (...of) => {
    const [target, label, hint] = of;
    const made = setUp({ target });
    panel = made.panel;
    const notebook = { path: 'north/a.ipynb' };
    made.feed.setClusters(clusterInfo({ state: 'ended', notebook }));
    made.feed.running[0]?.answer(ANSWER);
    await drawn(panel);
    const follow = get(panel, 'button[aria-pressed][title*=next]');
    expect(follow.textContent).toBe(label);
    expect(follow.title).toBe(
      `${hint} Others are chosen in the sidebar, under Cluster.`
    );
  });

  it('shows figures while it reconnects, and says since when', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(NOW);
    try {
      const made = setUp({});
      panel = made.panel;
      made.feed.setClusters(clusterInfo());
      made.feed.running[0]?.answer(ANSWER);
      made.feed.setStatus({ kind: 'reconnecting', since: NOW - 3000 });
      const text = await drawn(panel);
      expect(text).toContain('Reconnecting (3 s).');
      expect(text).toContain('3 tasks');
    } finally {
      clock.mockRestore();
    }
  });

  it('says that there is no observer even if its figures say no time', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setClusters(clusterInfo());
    made.feed.running[0]?.answer(ANSWER);
    const sentence = 'The observer stopped and is being started again.';
    made.feed.setStatus({ kind: 'no-observer', sentence });
    const text = await drawn(panel);
    expect(text).toContain(`${sentence} Your computation goes on.`);
    expect(text).toContain('3 tasks');
  });

  it('does not say of a cluster that has ended that its computation goes on', async () => {
    const made = setUp({});
    panel = made.panel;
    const cluster = clusterInfo({ state: 'ended' });
    made.feed.setClusters(cluster);
    made.feed.running[0]?.answer(ANSWER);
    const sentence = 'The observer stopped and is being started again.';
    const none = { kind: 'no-observer', sentence } as const;
    made.feed.setStatus(none);
    const text = await drawn(panel);
    expect(text).toContain(sentence);
    expect(text).not.toContain('goes on');

    const given = {
      cluster,
      hasFigures: true,
      figuresTo: 12,
      failure: null,
      now: NOW,
      follows: false,
      target: {}
    };
    const actions = { reconnect: jest.fn(), setFollows: jest.fn() };
    const reconnecting = { kind: 'reconnecting', since: NOW - 3000 } as const;
    const said = (
      status: typeof none | typeof reconnecting,
      state: 'ended' | 'running'
    ) =>
      strips(
        { ...given, cluster: { ...cluster, state }, status },
        nullTranslator.load('spanwise'),
        actions
      ).map(strip => strip.sentence.replaceAll('\u00a0', ' '))[0];
    expect(said(none, 'ended')).toBe(`${sentence} Figures are from 12.0 s.`);
    expect(said(reconnecting, 'ended')).toBe(
      'Reconnecting (3 s). Figures are from 12.0 s.'
    );
    expect(said(reconnecting, 'running')).toBe(
      'Reconnecting (3 s). Figures are from 12.0 s; your computation goes on.'
    );
  });

  it('says in one sentence what is missing', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setStatus({ kind: 'no-node', sentence: 'Install Node.js 22.' });
    expect(await drawn(panel)).toContain('Install Node.js 22.');
    expect(get(panel, '[role=alert]').textContent).toContain('Node.js');
  });

  it('says that it connects, and not that nothing is running', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setStatus({ kind: 'connecting' });
    const text = await drawn(panel);
    expect(text).toContain('Connecting to the server…');
    expect(text).not.toContain('No cluster');
    made.feed.setStatus({ kind: 'open' });
    expect(await drawn(panel)).toContain('No cluster is running.');
  });

  it('says why it does not reach the server, and tries again by a button', async () => {
    const made = setUp({});
    panel = made.panel;
    made.feed.setStatus({ kind: 'unreachable', sentence: 'Ask for a way.' });
    const text = await drawn(panel);
    expect(text).toContain('No connection to the server.');
    expect(text).toContain('Ask for a way.');
    expect(text).not.toContain('Figures appear');
    expect(get(panel, '[role=alert] button').textContent).toBe('Try again');
  });

  it('says that it loads when an answer takes long, first or later', async () => {
    const start = setTimeout;
    jest.useFakeTimers({ doNotFake: [...ALL_BUT_TIMEOUTS] });
    // For jsdom it is a timeout. Each drawing waits for it.
    const idle = jest
      .spyOn(window, 'requestIdleCallback')
      .mockImplementation(done => Number(start(done, 0)));
    try {
      const made = setUp({});
      panel = made.panel;
      made.feed.setClusters(clusterInfo());
      expect(await drawn(panel)).not.toContain('Loading');
      // Most answers are faster.
      expect(await later(panel, 399)).not.toContain('Loading');
      expect(await later(panel, 1)).toContain(
        'Loading the figures of first-look…'
      );
      expect(get(panel, '.sw-loading').getAttribute('role')).toBe('status');
      made.feed.running[0]?.answer(ANSWER);
      expect(await drawn(panel)).not.toContain('Loading');
      made.selection.toggleFunction('inc');
      expect(await drawn(panel)).not.toContain('Loading');
      expect(await later(panel, 399)).not.toContain('Loading');
      const text = await later(panel, 1);
      expect(text).toContain('Loading the new figures…');
      expect(text).toContain('3 tasks');
      made.feed.running[0]?.answer(ANSWER);
      expect(await drawn(panel)).not.toContain('Loading');
      // A question that changes faster than it is answered.
      for (const name of ['inc', 'dec', 'add', 'sum', 'mul']) {
        expect(await drawn(panel)).not.toContain('Loading');
        made.selection.toggleFunction(name);
        await later(panel, 100);
      }
      expect(await drawn(panel)).toContain('Loading the new figures…');
    } finally {
      idle.mockRestore();
      jest.useRealTimers();
    }
  });

  it('shows an error as text and starts again', async () => {
    const quiet = jest.spyOn(console, 'error').mockImplementation();
    const made = setUp({});
    panel = made.panel;
    panel.breaks = true;
    made.feed.setClusters(clusterInfo());
    made.feed.running[0]?.answer(ANSWER);
    expect(await drawn(panel)).toContain('the chart is <b>broken</b>');
    panel.breaks = false;
    get(panel, '.sw-button-primary').click();
    expect(await drawn(panel)).toContain('3 tasks');
    quiet.mockRestore();
  });

  it('copies what is known of an error also where pages have no clipboard', async () => {
    const quiet = jest.spyOn(console, 'error').mockImplementation();
    const copy = jest.spyOn(Clipboard, 'copyToSystem').mockReturnValue();
    const made = setUp({});
    panel = made.panel;
    panel.breaks = true;
    made.feed.setClusters(clusterInfo());
    made.feed.running[0]?.answer(ANSWER);
    await drawn(panel);
    // (JupyterLab's way needs none)
    expect('clipboard' in navigator).toBe(false);
    [...panel.node.querySelectorAll<HTMLElement>('.sw-state button')]
      .find(({ textContent }) => textContent === 'Copy details')!
      .click();
    const details = 'Error: the chart is <b>broken</b>\n    at ';
    expect(copy.mock.calls).toEqual([[expect.stringContaining(details)]]);
    copy.mockRestore();
    quiet.mockRestore();
  });

  it('has a table of its name and remembers that it is shown', async () => {
    const made = setUp({ state: { showsTable: true } });
    panel = made.panel;
    made.feed.setClusters(clusterInfo());
    made.feed.running[0]?.answer(ANSWER);
    await drawn(panel);
    expect(get(panel, 'table').getAttribute('aria-label')).toBe(
      'Task Stream, first-look'
    );
    const saved = jest.fn();
    panel.stateChanged.connect(saved);
    get(panel, '[aria-label="Show as table"]').click();
    expect(saved).toHaveBeenCalled();
    expect(panel.savedState()).toEqual({ showsTable: false });
    expect(await drawn(panel)).toContain('3 tasks');
  });

  describe('of two clusters', () => {
    const first = clusterInfo({ notebook: { path: 'a.ipynb' } });
    const survey = clusterInfo({
      cluster: 's',
      name: 'survey',
      startedAt: 2000,
      notebook: { path: 'a.ipynb' }
    });
    const open = () => {
      const { feed, contexts } = labContext();
      feed.setClusters(first);
      const context = contexts.get({ notebook: 'a.ipynb' });
      const opened = new TestPanel(face, { context });
      panel = opened;
      Widget.attach(opened, document.body);
      return { feed, contexts, opened, context };
    };

    it('stays with its own when it is pinned, also after a reload', async () => {
      const { feed, contexts, opened } = open();
      feed.watches[0]!.answer(ANSWER);
      const saved = jest.fn();
      opened.stateChanged.connect(saved);
      opened.setPinned(true);
      expect(saved).toHaveBeenCalled();
      expect(opened.title.caption).toContain('Pinned to first-look.');
      // What was shown stays until the next answer.
      expect(await drawn(opened)).toContain('3 tasks');
      feed.setClusters(first, survey);
      expect(opened.title.label).toBe('Task Stream · first-look');
      expect(feed.running.map(({ spec }) => spec.cluster)).toEqual(['c1']);

      const again = new TestPanel(face, {
        context: contexts.get(opened.clusterTarget),
        state: opened.savedState()
      });
      expect([again.isPinned, again.turns, again.cluster?.name]).toEqual([
        true,
        false,
        'first-look'
      ]);
      again.dispose();

      opened.setPinned(false);
      expect(opened.title.caption).not.toContain('Pinned');
      expect(opened.title.label).toBe('Task Stream · first-look');
    });

    it('follows its notebook while it is not, and turns to what it is told', async () => {
      const { feed, opened, context } = open();
      feed.setClusters(first, survey);
      expect(opened.title.label).toBe('Task Stream · survey');
      feed.running[0]!.answer(ANSWER);
      opened.turnTo(context.of(first, 'follows'));
      expect(opened.title.label).toBe('Task Stream · first-look');
      expect(feed.running.map(({ spec }) => spec.cluster)).toEqual(['c1']);
      // Figures of the other cluster are not shown as this one's.
      expect(await drawn(opened)).not.toContain('3 tasks');
      expect(get(opened, 'section').getAttribute('aria-label')).toBe(
        'Task Stream, first-look'
      );
      context.selection.toggleFunction('inc');
      expect(await drawn(opened)).not.toContain('inc');
    });

    it('says when each began if both have one name', () => {
      const { feed, opened } = open();
      feed.setClusters(first, { ...survey, name: 'first-look' });
      expect(opened.title.label).toMatch(
        /^Task Stream · first-look, started .*:/
      );
    });
  });

  it('shows markup in names as text', async () => {
    const made = setUp({});
    panel = made.panel;
    const name = '<img src=x onerror=alert(1)>';
    made.feed.setClusters(clusterInfo({ name, state: 'starting' }));
    made.selection.toggleSpan({ tag: name }, 'any');
    expect(await drawn(panel)).toContain(`Starting ${name}…`);
    expect(panel.node.querySelector('img')).toBeNull();
  });
});
