/** What the panel says of a limit, and of a button that begins and ends no run. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import type {
  ClusterInfo,
  Filter,
  MemoryResult
} from '../../../wire/panel-link';
import { memoryPanel } from '..';
import { english } from '../../../testing/translators';
import { isSumOfLimits, limitSentence } from '../../limit-sentence';
import type { SpanwisePanel } from '../../panel';
import type { MenuItem } from '../../panel-menu';

// The chart is not drawn.
jest.mock('../../../charts/load-plotly', () => ({
  loadPlotly: () => new Promise(() => undefined)
}));

const GiB = 2 ** 30;
const RESULT: MemoryResult = {
  view: 'memory',
  measure: 'process',
  series: [{ name: 'cluster', worker: null, t: [0, 1], bytes: [1, 2] }],
  limits: {
    memoryLimit: 47 * GiB,
    target: 28 * GiB,
    spill: 33 * GiB,
    pause: 38 * GiB
  },
  runs: [],
  now: null
};

let panel: SpanwisePanel | undefined;

/** Each tells that what it observes has another size. */
let observers: (() => void)[] = [];

beforeAll(() => {
  Object.assign(globalThis, {
    IS_REACT_ACT_ENVIRONMENT: true,
    ResizeObserver: class {
      constructor(tell: () => void) {
        observers.push(tell);
      }
      observe(): void {}
      disconnect(): void {}
    }
  });
});
beforeEach(() => {
  observers = [];
});
afterEach(async () => {
  await act(async () => panel?.dispose());
  jest.restoreAllMocks();
});

/** The panel of such a cluster, once this is answered. */
async function shown(
  cluster: Partial<ClusterInfo>,
  over: Partial<MemoryResult> = {},
  filter: Filter = {}
): Promise<HTMLElement> {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo(cluster));
  await act(async () => panel?.dispose());
  const context = contexts.get({ name: 'first-look' });
  filter.workers?.forEach(worker => context.selection.toggleWorker(worker));
  const made = memoryPanel.create({ context, state: undefined });
  panel = made;
  await act(async () => {
    Widget.attach(made, document.body);
    feed.running[0]!.answer({ ...RESULT, ...over });
    MessageLoop.flush();
    await made.renderPromise;
  });
  return made.node;
}

it.each(['embedded', 'dask'] as const)(
  'the limit of a cluster (%s) is a sum',
  async kind => {
    const aside = async (over: Partial<MemoryResult>) => {
      const node = await shown({ kind }, over);
      const found = node.querySelector<HTMLElement>('.sw-block-aside')!;
      return [found.textContent, found.title];
    };
    expect(await aside({})).toEqual([
      'workers’ limits 47.0\u00a0GiB',
      'The limit is the workers’ limits added up, which may be more memory than there is.'
    ]);
    expect(await aside({ limits: null })).toEqual(['', '']);
  }
);

it('the limit of a single worker is no sum', async () => {
  const { workers } = clusterInfo();
  const [one] = workers.map(each => ({ ...each, memoryLimit: 47 * GiB }));
  const aside = async (...there: ClusterInfo['workers']) => {
    const node = await shown({ workers: there });
    const found = node.querySelector<HTMLElement>('.sw-block-aside')!;
    return [found.textContent, found.title !== ''];
  };
  const gone = { ...one!, worker: 1, state: 'gone' } as const;
  const single = ['worker’s limit 47.0\u00a0GiB', false];
  expect(await aside(one!)).toEqual(single);
  expect(await aside(one!, gone)).toEqual(single);
  const half = { ...one!, memoryLimit: 23.5 * GiB };
  expect(await aside(half, { ...half, worker: 1 })).toEqual([
    'workers’ limits 47.0\u00a0GiB',
    true
  ]);
});

it('the limit is a sum if several workers have a part in it', () => {
  const workersOf = (
    limits: readonly number[],
    gone: readonly number[]
  ): ClusterInfo['workers'] =>
    limits.map((limit, worker) => ({
      ...clusterInfo().workers[0]!,
      worker,
      memoryLimit: limit * GiB,
      state: gone.includes(worker) ? 'gone' : 'running'
    }));
  const isSum = (
    limit: number,
    limits: readonly number[],
    { chosen = [], gone = [], state = 'running' }: Case = {}
  ) => {
    const cluster = clusterInfo({ state, workers: workersOf(limits, gone) });
    const found = isSumOfLimits(limit * GiB, cluster, chosen);
    const said = limitSentence(limit * GiB, cluster, chosen, english);
    expect(said !== null).toBe(found);
    return found;
  };
  // One of two has none.
  expect(isSum(4, [0, 4])).toBe(false);
  expect(isSum(8, [0, 4, 4])).toBe(true);
  expect(isSum(0, [0, 0])).toBe(false);
  // Two have together as much as a third that the filter leaves out.
  expect(isSum(8, [4, 4, 8], { chosen: [0, 1] })).toBe(true);
  expect(isSum(8, [4, 4, 8], { chosen: [2] })).toBe(false);
  // As much as one that has left.
  expect(isSum(8, [4, 4, 8], { gone: [2] })).toBe(true);
  expect(isSum(4, [4, 4, 8], { gone: [1, 2] })).toBe(false);
  // The answer is of a moment before the worker's limit was told anew.
  expect(isSum(4, [6, 6], { gone: [1] })).toBe(false);
  // The filter's only worker is gone from a cluster that goes on.
  expect(isSum(4, [4, 8], { chosen: [0], gone: [0] })).toBe(false);
  expect(isSum(8, [4, 4, 8], { chosen: [0, 1], gone: [0, 1] })).toBe(true);
  // Of a cluster that has ended nobody says who left before.
  const ended = { state: 'ended', gone: [0, 1, 2] } as const;
  expect(isSum(8, [4, 4], ended)).toBe(true);
  expect(isSum(4, [4, 8], ended)).toBe(false);
  expect(isSum(4, [0, 4], ended)).toBe(false);
  expect(isSum(8, [4, 4, 8], { ...ended, chosen: [0, 1] })).toBe(true);
});

it('the limit of the workers that the filter chooses is a sum if they are several', async () => {
  const workers = [4, 4, 8].map((limit, worker) => ({
    ...clusterInfo().workers[0]!,
    worker,
    memoryLimit: limit * GiB
  }));
  const limits = { ...RESULT.limits!, memoryLimit: 8 * GiB };
  const aside = async (...chosen: number[]) => {
    const node = await shown({ workers }, { limits }, { workers: chosen });
    return node.querySelector<HTMLElement>('.sw-block-aside')!.textContent;
  };
  expect(await aside(0, 1)).toBe('workers’ limits 8.00\u00a0GiB');
  expect(await aside(2)).toBe('worker’s limit 8.00\u00a0GiB');
});

type Case = {
  readonly chosen?: readonly number[];
  readonly gone?: readonly number[];
  readonly state?: ClusterInfo['state'];
};

const RUN: MemoryResult['runs'][number] = {
  run: 1,
  label: 'load',
  measure: 'process',
  intervalSeconds: 1,
  start: 0,
  stopped: null,
  t: [0],
  bytes: [1],
  samples: 1,
  first: 1,
  last: 1,
  peak: 1,
  peakAt: 0,
  mean: 1,
  area: 0
};

it.each<[string, Partial<ClusterInfo>, MemoryResult['runs'], string, string]>([
  [
    'runs',
    {},
    [],
    'Record: a run is a block of code; write “with MemorySampler().sample("A"):” above it in a cell',
    'No run is recorded yet. Write with MemorySampler().sample("A"): in a cell.'
  ],
  [
    'is sampled',
    {},
    [RUN],
    'Stop “load”: it ends with the block of code that is sampled',
    'recording'
  ],
  [
    'has ended',
    { state: 'ended' },
    [],
    'Record: first-look has ended',
    'No run was recorded.'
  ],
  [
    'is watched no more',
    { kind: 'dask', state: 'ended', unwatched: true },
    [],
    'Record: first-look is not watched any more',
    'No run was recorded.'
  ]
])(
  'Record says why it does nothing while a cluster %s',
  async (_, cluster, runs, title, words) => {
    const node = await shown(cluster, { runs });
    const button = node.querySelector<HTMLElement>('[role=toolbar] button')!;
    expect(button.title).toBe(title);
    // Of one width, whatever is recorded: the title has all of it.
    expect(button.classList).toContain('sw-Memory-record');
    expect(button.lastElementChild!.textContent).toBe(title.split(':')[0]);
    // Of a narrow panel's button the icon is all there is.
    const isRecording = runs.length > 0;
    expect(button.querySelector('svg')!.dataset.icon).toBe(
      isRecording ? 'spanwise:recording' : 'spanwise:record'
    );
    expect(button.classList.contains('sw-is-recording')).toBe(isRecording);
    expect(button.getAttribute('aria-disabled')).toBe('true');
    expect(node.textContent).toContain(words);
  }
);

it.each<[string, { state?: object; over?: object; told: string }]>([
  [
    'shows recorded runs from zero: nothing narrows them',
    {
      over: { runs: [RUN] },
      told: 'not filtered: Recorded runs are shown whole, of all workers.'
    }
  ],
  [
    'shows the cluster beside them',
    {
      state: { align: 'clock' },
      over: { runs: [RUN] },
      told: 'approximate: of the observer'
    }
  ],
  [
    'shows its table, which has the cluster too',
    {
      state: { showsTable: true },
      over: { runs: [RUN] },
      told: 'approximate: of the observer'
    }
  ],
  ['shows the cluster alone', { told: 'approximate: of the observer' }]
])(
  'under a filter by time says what is true while it %s',
  async (_, { state, over, told }) => {
    const { feed, contexts } = labContext();
    feed.setClusters(clusterInfo());
    await act(async () => panel?.dispose());
    const context = contexts.get({ name: 'first-look' });
    const made = memoryPanel.create({ context, state: state as never });
    panel = made;
    await act(async () => {
      Widget.attach(made, document.body);
      context.selection.setTime({ from: 1, to: 2 });
      feed.running
        .at(-1)!
        .answer(
          { ...RESULT, ...over },
          { honoured: { how: 'approximate', why: 'of the observer' } }
        );
      MessageLoop.flush();
      await made.renderPromise;
    });
    expect(made.node.querySelector('.sw-chips-honoured')!.textContent).toBe(
      told
    );
  }
);

it('has the choice of time in More, for a low panel, whose toolbar leaves it out', async () => {
  const node = await shown({}, { runs: [RUN] });
  const radios = () =>
    [...node.querySelectorAll('.sw-Memory-align [aria-checked=true]')].map(
      ({ textContent }) => textContent
    );
  const more = panel as unknown as { moreItems(): readonly MenuItem[] };
  const item = () =>
    more.moreItems().find(({ label }) => label === 'By clock')!;
  expect([radios(), item().isToggled]).toEqual([['From zero'], false]);
  const toggle = () =>
    act(async () => {
      item().run();
      MessageLoop.flush();
      await panel!.renderPromise;
    });
  await toggle();
  expect([radios(), item().isToggled]).toEqual([['By clock'], true]);
  await toggle();
  expect([radios(), item().isToggled]).toEqual([['From zero'], false]);
});

it.each<[ClusterInfo['kind'], string, string, string[]]>([
  [
    'embedded',
    'Process memory of the cluster',
    'cluster',
    ['Cluster', 'Workers']
  ],
  [
    'local',
    'Process memory',
    'all processes',
    ['All processes', 'Each process']
  ]
])('of kind %s the words fit', async (kind, title, line, shows) => {
  const node = await shown({ kind });
  expect(node.querySelector('.sw-Memory-title > span')!.textContent).toBe(
    title
  );
  expect(node.querySelector('.sw-legend')!.textContent).toBe(line);
  const radios = [...node.querySelectorAll('[aria-label=Show] [role=radio]')];
  expect(radios.map(({ textContent }) => textContent)).toEqual(shows);
  const more = panel as unknown as { moreItems(): readonly MenuItem[] };
  expect(more.moreItems()[0]!.label).toBe(
    kind === 'local' ? 'Each process' : 'Each worker'
  );
});

it.each([
  ['without runs', [], 'legend'],
  ['with runs, which are next', [RUN], 'Memory-title']
])(
  'a low panel %s begins with its chart, for the keyboard and screen readers too',
  async (_, runs, third) => {
    const node = await shown({}, { runs });
    const parts = () =>
      [...node.querySelector('.sw-Memory')!.children].map(
        ({ className }) =>
          /sw-(Memory-title|Memory-chart|Memory-runs|legend)/.exec(
            className
          )?.[1]
      );
    const resize = async (height: number) => {
      jest
        .spyOn(HTMLElement.prototype, 'clientHeight', 'get')
        .mockReturnValue(height);
      await act(async () => observers.forEach(tell => tell()));
      return parts().slice(0, 3);
    };
    const second = runs.length === 0 ? 'Memory-title' : 'Memory-runs';
    const ofLow = ['Memory-chart', second, third];
    const ofHigh = ['Memory-title', 'Memory-chart', 'legend'];
    expect(parts().slice(0, 3)).toEqual(ofHigh);
    expect(await resize(210)).toEqual(ofHigh);
    expect(await resize(209)).toEqual(ofLow);
    // It is hidden, and comes back as it was.
    expect(await resize(0)).toEqual(ofLow);
    expect(await resize(210)).toEqual(ofHigh);
    expect(await resize(0)).toEqual(ofHigh);
    expect(parts().filter(part => part === 'Memory-runs')).toHaveLength(
      runs.length
    );
  }
);

it('a panel that is low from the start is not drawn otherwise first', async () => {
  jest.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(100);
  // No observer has told it.
  const node = await shown({});
  expect(node.querySelector('.sw-Memory')!.firstElementChild!.className).toBe(
    'sw-Memory-chart'
  );
});

it('draws one thing below the chart, which is chosen in More where there is no room, and stays', async () => {
  const after = { ...RUN, run: 2, label: 'after', stopped: 3 };
  const over = { runs: [{ ...RUN, stopped: 3 }, after] };
  const node = await shown({}, over);
  const below = () =>
    [
      ...node.querySelectorAll(
        '.sw-Memory-breakdown .sw-block-title > :first-child'
      )
    ].map(({ textContent }) => textContent);
  const checked = () =>
    node.querySelector('[aria-label=Below] [aria-checked=true]')!.textContent;
  const more = panel as unknown as { moreItems(): readonly MenuItem[] };
  const item = (name: string) =>
    more.moreItems().find(({ label }) => label === name)!;
  const settle = (what: () => void) =>
    act(async () => {
      what();
      MessageLoop.flush();
      await panel!.renderPromise;
    });
  expect([below(), checked()]).toEqual([[], 'Nothing']);
  await settle(() => item('Difference').run());
  expect([below(), checked()]).toEqual([['after − load'], 'Difference']);
  expect(item('Difference').isToggled).toBe(true);
  expect(panel!.savedState()).toMatchObject({ below: 'difference' });
  await settle(() => item('Breakdown').run());
  expect(checked()).toBe('Breakdown');
  expect(item('Difference').isToggled).toBe(false);
  await settle(() => item('Breakdown').run());
  expect([below(), checked()]).toEqual([[], 'Nothing']);
});

it.each([
  [{ below: 'difference' }, 'difference'],
  [{ below: 'a newer one' }, 'nothing'],
  // As saved by a version of before.
  [{ breakdown: true }, 'breakdown']
])('begins with what was saved: %j', async (state, below) => {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo());
  const context = contexts.get({ name: 'first-look' });
  const made = memoryPanel.create({ context, state: state as never });
  expect(made.savedState()).toMatchObject({ below });
  made.dispose();
});
