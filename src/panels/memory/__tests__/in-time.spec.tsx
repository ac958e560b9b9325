/** The Memory Sampler beside a Task Stream of its cluster: which part of the time it shows, and asks for. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import type { MemoryResult } from '../../../wire/panel-link';
import type { PanelContext } from '../../panel-context';
import type { SpanwisePanel } from '../../panel';
import type { MenuItem } from '../../panel-menu';
import type * as Memory from '..';

/** What plotly has been given last, and how it tells of the user. */
const plotly = {
  range: [NaN, NaN] as readonly number[],
  listeners: new Map<string, (event: unknown) => void>(),
  react: async (
    element: { on?: unknown },
    _data: unknown,
    { xaxis }: { xaxis: { range: number[] } }
  ) => {
    plotly.range = xaxis.range;
    element.on = (name: string, listener: (event: unknown) => void) =>
      plotly.listeners.set(name, listener);
  },
  purge: () => undefined
};
jest.mock('../../../charts/load-plotly', () => ({
  loadPlotly: () => Promise.resolve(plotly)
}));
// Only now, since imports come before what is written.
const { memoryPanel } = jest.requireActual<typeof Memory>('..');

const run = {
  run: 1,
  label: 'load',
  measure: 'process',
  intervalSeconds: 1,
  start: 2,
  stopped: 9,
  t: [2, 9],
  bytes: [1, 2],
  samples: 2,
  first: 1,
  last: 2,
  peak: 2,
  peakAt: 9,
  mean: 1.5,
  area: 10
};

/** Five minutes, of which a sample a second is told. */
const standing = (runs: MemoryResult['runs'] = []): MemoryResult => {
  const t = Array.from({ length: 301 }, (_, second) => second);
  const bytes = t.map(second => (1 + (second % 7)) * 2 ** 20);
  const series = [
    {
      name: 'cluster',
      worker: null,
      t,
      bytes,
      peak: 7 * 2 ** 20,
      peakAt: 6,
      mean: 4 * 2 ** 20
    }
  ];
  return {
    view: 'memory',
    measure: 'process',
    limits: null,
    series,
    runs,
    now: null
  };
};
const WHOLE = [0, 306];

let feed: ReturnType<typeof labContext>['feed'];
let context: PanelContext;
let panel: SpanwisePanel;

async function settled(what: () => void = () => undefined): Promise<void> {
  await act(async () => {
    what();
    MessageLoop.flush();
    await panel.renderPromise;
  });
}

const answer = (runs?: MemoryResult['runs']) =>
  settled(() => feed.running.at(-1)!.answer(standing(runs)));

async function open(state?: object): Promise<void> {
  panel = memoryPanel.create({ context, state: state as never });
  await settled(() => Widget.attach(panel, document.body));
  await answer();
}

const showInStream = (from: number, to: number) =>
  settled(() => context.timeViews!.show('c1', { from, to }));

const drag = (from: number, to: number) =>
  settled(() =>
    plotly.listeners.get('plotly_relayout')!({
      'xaxis.range[0]': from,
      'xaxis.range[1]': to
    })
  );

const tool = (label: string) =>
  [...panel.node.querySelectorAll<HTMLElement>('[role=toolbar] button')].find(
    node => node.getAttribute('aria-label') === label
  )!;
const click = (label: string) => settled(() => tool(label).click());
const links = () =>
  [...panel.node.querySelectorAll('.sw-Memory-title .sw-link')].map(
    ({ textContent }) => textContent
  );
const asked = () => {
  const { from, to } = feed.running.at(-1)!.spec.params as {
    from?: number;
    to?: number;
  };
  return from === undefined ? null : [from, to];
};
const item = (label: string) =>
  (panel as unknown as { moreItems(): readonly MenuItem[] })
    .moreItems()
    .find(each => each.label === label)!;

beforeEach(() => {
  Object.assign(globalThis, {
    IS_REACT_ACT_ENVIRONMENT: true,
    ResizeObserver: class {
      observe(): void {}
      disconnect(): void {}
    }
  });
  for (const [name, pixels] of [
    ['clientWidth', 600],
    ['clientHeight', 300]
  ] as const) {
    jest.spyOn(HTMLElement.prototype, name, 'get').mockReturnValue(pixels);
  }
  const lab = labContext();
  feed = lab.feed;
  feed.setClusters(clusterInfo());
  context = lab.contexts.get({ name: 'first-look' });
});

afterEach(async () => {
  await settled(() => panel.dispose());
  plotly.listeners.clear();
  jest.restoreAllMocks();
});

it('shows what the Task Stream of its cluster shows, with as many points as there is room for, until it is told to show all', async () => {
  await open();
  expect([plotly.range, asked()]).toEqual([WHOLE, null]);
  expect(tool('As in Task Stream').getAttribute('aria-disabled')).toBe('true');
  await showInStream(120, 130);
  expect(plotly.range).toEqual([120, 130]);
  const [from, to] = asked() as [number, number];
  expect(from).toBeLessThanOrEqual(120);
  expect(to).toBeGreaterThanOrEqual(130);
  expect(to - from).toBeLessThan(30);
  expect(tool('As in Task Stream').getAttribute('aria-pressed')).toBe('true');
  expect(panel.node.textContent).toContain('as in Task Stream');
  // That of another cluster is nothing to it.
  await settled(() => context.timeViews!.show('c2', { from: 1, to: 2 }));
  await showInStream(121, 131);
  expect(plotly.range).toEqual([121, 131]);

  await click('As in Task Stream');
  expect([plotly.range, asked()]).toEqual([WHOLE, null]);
  await showInStream(140, 150);
  expect([plotly.range, asked()]).toEqual([WHOLE, null]);
  expect(panel.savedState()).toMatchObject({ time: 'all' });
  await click('As in Task Stream');
  expect(plotly.range).toEqual([140, 150]);
  // The link does what the button does.
  expect(links()).toEqual(['Show all']);
  await settled(() =>
    panel.node.querySelector<HTMLElement>('.sw-Memory-title .sw-link')!.click()
  );
  expect(plotly.range).toEqual(WHOLE);
  expect(links()).toEqual(['As in Task Stream']);
  await settled(() =>
    panel.node.querySelector<HTMLElement>('.sw-Memory-title .sw-link')!.click()
  );
  expect(plotly.range).toEqual([140, 150]);
});

it('keeps a part that the user has drawn out, whatever the Task Stream shows, and after a reload', async () => {
  await open();
  await showInStream(120, 130);
  await drag(20, 24);
  expect(plotly.range).toEqual([20, 24]);
  expect(asked()![0]).toBeLessThanOrEqual(20);
  expect(asked()![1]).toBeGreaterThanOrEqual(24);
  await showInStream(150, 160);
  expect(plotly.range).toEqual([20, 24]);
  expect(tool('As in Task Stream').getAttribute('aria-pressed')).toBe('false');
  const state = JSON.parse(JSON.stringify(panel.savedState())) as object;
  await settled(() => panel.dispose());
  await open(state);
  expect(plotly.range).toEqual([20, 24]);
  await click('As in Task Stream');
  expect(plotly.range).toEqual([150, 160]);
  await drag(152, 153);
  await settled(() => plotly.listeners.get('plotly_doubleclick')!(null));
  expect(plotly.range).toEqual(WHOLE);
  expect(panel.savedState()).not.toHaveProperty('zoom');
});

it('makes a part the time filter of all panels, and shows the range that is chosen in any of them', async () => {
  await open();
  expect(item('Use as time filter').disabledBecause).toBe(
    'drag over a part of the chart first'
  );
  await drag(20, 24);
  expect(links()).toEqual(['Show all', 'Use as time filter']);
  expect(item('Use as time filter').disabledBecause).toBeUndefined();
  await click('Use as time filter');
  expect(context.selection.time).toEqual({ from: 20, to: 24 });
  expect(feed.running.at(-1)!.spec.time).toEqual({ from: 20, to: 24 });
  await answer();
  expect([plotly.range, asked()]).toEqual([[20, 24], null]);
  expect(panel.node.textContent).toContain('in 20.0\u00a0s – 24.0\u00a0s');
  expect(links()).toEqual([]);
  expect(tool('Use as time filter').title).toContain('the filter’s range');
  // Chosen elsewhere.
  await showInStream(120, 130);
  await settled(() => context.selection.setTime({ from: 50, to: 60 }));
  await answer();
  expect(plotly.range).toEqual([50, 60]);
  // Without it the user's own part is shown again.
  await settled(() => context.selection.setTime('all'));
  await answer();
  expect(plotly.range).toEqual([20, 24]);
});

it('has runs from zero in a time of their own', async () => {
  await open();
  await showInStream(120, 130);
  expect(asked()).not.toBeNull();
  await answer([run]);
  expect(plotly.range[0]).toBe(0);
  expect(asked()).toBeNull();
  for (const label of ['As in Task Stream', 'Use as time filter']) {
    expect(tool(label).title).toBe(
      `${label}: runs from zero have a time of their own`
    );
  }
  // A part of their time is none of the cluster's, of which the breakdown is.
  await drag(3, 5);
  expect([plotly.range, asked()]).toEqual([[3, 5], null]);
  await settled(() => item('By clock').run());
  expect(plotly.range).toEqual([120, 130]);
  expect(asked()).not.toBeNull();
});

it('asks for nothing while it is hidden, and for what is shown by then as soon as it is not', async () => {
  await open();
  await showInStream(120, 130);
  await settled(() => panel.hide());
  expect(feed.running).toHaveLength(0);
  const { changes } = feed.watches.at(-1)!;
  const count = changes.length;
  const drawn = jest.spyOn(panel, 'render');
  await showInStream(150, 160);
  expect(drawn).not.toHaveBeenCalled();
  expect(changes).toHaveLength(count);
  expect(feed.running).toHaveLength(0);
  await settled(() => panel.show());
  expect(asked()![0]).toBeGreaterThan(140);
  await answer();
  expect(plotly.range).toEqual([150, 160]);
});
