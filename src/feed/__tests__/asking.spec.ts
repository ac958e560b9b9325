/** Whether an answer is awaited, from the page's feed to the observer's session and back. */
import * as fc from 'fast-check';
import { ObservedPage } from '../../testing/panel-harness/observed-page';
import { drawBlocks } from '../../testing/run-from-text';
import type { TimeRange } from '../../wire/panel-link';
import type { IWatch, WatchChange } from '../feed-types';
import { PageLink } from '../page-link';

/** Questions of which many are equal for the observer: by ends in another order, params that no view knows or of another type. */
const TIMES: readonly TimeRange[] = [
  'all',
  { from: 0, to: 1 },
  { to: 1, from: 0 },
  { last: 5 },
  { from: -0, to: 1 }
];
const PARAMS: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { colourBy: 'kind' },
  { sort: 7 },
  { limit: NaN },
  { limit: null, search: undefined },
  { descending: false },
  { sort: 'duration', limit: 5 },
  { limit: 5, sort: 'duration' },
  { limit: 6 },
  { search: 'x' },
  { search: '\ud800' },
  { search: '\udc00' },
  { search: `${'x'.repeat(300)}\ud800` },
  { search: `${'x'.repeat(300)}\udc00` },
  // Too long.
  { search: 'x'.repeat(70_000) },
  { colourBy: 'x'.repeat(70_000) }
];
const FILTERS = [{}, { functions: [] }, { functions: ['a'] }];

const time = fc.constantFrom(...TIMES).map(drawn => ({ time: drawn }));
const params = fc.constantFrom(...PARAMS).map(drawn => ({ params: drawn }));
const filter = fc.constantFrom(...FILTERS).map(drawn => ({ filter: drawn }));
// Few filters: each begins a watch anew, which is always answered.
const change: fc.Arbitrary<WatchChange> = fc.oneof(
  { weight: 6, arbitrary: params },
  { weight: 4, arbitrary: time },
  {
    weight: 2,
    arbitrary: fc.tuple(time, params).map(([one, two]) => ({ ...one, ...two }))
  },
  { weight: 1, arbitrary: filter }
);

type Step =
  | { readonly do: 'change'; readonly change: WatchChange }
  | { readonly do: 'wait' | 'turn' | 'rows' | 'end' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: change.map(drawn => ({ do: 'change' as const, change: drawn }))
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Step>({ do: 'wait' }, { do: 'turn' })
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>({ do: 'rows' }, { do: 'end' })
  }
);

/** An answer takes milliseconds, on a busy machine far more. */
const LIMIT_MILLISECONDS = 60_000;

async function isAnswered(watch: IWatch): Promise<boolean> {
  const until = performance.now() + LIMIT_MILLISECONDS;
  while (watch.isAsking && performance.now() < until) {
    await new Promise(resolve => setTimeout(resolve, 1));
  }
  return !watch.isAsking;
}

describe('a watch', () => {
  it.each([true, false])(
    'asks for no longer than until its answer, whatever is changed, and ends (ended before: %s)',
    async hasEnded => {
      let newest = 1000;
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...PARAMS),
          fc.array(step, { minLength: 4, maxLength: 16, size: 'max' }),
          async (first, steps) => {
            const page = new ObservedPage({
              blocks: drawBlocks('0/0 aaaa'),
              liveAt: hasEnded ? undefined : 5
            });
            const end = (): void => {
              if (!page.cluster.ended) {
                page.cluster.end('closed', page.cluster.store.now);
              }
            };
            try {
              const watch = page.feed.watch(
                {
                  cluster: 'drawn',
                  view: 'tasks',
                  filter: {},
                  time: 'all',
                  params: first,
                  maxHz: 60
                },
                () => undefined
              );
              for (const each of steps) {
                if (each.do === 'change') {
                  watch.change(each.change);
                } else if (each.do === 'wait') {
                  expect(await isAnswered(watch)).toBe(true);
                } else if (each.do === 'turn') {
                  await new Promise(resolve => setTimeout(resolve, 0));
                } else if (each.do === 'end') {
                  end();
                } else if (!page.cluster.ended) {
                  const runs = drawBlocks('0/0 a').find(
                    ({ table }) => table === 'runs'
                  )!;
                  runs.columns['run']![0] = newest++;
                  page.take([runs]);
                }
              }
              end();
              expect(await isAnswered(watch)).toBe(true);
              expect(watch.snapshot ?? watch.failure).not.toBeNull();
            } finally {
              page.dispose();
            }
          }
        ),
        { numRuns: 200, endOnFailure: true }
      );
    }
  );

  it('takes no answer to an earlier range for one to its own', async () => {
    const page = new ObservedPage({
      blocks: drawBlocks('0/0 aaaa'),
      delayMilliseconds: 200
    });
    try {
      const totals: unknown[] = [];
      const watch = page.feed.watch(
        {
          cluster: 'drawn',
          view: 'tasks',
          filter: {},
          time: 'all',
          params: {}
        },
        ({ snapshot }) => {
          const { result } = snapshot!;
          totals.push(result.view === 'tasks' && result.total);
        }
      );
      // It is answered by now, and the answer is still on its way.
      await new Promise(resolve => setTimeout(resolve, 100));
      watch.change({ time: { from: 10, to: 11 } });
      expect(await isAnswered(watch)).toBe(true);
      expect(totals).toEqual([0]);
    } finally {
      page.dispose();
    }
  });

  it('sends no change after which the question is the same', async () => {
    const page = new ObservedPage({ blocks: drawBlocks('0/0 a') });
    const sends = jest.spyOn(PageLink.prototype, 'send');
    try {
      const watch = page.feed.watch(
        {
          cluster: 'drawn',
          view: 'tasks',
          filter: {},
          time: { from: 0, to: 1 },
          params: { colourBy: 'kind', sort: 7 }
        },
        () => undefined
      );
      expect(await isAnswered(watch)).toBe(true);
      sends.mockClear();
      watch.change({ params: {}, time: { to: 1, from: 0 } });
      watch.change({ params: { limit: NaN, descending: false } });
      expect(watch.isAsking).toBe(false);
      expect(sends).not.toHaveBeenCalled();
    } finally {
      page.dispose();
      sends.mockRestore();
    }
  });
});
