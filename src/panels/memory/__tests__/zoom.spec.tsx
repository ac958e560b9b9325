/** A part of the time that the user has chosen stays chosen, whatever figures come. */
import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { ClusterRef } from '../../../feed/cluster-ref';
import { SelectionModel } from '../../../feed/selection';
import { clusterInfo, FakeFeed } from '../../../feed/__tests__/fake-feed';
import type { MemoryResult } from '../../../wire/panel-link';
import { readPalette } from '../../../charts/theme';
import type { ITheme } from '../../panel-context';
import type { SpanwisePanel } from '../../panel';
import type * as Memory from '..';

/** What plotly has been given last, and how it tells of the user. */
const plotly = {
  range: [NaN, NaN] as readonly number[],
  ticks: [] as readonly number[],
  listeners: new Map<string, (event: unknown) => void>(),
  react: async (
    element: { on?: unknown },
    _data: unknown,
    { xaxis }: { xaxis: { range: number[]; tickvals: number[] } }
  ) => {
    plotly.range = xaxis.range;
    plotly.ticks = xaxis.tickvals;
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

/** A sample a second, up and down. */
const upTo = (end: number): MemoryResult => {
  const t = Array.from({ length: end + 1 }, (_, second) => second);
  const bytes = t.map(second => (1 + (second % 7)) * 2 ** 20);
  return {
    view: 'memory',
    measure: 'process',
    limits: null,
    series: [{ name: 'cluster', worker: null, t, bytes }],
    runs: [
      {
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
      }
    ]
  } as unknown as MemoryResult;
};

const feed = new FakeFeed();
let panel: SpanwisePanel;

async function settled(what: () => void = () => undefined): Promise<void> {
  await act(async () => {
    what();
    MessageLoop.flush();
    await panel.renderPromise;
  });
}

async function samplesCome(end: number): Promise<void> {
  await settled(() => feed.running.at(-1)!.answer(upTo(end)));
}

const told = (name: string, event: unknown) =>
  settled(() => plotly.listeners.get(name)!(event));

/** As plotly tells of a drag. */
const drag = (from: number, to: number) =>
  told('plotly_relayout', { 'xaxis.range[0]': from, 'xaxis.range[1]': to });

const buttons = (text: string) =>
  [...panel.node.querySelectorAll('button')].filter(
    node => node.textContent === text
  );

beforeEach(async () => {
  Object.assign(globalThis, {
    IS_REACT_ACT_ENVIRONMENT: true,
    ResizeObserver: class {
      observe(): void {}
      disconnect(): void {}
    }
  });
  for (const [name, pixels] of [
    ['clientWidth', 600],
    ['clientHeight', 200]
  ] as const) {
    jest.spyOn(HTMLElement.prototype, name, 'get').mockReturnValue(pixels);
  }
  const theme = { palette: readPalette(document.body) } as ITheme;
  Object.assign(theme, { changed: new Signal(theme) });
  feed.setClusters(clusterInfo());
  panel = memoryPanel.create({
    context: {
      feed,
      cluster: new ClusterRef({
        feed,
        target: {},
        notebookOf: info => info.notebook?.path
      }),
      selection: new SelectionModel(),
      theme,
      translator: nullTranslator,
      of: () => {
        throw new Error('There is one cluster here.');
      },
      release: () => undefined
    },
    state: { align: 'clock' }
  } as unknown as Parameters<typeof memoryPanel.create>[0]);
  await settled(() => Widget.attach(panel, document.body));
  await samplesCome(100);
  expect(plotly.range).toEqual([0, 105]);
});

afterEach(async () => {
  await settled(() => panel.dispose());
  plotly.listeners.clear();
  jest.restoreAllMocks();
});

it('stays while samples come, with ticks of its own', async () => {
  expect(buttons('Show all')).toEqual([]);
  await drag(20, 30);
  for (const end of [101, 110, 150]) {
    await samplesCome(end);
    expect(plotly.range).toEqual([20, 30]);
  }
  expect(plotly.ticks.filter(t => t >= 20 && t <= 30).length).toBeGreaterThan(
    2
  );
  await drag(22, 25);
  await samplesCome(151);
  expect(plotly.range).toEqual([22, 25]);
});

it.each<[string, () => Promise<void>]>([
  ['a double click', () => told('plotly_doubleclick', null)],
  ['the button', () => settled(() => buttons('Show all')[0]!.click())]
])('ends by %s', async (_, reset) => {
  await drag(20, 30);
  await samplesCome(110);
  await reset();
  expect(plotly.range).toEqual([0, 115]);
  expect(buttons('Show all')).toEqual([]);
  await samplesCome(150);
  expect(plotly.range).toEqual([0, 155]);
});

it('is of its cluster and its alignment', async () => {
  await drag(20, 30);
  const radio = (text: string) =>
    settled(() =>
      [...panel.node.querySelectorAll<HTMLElement>('[role=radio]')]
        .find(node => node.textContent === text)!
        .click()
    );
  await radio('From zero');
  expect(plotly.range[0]).toBe(0);
  await radio('By clock');
  expect(plotly.range).toEqual([20, 30]);
  await settled(() =>
    feed.setClusters(
      clusterInfo({ state: 'ended' }),
      clusterInfo({ cluster: 'c2', startedAt: 2000 })
    )
  );
  await samplesCome(50);
  expect(plotly.range).toEqual([0, 55]);
});

it('the focus of *Show all*, which goes away, stays in the panel', async () => {
  await drag(20, 30);
  buttons('Show all')[0]!.focus();
  await settled(() => buttons('Show all')[0]!.click());
  expect(buttons('Show all')).toEqual([]);
  expect(document.activeElement!.classList).toContain('sw-Memory-title');
});
