import { nullTranslator } from '@jupyterlab/translation';
import { KernelClusters, type AskKernel } from '../kernel-clusters';

type Content = Awaited<NonNullable<ReturnType<AskKernel>>>;

const ADDRESS = 'tcp://127.0.0.1:8786';

const content = (answer: unknown): Content =>
  ({
    status: 'ok',
    user_expressions: { answer: { data: { 'application/json': answer } } }
  }) as unknown as Content;

const seen = (shownAs = '') =>
  content({
    clusters: [{ address: ADDRESS, workers: 2, threads: 4, shownAs }]
  });

/** A kernel that answers when the test says so. */
function kernel() {
  const asked: {
    readonly expression: string;
    answer(content: Content): void;
    fail(error: unknown): void;
  }[] = [];
  const ask: AskKernel = (_, expression) =>
    new Promise<Content>((answer, fail) => {
      asked.push({ expression, answer, fail });
    });
  return { asked, ask };
}

const flush = () => jest.advanceTimersByTimeAsync(0);
const of = (ask: AskKernel) =>
  new KernelClusters({ ask, trans: nullTranslator.load('spanwise') });

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

describe('a kernel', () => {
  it('is asked after a cell, not twice at a time, and then each two seconds at most', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    clusters.look('a.ipynb');
    clusters.look('a.ipynb');
    expect(asked).toHaveLength(1);
    asked[0]!.answer(seen());
    await flush();
    expect(clusters.offers('a.ipynb')).toHaveLength(1);
    expect(clusters.offers('b.ipynb')).toEqual([]);
    // A cell had ended while the kernel was asked.
    await jest.advanceTimersByTimeAsync(1999);
    expect(asked).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(asked).toHaveLength(2);
    asked[1]!.answer(content({ clusters: [] }));
    await flush();
    expect(clusters.offers('a.ipynb')).toEqual([]);
    // No cell since: it is left alone.
    await jest.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(2);
    clusters.look('a.ipynb');
    expect(asked).toHaveLength(3);
  });

  it('that ends is asked again later; what it said before a restart counts no more', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    clusters.look('a.ipynb');
    asked[0]!.fail(new Error('Canceled'));
    await jest.advanceTimersByTimeAsync(2000);
    clusters.look('a.ipynb');
    expect(asked).toHaveLength(2);
    clusters.forget('a.ipynb');
    asked[1]!.answer(seen());
    await flush();
    expect(clusters.offers('a.ipynb')).toEqual([]);
  });

  it('keeps its clusters when its notebook is renamed, also while it is asked', async () => {
    const { asked, ask } = kernel();
    const paths: string[] = [];
    const clusters = of((path, expression) => {
      paths.push(path);
      return ask(path, expression);
    });
    clusters.look('a.ipynb');
    clusters.rename('a.ipynb', 'b.ipynb');
    asked[0]!.answer(seen());
    await flush();
    expect(clusters.offers('a.ipynb')).toEqual([]);
    expect(clusters.offers('b.ipynb')).toHaveLength(1);
    const attached = clusters.attach('b.ipynb', ADDRESS);
    clusters.rename('b.ipynb', 'c.ipynb');
    expect(clusters.isUnderWay('c.ipynb', ADDRESS)).toBe(true);
    asked[1]!.answer(content({ cluster: 'x' }));
    await attached;
    await jest.advanceTimersByTimeAsync(2000);
    expect(paths).toEqual(['a.ipynb', 'b.ipynb', 'c.ipynb']);
    asked[2]!.answer(seen('x'));
    await flush();
    expect(clusters.offers('c.ipynb')).toEqual([]);
    expect(clusters.addressOf('x')).toBe(ADDRESS);
  });

  it('has first offers again after a restart, and else once', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    clusters.look('a.ipynb');
    asked[0]!.answer(seen());
    await flush();
    expect(clusters.firstOffers('a.ipynb')).toHaveLength(1);
    clusters.rename('a.ipynb', 'b.ipynb');
    expect(clusters.firstOffers('b.ipynb')).toEqual([]);
    clusters.forget('b.ipynb');
    clusters.look('b.ipynb');
    asked[1]!.answer(seen());
    await flush();
    expect(clusters.firstOffers('b.ipynb')).toHaveLength(1);
  });

  it('tells listeners only of what is new', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    const told = jest.fn();
    clusters.changed.connect(told);
    for (let round = 0; round < 3; round++) {
      clusters.look('a.ipynb');
      asked[round]!.answer(seen());
      await jest.advanceTimersByTimeAsync(2000);
    }
    expect(told).toHaveBeenCalledTimes(1);
  });

  it('is left alone when nobody listens any more', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    clusters.look('a.ipynb');
    clusters.look('a.ipynb');
    clusters.dispose();
    asked[0]!.answer(seen());
    await jest.advanceTimersByTimeAsync(10_000);
    expect(asked).toHaveLength(1);
  });
});

describe('letting go', () => {
  it('leaves an offer, which is not taken at once', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    clusters.look('a.ipynb');
    asked[0]!.answer(seen('dask-1'));
    await flush();
    const done = clusters.letGo('a.ipynb', 'dask-1');
    expect(asked[1]!.expression).toContain('let_go_here');
    expect(asked[1]!.expression).toContain('dask-1');
    asked[1]!.answer(content({ cluster: 'dask-1' }));
    expect(await done).toBe('');
    await jest.advanceTimersByTimeAsync(2000);
    asked[2]!.answer(seen());
    await flush();
    expect(clusters.offers('a.ipynb')).toHaveLength(1);
    expect(clusters.firstOffers('a.ipynb')).toEqual([]);
  });

  it('says why it was not done', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    const elsewhere = clusters.letGo('a.ipynb', 'dask-1');
    asked[0]!.answer(content({ problem: 'It was attached to elsewhere.' }));
    expect(await elsewhere).toBe('It was attached to elsewhere.');
    const busy = clusters.letGo('a.ipynb', 'dask-1');
    await jest.advanceTimersByTimeAsync(30_000);
    expect(await busy).toContain('the cluster is let go when it ends');
    expect(await of(() => null).letGo('a.ipynb', 'dask-1')).toBe(
      'The kernel of a.ipynb watches it. Open this notebook, and try again.'
    );
  });
});

describe('attaching', () => {
  it('is under way once; a cluster that is shown is offered no more', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    const attached = clusters.attach('a.ipynb', ADDRESS);
    expect(clusters.isUnderWay('a.ipynb', ADDRESS)).toBe(true);
    expect(await clusters.attach('a.ipynb', ADDRESS)).toBeNull();
    expect(asked).toHaveLength(1);
    asked[0]!.answer(content({ cluster: 'dask-1' }));
    expect(await attached).toEqual({ cluster: 'dask-1' });
    expect(clusters.isUnderWay('a.ipynb', ADDRESS)).toBe(false);
    asked[1]!.answer(seen('dask-1'));
    await flush();
    expect(clusters.seen('a.ipynb')).toHaveLength(1);
    expect(clusters.offers('a.ipynb')).toEqual([]);
  });

  it('says why not, until the next attempt', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    const first = clusters.attach('a.ipynb', ADDRESS);
    asked[0]!.answer(content({ problem: 'Nobody answers there.' }));
    await first;
    expect(clusters.problemOf('a.ipynb', ADDRESS)).toBe(
      'Nobody answers there.'
    );
    void clusters.attach('a.ipynb', ADDRESS);
    expect(clusters.problemOf('a.ipynb', ADDRESS)).toBeUndefined();
  });

  it('ends after a while, with a kernel that is busy, and with one that is gone', async () => {
    const { asked, ask } = kernel();
    const clusters = of(ask);
    const busy = clusters.attach('a.ipynb', ADDRESS);
    await jest.advanceTimersByTimeAsync(30_000);
    expect(await busy).toEqual({
      problem: expect.stringContaining('If a cell runs') as string
    });
    const gone = clusters.attach('a.ipynb', ADDRESS);
    asked.at(-1)!.fail(new Error('Canceled future'));
    expect(await gone).toEqual({
      problem: expect.stringContaining('Canceled future') as string
    });
    const none = of(() => null).attach('a.ipynb', ADDRESS);
    expect(await none).toEqual({
      problem: expect.stringContaining('no Python kernel') as string
    });
  });
});
