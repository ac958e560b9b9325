/** Cards of rows, frames and charts stand in the window, since panels cut off what lies outside of them, and go with what they are about. */
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { act } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import { readPalette } from '../../charts/theme';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { SelectionModel } from '../../feed/selection';
import { ask } from '../../observer/__tests__/ask';
import { drawnStore } from '../../testing/panel-harness/drawn-log';
import { firstLook } from '../../testing/panel-harness/drawn-run';
import { FineMetricsView } from '../fine-metrics/view';
import type { ProfileResult } from '../../wire/panel-link';
import type { Box } from '../card-place';
import type { ITheme, PanelContext } from '../panel-context';
import { activityOf } from '../profile/figure';
import { frameTree } from '../profile/rows';
import { ProfileView } from '../profile/view';
import type * as Memory from '../memory/view';
import type * as System from '../system/view';

/** How plotly tells of the pointer, by the chart's element. */
const listeners = new Map<Element, Map<string, (event: unknown) => void>>();
jest.mock('../../charts/load-plotly', () => ({
  loadPlotly: () =>
    Promise.resolve({
      react: async (element: Element) => {
        const own = new Map<string, (event: unknown) => void>();
        listeners.set(element, own);
        Object.assign(element, { on: own.set.bind(own) });
      },
      purge: (element: Element) => listeners.delete(element)
    })
}));
// Loaded after the mock: imports would come before it.
const { MemoryView } = jest.requireActual<typeof Memory>('../memory/view');
const { SystemView } = jest.requireActual<typeof System>('../system/view');

const trans = nullTranslator.load('spanwise');
const store = drawnStore(firstLook());
const metrics = ask(store, 'fine-metrics', { ended: true });
const profile = ask(store, 'profile', { ended: true });
const MEMORY_PARAMS = { measure: 'process', show: 'cluster' };
const CARD = { width: 340, height: 210 };

/** Where things are in the window of 1024 × 768, and what tells that a card has no size any more. */
let boxes: Map<string, Box>;
let size: { width: number; height: number };
let observers: { readonly seen: Element[]; readonly tell: () => void }[];
let inTopLayer: Element[];
let host: HTMLElement;
let root: Root;

beforeEach(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  jest.useFakeTimers();
  boxes = new Map();
  size = CARD;
  observers = [];
  inTopLayer = [];
  const { prototype } = HTMLElement;
  jest
    .spyOn(Element.prototype, 'getBoundingClientRect')
    .mockImplementation(function (this: Element) {
      const name = [...boxes.keys()].find(each => this.matches(each));
      return (boxes.get(name ?? '') ?? {
        left: 0,
        top: 0,
        right: 0,
        bottom: 0
      }) as DOMRect;
    });
  for (const [name, value] of [
    ['clientWidth', () => 300],
    ['clientHeight', () => 140],
    ['offsetWidth', () => size.width],
    ['offsetHeight', () => size.height]
  ] as const) {
    jest.spyOn(prototype, name, 'get').mockImplementation(value);
  }
  jest.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  Object.assign(prototype, {
    showPopover(this: Element) {
      expect(this.getAttribute('popover')).toBe('manual');
      inTopLayer.push(this);
    }
  });
  class Observer {
    readonly seen: Element[] = [];
    constructor(readonly tell: () => void) {
      observers.push(this);
    }
    observe(element: Element) {
      this.seen.push(element);
      this.tell();
    }
    disconnect() {
      observers = observers.filter(each => each !== this);
    }
  }
  Object.assign(globalThis, { ResizeObserver: Observer });
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
});
afterEach(() => {
  act(() => root.unmount());
  host.remove();
  expect(observers).toEqual([]);
  Reflect.deleteProperty(HTMLElement.prototype, 'showPopover');
  Reflect.deleteProperty(globalThis, 'ResizeObserver');
  jest.restoreAllMocks();
  jest.useRealTimers();
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
});

const cards = () => [...host.querySelectorAll<HTMLElement>('[role=tooltip]')];
const places = () =>
  cards().map(({ style }) => [parseFloat(style.left), parseFloat(style.top)]);
/** What a pointer or the focus does, and what follows from it within 80 ms. */
const after = (action: () => void) => {
  act(action);
  act(() => {
    jest.advanceTimersByTime(80);
  });
};
const point = (
  type: string,
  target: Element,
  at: { readonly x: number; readonly y: number } = { x: 0, y: 0 }
) =>
  after(() => {
    target.dispatchEvent(
      new MouseEvent(type, { bubbles: true, clientX: at.x, clientY: at.y })
    );
  });
const scroll = (target: Element) =>
  act(() => {
    target.dispatchEvent(new Event('scroll'));
  });
const press = (key: string) =>
  act(() => {
    document.activeElement!.dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true })
    );
  });
const hidePanel = () => {
  size = { width: 0, height: 0 };
  act(() => observers.forEach(({ tell }) => tell()));
};

describe('a row of Fine Performance Metrics', () => {
  const row = () => host.querySelector('[aria-label="By function"] > li')!;
  const at = (top: number) =>
    boxes.set('.sw-metric:first-child', {
      left: 600,
      top,
      right: 900,
      bottom: top + 22
    });

  beforeEach(() => {
    at(100);
    const selection = new SelectionModel();
    act(() =>
      root.render(
        <FineMetricsView
          result={metrics}
          order="time"
          isRunning={false}
          isLocal={false}
          isNode={false}
          selection={selection}
          trans={trans}
          onShowAll={() => undefined}
        />
      )
    );
  });

  it('has its card below it, in the top layer and within the window', () => {
    point('pointerover', row());
    expect(cards()[0]!.textContent).toContain('fit_fold');
    expect(inTopLayer).toEqual(cards());
    // Not at 720, where 40 % of the row are: the window ends at 1024.
    expect(places()).toEqual([[1024 - 4 - CARD.width, 124]]);
    expect(row().contains(cards()[0]!)).toBe(false);
  });

  it('has it above where below there is no room', () => {
    at(700);
    point('pointerover', row());
    expect(places()).toEqual([[680, 698 - CARD.height]]);
  });

  it('shows it when it has the focus, until Escape', () => {
    const button = row().querySelector('button')!;
    after(() => button.focus());
    expect(places()).toEqual([[680, 124]]);
    after(() => {
      button.dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Escape', bubbles: true })
      );
    });
    expect(cards()).toEqual([]);
  });

  it('has it within its panel in a browser without popovers', () => {
    Reflect.deleteProperty(HTMLElement.prototype, 'showPopover');
    host.classList.add('sw-panel-widget');
    const panel = { left: 400, top: 50, right: 1000, bottom: 450 };
    boxes.set('.sw-panel-widget', { ...panel, width: 600, height: 400 } as Box);
    point('pointerover', row());
    expect(cards()[0]!.hasAttribute('popover')).toBe(false);
    // In it, the row begins at 200, 50.
    expect(places()).toEqual([[600 - 4 - CARD.width, 74]]);
  });

  it('loses it when the panel scrolls, not when another does', () => {
    point('pointerover', row());
    scroll(document.body);
    expect(cards()).toHaveLength(1);
    at(60);
    scroll(host.querySelector('.sw-FineMetrics')!);
    expect(cards()).toEqual([]);
  });

  it('loses it when a border moves the panel', () => {
    host.classList.add('sw-panel-widget');
    after(() => row().querySelector('button')!.focus());
    const panelObserver = observers.find(({ seen }) => seen.includes(host))!;
    act(() => panelObserver.tell());
    expect(cards()).toHaveLength(1);
    at(60);
    act(() => panelObserver.tell());
    expect(cards()).toEqual([]);
  });

  it('loses it when the panel is hidden', () => {
    after(() => row().querySelector('button')!.focus());
    expect(cards()).toHaveLength(1);
    hidePanel();
    expect(cards()).toEqual([]);
  });
});

describe('a frame of Profile', () => {
  const chart = () => host.querySelector('.sw-Profile-icicle')!;
  const selection = new SelectionModel();
  const theme = { palette: readPalette(document.body) } as ITheme;
  Object.assign(theme, { changed: new Signal(theme) });
  const answer = (result: ProfileResult) =>
    act(() =>
      root.render(
        <ProfileView
          tree={frameTree(result)}
          activity={activityOf(result)}
          wholeActivity={null}
          time="all"
          focus={null}
          selected={null}
          found={null}
          selection={selection}
          theme={theme}
          trans={trans}
          onZoom={() => undefined}
          onSelect={() => undefined}
        />
      )
    );

  beforeEach(() => {
    boxes.set('.sw-Profile-icicle canvas', {
      left: 700,
      top: 500,
      right: 1000,
      bottom: 640
    });
    answer(profile);
  });

  it('has its card 12 px from the pointer and not over itself, within the window', () => {
    // Rows are 28 px high. Below the first there is room, at the pointer's right there is none.
    point('pointermove', chart(), { x: 950, y: 525 });
    expect(inTopLayer).toEqual(cards());
    expect(cards()[0]!.textContent).toContain('all functions');
    expect(places()).toEqual([[950 - 12 - CARD.width, 525 + 12]]);
    point('pointermove', chart(), { x: 950, y: 505 });
    expect(places()).toEqual([[950 - 12 - CARD.width, 528 + 2]]);
    point('pointermove', chart(), { x: 710, y: 550 });
    expect(cards()[0]!.textContent).toContain('execute_task');
    expect(places()).toEqual([[710 - 12 - CARD.width, 528 - 2 - CARD.height]]);
  });

  it('loses it by a click, and when the chart scrolls or is hidden', () => {
    const target = chart();
    const show = () => {
      size = CARD;
      point('pointermove', target, { x: 710, y: 505 });
      expect(cards()).toHaveLength(1);
    };
    show();
    point('click', target, { x: 710, y: 505 });
    expect(cards()).toEqual([]);
    show();
    boxes.set('.sw-Profile-icicle canvas', {
      left: 700,
      top: 480,
      right: 1000,
      bottom: 620
    });
    scroll(target);
    expect(cards()).toEqual([]);
    show();
    hidePanel();
    expect(cards()).toEqual([]);
  });

  it('has the card of what the pointer is on, also after answers that move frames', () => {
    const { nodes } = profile;
    /** As if a function had been sampled so often, which stands before all others. */
    const withNewcomer = (samples: number): ProfileResult => ({
      ...profile,
      nodes: {
        ...nodes,
        ...Object.fromEntries(
          Object.entries(nodes).map(([column, [root, ...others]]) => [
            column,
            [root, root, ...others]
          ])
        ),
        parent: [
          -1,
          0,
          ...nodes.parent.slice(1).map(above => (above === 0 ? 0 : above + 1))
        ],
        name: ['all', 'newcomer', ...nodes.name.slice(1)],
        n: [nodes.n[0]! + samples, samples, ...nodes.n.slice(1)]
      }
    });
    /** Nothing is called. */
    const rootAlone: ProfileResult = {
      ...profile,
      nodes: Object.fromEntries(
        Object.entries(nodes).map(([column, [root]]) => [column, [root]])
      ) as unknown as ProfileResult['nodes']
    };
    const named = () => cards()[0]?.querySelector('strong')?.textContent;
    point('pointermove', chart(), { x: 710, y: 550 });
    expect(named()).toBe('execute_task');
    answer(withNewcomer(1));
    expect(named()).toBe('execute_task');
    answer(withNewcomer(nodes.n[0]!));
    expect(named()).toBe('newcomer');
    answer(rootAlone);
    expect(cards()).toEqual([]);
    // The pointer may be elsewhere when there is a frame again.
    answer(profile);
    expect(cards()).toEqual([]);
  });

  it('loses it by Escape, wherever the focus is', () => {
    point('pointermove', chart(), { x: 710, y: 550 });
    press('Enter');
    expect(cards()).toHaveLength(1);
    press('Escape');
    expect(cards()).toEqual([]);
  });
});

describe.each(['memory', 'system'] as const)('a chart of %s', view => {
  const chart = `.sw-${view === 'memory' ? 'Memory' : 'System'}-chart`;
  const at = (top: number, height: number) =>
    boxes.set(chart, { left: 500, top, right: 1000, bottom: top + height });
  const theme = { palette: readPalette(document.body) } as ITheme;
  Object.assign(theme, { changed: new Signal(theme) });
  const context = {
    theme,
    cluster: { current: clusterInfo() },
    selection: new SelectionModel()
  } as unknown as PanelContext;
  /** The pointer is at 3 s of the first chart. */
  const tell = (name: string, x = 0, y = 0) =>
    act(() =>
      listeners.get(host.querySelector('.sw-plotly')!)!.get(name)!({
        xvals: [3],
        event: new MouseEvent('mousemove', { clientX: x, clientY: y })
      })
    );

  beforeEach(async () => {
    const options = { hidden: new Set<string>(), context, trans };
    const shown =
      view === 'memory' ? (
        <MemoryView
          {...options}
          result={ask(store, view, { ended: true, params: MEMORY_PARAMS })}
          align="clock"
          show="cluster"
          time={{ by: 'all' }}
          filtered="all"
          drawn={{}}
          below="nothing"
          isLocal={false}
          onToggle={() => undefined}
          onZoom={() => undefined}
          onUseAsTimeFilter={() => undefined}
          onAsInStream={null}
        />
      ) : (
        <SystemView
          {...options}
          result={ask(store, view, { ended: true })}
          of="processes"
          onToggle={() => undefined}
        />
      );
    await act(async () => root.render(shown));
  });

  it('says of memory why the other panel has another figure', () => {
    const titles = [...host.querySelectorAll('[title]')].map(
      each =>
        [
          each.textContent,
          (each as HTMLElement).title.split('\n').at(-1)
        ] as const
    );
    expect(titles).toContainEqual(
      view === 'memory'
        ? [
            'Process memory of the cluster, 2 runs by clock',
            'What processes share is counted once at most; Resident memory in System has it in each of them.'
          ]
        : [
            'Resident memory',
            'What processes share is in each of them; Process in Memory Sampler counts it once at most.'
          ]
    );
  });

  it('has its card in the top layer, over no part of it while it is low', () => {
    at(300, 92);
    tell('plotly_hover', 990, 340);
    expect(inTopLayer).toEqual(cards());
    expect(cards()[0]!.textContent).toMatch(/^3\.000\ss/);
    expect(cards()[0]!.querySelectorAll('tr').length).toBeGreaterThan(0);
    expect(places()).toEqual([[990 - 12 - CARD.width, 394]]);
    at(600, 92);
    tell('plotly_hover', 510, 640);
    expect(places()).toEqual([[522, 598 - CARD.height]]);
    tell('plotly_unhover');
    expect(cards()).toEqual([]);
  });

  it('has it beside the pointer where it is high, and within the window', () => {
    at(100, 400);
    tell('plotly_hover', 600, 150);
    expect(places()).toEqual([[612, 150]]);
    tell('plotly_hover', 980, 480);
    expect(places()).toEqual([[980 - 12 - CARD.width, 480]]);
    at(300, 400);
    tell('plotly_hover', 980, 690);
    expect(places()).toEqual([[980 - 12 - CARD.width, 768 - 4 - CARD.height]]);
  });

  it('loses it when the panel scrolls or is hidden, and by Escape', () => {
    at(300, 92);
    tell('plotly_hover', 600, 340);
    press('Escape');
    expect(cards()).toEqual([]);
    tell('plotly_hover', 600, 340);
    scroll(document.body);
    expect(cards()).toHaveLength(1);
    at(280, 92);
    scroll(document.body);
    expect(cards()).toEqual([]);
    tell('plotly_hover', 600, 340);
    hidePanel();
    expect(cards()).toEqual([]);
  });
});
