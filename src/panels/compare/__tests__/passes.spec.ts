/** The panel of a cluster on which a cell ran again. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import type { ClusterTarget } from '../../../feed/cluster-ref';
import { drawnSpans } from '../../../lab/__tests__/drawn-spans';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import type {
  ClusterInfo,
  Filter,
  SpanRow,
  SpansResult
} from '../../../wire/panel-link';
import { comparePanel } from '..';
import { METRICS_PARAMS } from '../model';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

/** A cell that was run so many times, as [2], [3] … */
function runs(times: number): SpansResult {
  const drawn = drawnSpans(
    ['a.ipynb 9', ...Array.from({ length: times }, () => '  # fit 1')].join(
      '\n'
    )
  );
  return {
    ...drawn,
    rows: drawn.rows.map((row, i): SpanRow => ({
      ...row,
      ...(i === 0
        ? { origin: 'notebook' }
        : { origin: 'cell', execution: 1 + i, cell: 'c0ffee' }),
      id: `id ${i}`,
      opened: 10 * i,
      closed: 10 * i + i
    }))
  };
}

const idsOf = ({ spans }: Filter) =>
  (spans?.all ?? []).map(term => ('path' in term ? term.id : undefined));

describe('a cell that ran again', () => {
  let panel: ReturnType<typeof comparePanel.create>;
  afterEach(() => panel.dispose());

  function open(
    infos: readonly ClusterInfo[],
    state: object = {},
    target: ClusterTarget = { cluster: infos[0]!.cluster }
  ) {
    const { feed, contexts } = labContext();
    feed.setClusters(...infos);
    const context = contexts.get(target);
    panel = comparePanel.create({ context, state: state as never });
    Widget.attach(panel, document.body);
    const of = (view: string) =>
      feed.running.filter(({ spec }) => spec.view === view);
    return {
      feed,
      context,
      /** What the figures of own and other are asked for. */
      asked: () => of('fine-metrics').map(({ spec }) => idsOf(spec.filter!)),
      tell: (spans: SpansResult) => {
        for (const watch of of('spans')) {
          watch.answer(spans);
        }
        // The other run may be watched since.
        for (const watch of of('spans')) {
          watch.answer(spans);
        }
        for (const watch of of('fine-metrics')) {
          watch.answer(
            ask(drawRuns('0/0 aaa'), 'fine-metrics', { params: METRICS_PARAMS })
          );
        }
      }
    };
  }
  const own = clusterInfo({ cluster: 'a', name: 'a', startedAt: 1000 });
  const headline = (text: string) =>
    waitFor(text, () => {
      MessageLoop.flush();
      const found = panel.node.querySelector('.sw-Compare-headline');
      return (
        found?.textContent?.replaceAll('\u00a0', ' ').startsWith(text) ||
        undefined
      );
    });
  const select = (side: 'First run' | 'Second run') =>
    waitFor(side, () => {
      MessageLoop.flush();
      return (
        panel.node.querySelector<HTMLSelectElement>(
          `select[aria-label="${side}"]`
        ) ?? undefined
      );
    });

  it('is compared with the time before, where there is no other run', async () => {
    const { asked, tell } = open([own]);
    expect(asked()).toEqual([[]]);
    tell(runs(1));
    expect(asked()).toEqual([[]]);
    tell(runs(3));
    expect(asked()).toEqual([['id 3'], ['id 2']]);
    await headline('# fit [4] is 1.00 s slower: 3.00 s instead of 2.00 s');
    expect(panel.title.label).toContain('# fit [3], [4]');
    // It was run once more.
    tell(runs(4));
    expect(asked()).toEqual([['id 4'], ['id 3']]);
    expect(panel.savedState()['passes']).toBeUndefined();
  });

  it('gives way to no run, also of a kernel of before that is alike', () => {
    const other = { cluster: 'b', startedAt: 900 };
    const { tell, asked } = open([
      own,
      clusterInfo({ ...other, name: 'another' })
    ]);
    expect(panel.clusters.map(info => info?.cluster)).toEqual(['b', 'a']);
    tell(runs(2));
    expect(panel.clusters.map(info => info?.cluster)).toEqual(['a', 'a']);
    expect(asked()).toEqual([['id 2'], ['id 1']]);
    panel.dispose();
    const alike = open([own, clusterInfo({ ...other, name: 'a' })]);
    alike.tell(runs(2));
    expect(panel.clusters.map(info => info?.cluster)).toEqual(['a', 'a']);
    expect(alike.asked()).toEqual([['id 2'], ['id 1']]);
  });

  it('is compared once it ran again, though figures of another run were seen, unless these are pinned', async () => {
    const alike = (cluster: string, shared: string) =>
      clusterInfo({
        cluster,
        name: 'fit',
        startedAt: cluster === 'a' ? 1000 : 900,
        sharedFunctions: [{ cluster: shared, count: 1 }]
      });
    const infos = [alike('a', 'b'), alike('b', 'a')];
    const restarted = open(infos);
    restarted.tell(runs(1));
    await headline('fit · ');
    expect(restarted.asked()).toEqual([[], []]);
    restarted.tell(runs(2));
    expect(restarted.asked()).toEqual([['id 2'], ['id 1']]);
    await waitFor('what was compared before', () => {
      MessageLoop.flush();
      return (
        /This ran last, so it is compared now\. Before, fit · .* and fit · .* were compared\./u.test(
          panel.node.textContent ?? ''
        ) || undefined
      );
    });
    panel.dispose();
    const pinned = open(infos);
    pinned.tell(runs(1));
    await headline('fit · ');
    panel.node
      .querySelector<HTMLElement>('button[aria-label="Pin to these runs"]')!
      .click();
    pinned.tell(runs(2));
    expect(pinned.asked()).toEqual([[], []]);
  });

  it('is waited for before another run is shown', async () => {
    const alike = (cluster: string, shared: string) =>
      clusterInfo({
        cluster,
        name: 'fit',
        sharedFunctions: [{ cluster: shared, count: 1 }]
      });
    const { feed, tell } = open([alike('a', 'b'), alike('b', 'a')]);
    for (const watch of feed.running) {
      if (watch.spec.view === 'fine-metrics') {
        const params = METRICS_PARAMS;
        watch.answer(ask(drawRuns('0/0 aaa'), 'fine-metrics', { params }));
      }
    }
    await waitFor('that it looks for a run', () => {
      MessageLoop.flush();
      const state = panel.node.querySelector('.sw-state')?.textContent;
      return state?.startsWith('Looking for a run') || undefined;
    });
    tell(runs(2));
    await headline('# fit [3]');
    expect(panel.node.textContent).not.toContain('This ran last');
  });

  it('of a script a span that was opened more than once gives way to a run that is alike', () => {
    const spans = runs(2);
    const script: SpansResult = {
      ...spans,
      rows: spans.rows.map((row, i) => ({
        ...row,
        ...(i > 0 && { origin: 'user', cell: undefined, execution: undefined })
      })) as never
    };
    const { tell, asked } = open([own]);
    tell(script);
    expect(asked()).toEqual([['id 2'], ['id 1']]);
    panel.dispose();
    const other = clusterInfo({ cluster: 'b', startedAt: 900, name: 'a' });
    const alike = open([own, other]);
    alike.tell(script);
    expect(alike.asked()).toEqual([[], []]);
  });

  it('takes the place of another cell that is read, which is said, and of its own times without a word', async () => {
    const { tell, asked, context } = open([own]);
    const two = (times: readonly string[]): SpansResult => {
      const all = runs(times.length);
      return {
        ...all,
        rows: all.rows.map((row, i) =>
          i === 0 ? row : { ...row, cell: times[i - 1]! }
        )
      };
    };
    const text = () => {
      MessageLoop.flush();
      return panel.node.textContent?.replaceAll('\u00a0', ' ') ?? '';
    };
    tell(two(['x', 'x', 'y']));
    await headline('# fit [3]');
    tell(two(['x', 'x', 'y', 'x']));
    await headline('# fit [5]');
    expect(text()).not.toContain('This ran last');
    tell(two(['x', 'x', 'y', 'x', 'y']));
    expect(asked()).toEqual([['id 5'], ['id 3']]);
    await headline('# fit [6]');
    expect(text()).toContain(
      'This ran last, so it is compared now. Before, # fit [3] and # fit [5] were compared. A panel that is pinned stays with what it shows.'
    );
    tell(two(['x', 'x', 'y', 'x', 'y', 'y']));
    await headline('# fit [7]');
    expect(text()).not.toContain('This ran last');
    // Who picks a pass knows why.
    const path = ['a.ipynb', '# fit'];
    context.selection.pickSpan({ path, id: 'id 2', pass: '[3]' });
    tell(two(['x', 'x', 'y', 'x', 'y', 'y']));
    await headline('# fit [3]');
    expect(text()).not.toContain('This ran last');
  });

  it('stays, once its figures were seen, when another run comes to be alike', () => {
    const other = (count: number) =>
      clusterInfo({
        cluster: 'b',
        name: 'b',
        startedAt: 900,
        sharedFunctions: [{ cluster: 'a', count }]
      });
    const { feed, tell, asked } = open([own, other(0)]);
    tell(runs(2));
    feed.setClusters(own, other(1));
    expect(asked()).toEqual([['id 2'], ['id 1']]);
    // Run once more, it is still the last time and the one before.
    tell(runs(3));
    expect(asked()).toEqual([['id 3'], ['id 2']]);
  });

  it('gives no way to a run of the same program, whatever they have in common', () => {
    const infos = (count: number) =>
      ['a', 'b'].map((cluster, i) =>
        clusterInfo({
          cluster,
          name: 'fit',
          startedAt: 1000 - i,
          sharedFunctions: [{ cluster: 'ba'[i]!, count }]
        })
      );
    const { tell, asked } = open(infos(0));
    tell(runs(2));
    expect(asked()).toEqual([['id 2'], ['id 1']]);
    panel.dispose();
    const common = open(infos(1));
    common.tell(runs(2));
    expect(common.asked()).toEqual([['id 2'], ['id 1']]);
  });

  it('is compared as the pass by which panels are filtered', () => {
    const { tell, asked, context } = open([own]);
    tell(runs(4));
    const path = ['a.ipynb', '# fit'];
    context.selection.pickSpan({ path, id: 'id 2', pass: '[3]' });
    expect(asked()).toEqual([['id 2'], ['id 1']]);
    context.selection.clear();
    expect(asked()).toEqual([['id 4'], ['id 3']]);
  });

  it('has exact figures under a filter by a pass, and more is left out of them', async () => {
    const { tell, context } = open([own]);
    tell(runs(4));
    const path = ['a.ipynb', '# fit'];
    const pass = { path, id: 'id 2', pass: '[3]' };
    const isSaid = (said: string) =>
      waitFor(said, () => {
        MessageLoop.flush();
        const mark = panel.node.querySelector('.sw-chips-honoured');
        return mark?.textContent === said || undefined;
      });
    const alone =
      '# fit [2] and # fit [3] are compared, each alone, whichever pass the filter has.';
    context.selection.pickSpan(pass);
    tell(runs(4));
    await isSaid(`exact: ${alone}`);
    context.selection.toggleFunction('a');
    tell(runs(4));
    await isSaid(`exact: ${alone}`);
    context.selection.toggleWorker(0);
    tell(runs(4));
    await isSaid(
      `approximate: ${alone} Both passes are filtered by functions and by the tags of spans. Paths, workers, times and how tasks ended are left out.`
    );
    context.selection.clear();
    context.selection.toggleStatus('failed');
    tell(runs(4));
    await isSaid(
      'not filtered: Both passes are shown whole: only functions and the tags of spans filter both.'
    );
  });

  it('says that nothing of a filter ran in either pass, and lifts it', async () => {
    const { feed, tell, context } = open([own]);
    tell(runs(3));
    const answer = () => {
      const log = drawRuns('0/0 aaa', { tasks: { a: { function: 'a' } } });
      for (const watch of feed.running) {
        if (watch.spec.view === 'fine-metrics') {
          // (the drawn log has no passes)
          const { functions = [] } = watch.spec.filter!;
          const filter = functions.length > 0 ? { functions } : {};
          watch.answer(
            ask(log, 'fine-metrics', { params: METRICS_PARAMS, filter })
          );
        }
      }
    };
    const state = (title: string) =>
      waitFor(title, () => {
        MessageLoop.flush();
        const found = panel.node.querySelector('.sw-state');
        return found?.textContent?.includes(title) ? found : undefined;
      });
    context.selection.toggleFunction('b');
    answer();
    const found = await state('Nothing of the filter ran in these passes.');
    expect(found.textContent?.replaceAll('\u00a0', ' ')).toContain(
      '1 task run of # fit [3] is hidden. 1 task run of # fit [4] is hidden. The filter: function b.'
    );
    expect(panel.node.querySelector('.sw-Compare-headline')).toBeNull();
    // Of an answer to the filter before nothing is said.
    found.querySelector('button')!.click();
    expect(context.selection.filter).toEqual({});
    answer();
    await headline('# fit [4] is 1.00 s slower');
    // A pass by which panels are filtered is one of the two, and none of it a filter.
    context.selection.pickSpan({
      path: ['a.ipynb', '# fit'],
      id: 'id 3',
      pass: '[4]'
    });
    tell(runs(3));
    await headline('# fit [4] is 1.00 s slower');
    expect(panel.node.querySelector('.sw-state')).toBeNull();
  });

  it.each<[string, 'any' | 'not', { tag: string }[], string]>([
    [
      'any of a pass and a tag',
      'any',
      [{ tag: 'x' }],
      'approximate: … Both passes are filtered by functions and by the tags of spans. Paths, workers, times and how tasks ended are left out.'
    ],
    [
      'no such pass',
      'not',
      [],
      'not filtered: … Both passes are shown whole: only functions and the tags of spans filter both.'
    ]
  ])(
    'has no exact figures under a filter by %s',
    async (_, match, beside, text) => {
      const { tell, context } = open([own]);
      const pass = { path: ['a.ipynb', '# fit'], id: 'id 2', pass: '[3]' };
      const terms = [pass, ...beside];
      context.selection.setFilter({ spans: { [match]: terms } });
      tell(runs(4));
      await waitFor('what is said', () => {
        MessageLoop.flush();
        const said =
          panel.node.querySelector('.sw-chips-honoured')?.textContent;
        const each =
          /# fit \[\d\] and # fit \[\d\] are compared, each alone, whichever pass the filter has\./u;
        return said?.replace(each, '…') === text || undefined;
      });
    }
  );

  it('is chosen pass by pass, and stays so after a reload', async () => {
    const { tell, asked } = open([own]);
    tell(runs(4));
    const first = await select('First run');
    const options = [...first.options].map(({ text }) => text.trim());
    expect(options[0]).toMatch(/^a · /u);
    expect(options.slice(1).map(text => text.slice(0, 12))).toEqual([
      '[5] # fit · ',
      '[4] # fit · ',
      '[3] # fit · ',
      '[2] # fit · '
    ]);
    expect(first.value).toBe('a id 3');
    first.value = 'a id 1';
    first.dispatchEvent(new Event('change', { bubbles: true }));
    expect(asked().sort()).toEqual([['id 1'], ['id 4']]);
    tell(runs(5));
    expect(asked().sort()).toEqual([['id 1'], ['id 4']]);
    await headline('# fit [5] is 3.00 s slower');
    const state = panel.savedState();
    panel.dispose();
    const again = open([own], state);
    expect(again.asked()).toEqual([['id 4'], ['id 1']]);
    again.tell(runs(5));
    await headline('# fit [5] is 3.00 s slower');
    // The whole run again, in one place.
    const second = await select('Second run');
    second.value = 'a';
    second.dispatchEvent(new Event('change', { bubbles: true }));
    expect(again.asked().sort()).toEqual([[], ['id 1']]);
  });

  it('may be chosen on either side where there is no other run', async () => {
    // Of two cells, which is not proposed.
    const spans = runs(2);
    const rows = spans.rows.map(row => ({ ...row, cell: row.id! }));
    const { tell, asked } = open([own]);
    tell({ ...spans, rows });
    const second = await select('Second run');
    expect(second.value).toBe('');
    expect([...second.options].map(({ value }) => value)).toEqual([
      '',
      'a',
      'a id 2',
      'a id 1'
    ]);
    second.value = 'a id 2';
    second.dispatchEvent(new Event('change', { bubbles: true }));
    const first = await select('First run');
    first.value = 'a id 1';
    first.dispatchEvent(new Event('change', { bubbles: true }));
    tell({ ...spans, rows });
    await headline('# fit [3] is 1.00 s slower');
    expect(asked().sort()).toEqual([['id 1'], ['id 2']]);
  });

  it('is kept while its run is not listed: a new observer lists runs one by one', () => {
    const pass = (cluster: string) => ({
      cluster,
      id: `id of ${cluster}`,
      path: ['# fit'],
      title: '# fit',
      opened: 1,
      execution: 3
    });
    const passes = { own: pass('a'), other: pass('b') };
    const other = { cluster: 'b', name: 'b' };
    const run = clusterInfo({ ...other, startedAt: 900 });
    const state = { other, passes };
    const { feed, asked } = open([run], state, { name: 'a' });
    expect(panel.savedState()).toMatchObject(state);
    feed.setClusters(run, own);
    expect(panel.savedState()).toMatchObject(state);
    expect(asked().flat().sort()).toEqual(['id of a', 'id of b']);
  });

  it('of two runs stays, once let go, until a cell runs again', async () => {
    const pass = (cluster: string, i: number) => ({
      cluster,
      id: `id ${i}`,
      path: ['# fit'],
      title: '# fit',
      opened: 10 * i,
      execution: i + 1
    });
    const state = {
      other: { cluster: 'b', name: 'b' },
      passes: { own: pass('a', 2), other: pass('b', 1) }
    };
    const other = clusterInfo({ cluster: 'b', name: 'b', startedAt: 900 });
    const { tell, asked } = open([own, other], state);
    tell(runs(3));
    await headline('a: # fit [3]');
    const pin = () =>
      panel.node
        .querySelector<HTMLElement>('button[aria-label="Pin to these runs"]')!
        .click();
    pin();
    expect(panel.turns).toBe(true);
    tell(runs(3));
    expect(asked().sort()).toEqual([['id 1'], ['id 2']]);
    await headline('a: # fit [3]');
    tell(runs(4));
    expect(asked().sort()).toEqual([['id 3'], ['id 4']]);
    expect(panel.clusters.map(info => info?.cluster)).toEqual(['a', 'a']);
  });

  it('changes places, and stays so', async () => {
    const { tell, asked } = open([own]);
    tell(runs(2));
    await headline('# fit [3] is 1.00 s slower');
    panel.node.querySelector<HTMLElement>('button[aria-label="Swap"]')!.click();
    await headline('# fit [2] is 1.00 s faster');
    tell(runs(3));
    expect(asked().sort()).toEqual([['id 1'], ['id 2']]);
  });

  it('shows no figures of the whole run, or of another pass, as those of a pass', async () => {
    const { tell, asked, feed } = open([own]);
    tell(runs(2));
    await headline('# fit [3]');
    for (const watch of feed.running) {
      if (watch.spec.view === 'spans') {
        watch.answer(runs(3));
      }
    }
    expect(asked()).toEqual([['id 3'], ['id 2']]);
    await waitFor('that they are asked for', () => {
      MessageLoop.flush();
      return (
        /Loading the figures of # fit/u.test(panel.node.textContent ?? '') ||
        undefined
      );
    });
  });
});
