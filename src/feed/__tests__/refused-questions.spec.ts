/** A question that the observer refuses, from the page's feed to the observer's session and back. */
import { ObservedPage } from '../../testing/panel-harness/observed-page';
import { drawBlocks } from '../../testing/run-from-text';
import { waitFor } from '../../testing/wait-for';
import type { IWatch, WatchSpec } from '../feed-types';
import { PageLink } from '../page-link';

const LONG = { search: 'x'.repeat(70_000) };
const SPEC: WatchSpec = {
  cluster: 'drawn',
  view: 'tasks',
  filter: {},
  time: 'all',
  params: {}
};

describe('a question that is too long', () => {
  let page: ObservedPage;
  let pushes: number;
  const failures = new Set<string>();
  let sends: jest.SpyInstance;
  let newest = 1000;

  beforeEach(() => {
    sends = jest.spyOn(PageLink.prototype, 'send');
    page = new ObservedPage({ blocks: drawBlocks('0/0 a'), liveAt: 5 });
    pushes = 0;
    failures.clear();
    page.feed.clustersChanged.connect(() => pushes++);
  });
  afterEach(() => {
    page.dispose();
    sends.mockRestore();
  });

  function watch(spec: WatchSpec): IWatch {
    return page.feed.watch(spec, ({ failure }) => {
      if (failure !== null) {
        failures.add(failure);
      }
    });
  }

  /** What the page sends while the observer tells it three times of its clusters. */
  async function sentMeanwhile(): Promise<string[]> {
    sends.mockClear();
    const until = pushes + 3;
    while (pushes < until) {
      const runs = drawBlocks('0/0 a').find(({ table }) => table === 'runs')!;
      runs.columns['run']![0] = newest++;
      page.take([runs]);
      const before = pushes;
      await waitFor('the clusters', () => pushes > before);
    }
    return sends.mock.calls.map(([type]) => type as string);
  }

  it.each([
    ['the first', LONG],
    ['a change', {}]
  ])('is sent once, and answered when it is short (%s)', async (_, params) => {
    const asked = watch({ ...SPEC, params });
    if (params !== LONG) {
      await waitFor('an answer', () => asked.snapshot !== null);
      asked.change({ params: LONG });
    }
    await waitFor('the refusal', () => asked.failure !== null);
    expect(await sentMeanwhile()).toEqual([]);
    asked.change({ params: {} });
    await waitFor('an answer', () => asked.failure === null);
    expect([...failures]).toEqual([expect.stringContaining('70,015')]);
  });
});
