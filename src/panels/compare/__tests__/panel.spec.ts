/** The panel over answers that the spec gives. */
import { MessageLoop } from '@lumino/messaging';
import { Menu, Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { ClusterRef } from '../../../feed/cluster-ref';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import { comparePanel } from '..';
import type { PanelContext } from '../../panel-context';
import { METRICS_PARAMS } from '../model';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

/** What the page gives to the browser to save. */
const saved: Blob[] = [];
Object.assign(URL, {
  createObjectURL: (blob: Blob) => {
    saved.push(blob);
    return '#';
  },
  revokeObjectURL: () => undefined
});

function textOf(blob: Blob): Promise<string> {
  return new Promise(resolve => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.readAsText(blob);
  });
}

it('exports the figures of both runs', async () => {
  const { feed, contexts } = labContext();
  feed.setClusters(
    clusterInfo({ cluster: 'a', name: 'first-look', startedAt: 2000 }),
    clusterInfo({ cluster: 'b', name: 'survey', kind: 'dask' })
  );
  const panel = comparePanel.create({
    context: contexts.get({ name: 'first-look' }),
    state: undefined
  });
  Widget.attach(panel, document.body);
  const answer = (cluster: string, drawn: string) =>
    feed.running
      .find(
        ({ spec }) => spec.cluster === cluster && spec.view === 'fine-metrics'
      )!
      .answer(ask(drawRuns(drawn), 'fine-metrics', { params: METRICS_PARAMS }));
  answer('a', '0/0 aaa');
  answer('b', '0/0 aaaaa');
  const button = await waitFor('the button', () => {
    MessageLoop.flush();
    return (
      panel.node.querySelector<HTMLElement>('.sw-tool-export') ?? undefined
    );
  });
  const opened = jest.spyOn(Menu.prototype, 'open');
  button.click();
  const menu = opened.mock.contexts[0] as Menu;
  const item = menu.items.find(
    ({ label }) => label === 'Export figures as JSON'
  )!;
  await menu.commands.execute(item.command);
  menu.close();
  expect(JSON.parse(await textOf(saved[0]!))).toMatchObject([
    { name: 'survey', kind: 'dask', metrics: { wallSeconds: 5 } },
    { name: 'first-look', kind: 'embedded', metrics: { wallSeconds: 3 } }
  ]);
  panel.dispose();
});

it('keeps the run that a layout of before has as the second', () => {
  const { feed, contexts } = labContext();
  feed.setClusters(
    ...['a', 'b', 'c'].map((cluster, i) =>
      clusterInfo({ cluster, name: `run-${cluster}`, startedAt: 9 - i })
    )
  );
  const second = { cluster: 'c', name: 'run-c' };
  const panel = comparePanel.create({
    context: contexts.get({ name: 'run-a' }),
    state: { second }
  });
  expect(panel.savedState()).toMatchObject({ other: second, isOwnFirst: true });
  panel.dispose();
});

it('tells the two sides of a run that is compared with itself apart', async () => {
  const { feed, contexts } = labContext();
  const info = clusterInfo({ cluster: 'a', name: 'survey', kind: 'dask' });
  feed.setClusters(info);
  const said = jest.spyOn(console, 'error');
  const panel = comparePanel.create({
    context: contexts.get({ name: 'survey' }),
    state: { other: { cluster: 'a', name: 'survey' } }
  });
  Widget.attach(panel, document.body);
  const metrics = ask(
    drawRuns('0/0 aaa', { tasks: { a: { cpu: NaN } } }),
    'fine-metrics',
    { params: METRICS_PARAMS }
  );
  for (const { spec, answer } of feed.running.map(watch => ({
    spec: watch.spec,
    answer: watch.answer.bind(watch)
  }))) {
    if (spec.view === 'fine-metrics') {
      answer(metrics);
    }
  }
  const notes = await waitFor('what is not known', () => {
    MessageLoop.flush();
    const items = panel.node.querySelectorAll('.sw-Compare-notes > li');
    return items.length === 0
      ? undefined
      : [...items].map(({ textContent }) => textContent ?? '');
  });
  expect(notes.filter(note => note.startsWith('CPU'))).toEqual([
    expect.stringMatching(/^CPU of survey.*\(first\): Dask does not tell/),
    expect.stringMatching(/^CPU of survey.*\(second\): Dask does not tell/)
  ]);
  // React complains of equal keys.
  expect(said.mock.calls).toEqual([]);
  said.mockRestore();
  panel.dispose();
});

it('is as exact as the less exact run, which it names', async () => {
  const { feed, contexts } = labContext();
  feed.setClusters(
    clusterInfo({ cluster: 'a', name: 'first-look', startedAt: 2000 }),
    clusterInfo({ cluster: 'b', name: 'survey', kind: 'dask' })
  );
  const context = contexts.get({ name: 'first-look' });
  context.selection.toggleFunction('a');
  const panel = comparePanel.create({ context, state: undefined });
  Widget.attach(panel, document.body);
  const answer = (
    cluster: string,
    how: 'exact' | 'approximate' | 'not known',
    why?: string
  ) =>
    feed.running
      .find(
        ({ spec }) => spec.cluster === cluster && spec.view === 'fine-metrics'
      )!
      .answer(
        ask(drawRuns('0/0 aaa'), 'fine-metrics', { params: METRICS_PARAMS }),
        { honoured: { how, ...(why !== undefined && { why }) } }
      );
  const isSaid = (said: string) =>
    waitFor(said, () => {
      MessageLoop.flush();
      const mark = panel.node.querySelector('.sw-chips-honoured');
      return mark?.textContent === said || undefined;
    });
  answer('a', 'exact');
  await isSaid('exact');
  answer('b', 'not known', 'Dask does not say.');
  await isSaid('not known: survey: Dask does not say.');
  answer('a', 'approximate', 'Rows are gone.');
  await isSaid(
    'not known: survey: Dask does not say. first-look: Rows are gone.'
  );
  answer('b', 'approximate', 'Rows are gone.');
  await isSaid('approximate: Rows are gone.');
  // What only one of them has is left out, which makes neither exact.
  context.selection.toggleWorker(0);
  answer('b', 'not known', 'Dask does not say.');
  await isSaid(
    'not known: Both runs are filtered by functions and by the tags of spans. Paths, passes, workers, times and how tasks ended are left out. survey: Dask does not say. first-look: Rows are gone.'
  );
  // Of a filter that only one of them can have nothing is left.
  context.selection.clear();
  context.selection.toggleStatus('failed');
  answer('a', 'exact');
  answer('b', 'exact');
  await isSaid(
    'not filtered: Both runs are shown whole: only functions and the tags of spans filter both.'
  );
  panel.dispose();
});

it('lets go of an own run that was chosen when another is, and at its end', async () => {
  const { feed, contexts } = labContext();
  const runs = ['a', 'b', 'c'].map((cluster, i) =>
    clusterInfo({ cluster, name: cluster, startedAt: 2000 - i })
  );
  feed.setClusters(...runs);
  const context = contexts.get({ name: 'a' });
  const given: PanelContext[] = [];
  const of = contexts.of.bind(contexts);
  contexts.of = (...asked) => {
    given.push(of(...asked));
    return given.at(-1)!;
  };
  const panel = comparePanel.create({ context, state: undefined });
  Widget.attach(panel, document.body);
  const choose = async (cluster: string) => {
    const own = await waitFor('the second run', () => {
      MessageLoop.flush();
      return (
        panel.node.querySelector<HTMLSelectElement>(
          'select[aria-label="Second run"]'
        ) ?? undefined
      );
    });
    own.value = cluster;
    own.dispatchEvent(new Event('change', { bubbles: true }));
    expect(panel.cluster?.cluster).toBe(cluster);
  };
  const areGone = () => given.map(({ cluster }) => cluster.isDisposed);
  await choose('b');
  expect(areGone()).toEqual([false]);
  await choose('c');
  expect(areGone()).toEqual([true, false]);
  panel.dispose();
  expect(areGone()).toEqual([true, true]);
  expect(context.cluster.isDisposed).toBe(false);
});

it('lets go of the other run that is no longer chosen', async () => {
  const { feed, contexts } = labContext();
  const runs = ['a', 'b', 'c'].map((cluster, i) =>
    clusterInfo({
      cluster,
      name: cluster,
      startedAt: 2000 - i,
      notebook: { path: 'own.ipynb' }
    })
  );
  feed.setClusters(...runs);
  const context = contexts.get({ name: 'a' });
  const disposed = jest.spyOn(ClusterRef.prototype, 'dispose');
  const panel = comparePanel.create({ context, state: undefined });
  Widget.attach(panel, document.body);
  const chosen = () =>
    feed.running
      .filter(({ spec }) => spec.view === 'fine-metrics')
      .map(({ spec }) => spec.cluster);
  expect(chosen()).toEqual(['a', 'b']);
  const other = await waitFor('the first run', () => {
    MessageLoop.flush();
    return (
      panel.node.querySelector<HTMLSelectElement>(
        'select[aria-label="First run"]'
      ) ?? undefined
    );
  });
  other.value = 'c';
  other.dispatchEvent(new Event('change', { bubbles: true }));
  expect(chosen().sort()).toEqual(['a', 'c']);
  expect(disposed).toHaveBeenCalledTimes(1);
  panel.dispose();
  // That, and the own run, which it had kept.
  expect(disposed).toHaveBeenCalledTimes(3);
  expect(context.cluster.isDisposed).toBe(false);
  disposed.mockRestore();
});

it('says of each of two runs whether it has ended', async () => {
  const { feed, contexts } = labContext();
  const first = clusterInfo({
    cluster: 'a',
    name: 'mine',
    state: 'ended',
    startedAt: 1000,
    endedAt: 1500,
    why: 'Ended at 06:16:15.'
  });
  const second = clusterInfo({ cluster: 'b', name: 'mine', startedAt: 2000 });
  feed.setClusters(second, first);
  const panel = comparePanel.create({
    context: contexts.get({ name: 'mine', cluster: 'a' }),
    state: { other: { cluster: 'b', name: 'mine' } }
  });
  Widget.attach(panel, document.body);
  const label = () => panel.title.label.replaceAll(/1970-01-01 [\d:]+/gu, '…');
  expect(label()).toBe('Compare · mine · … (ended), mine · …');
  // The strip is of the first: it says so.
  const strip = await waitFor('the strip', () => {
    MessageLoop.flush();
    return (
      [...panel.node.querySelectorAll('.sw-strip')].find(node =>
        node.textContent?.includes('Ended at')
      ) ?? undefined
    );
  });
  expect(strip.textContent).toMatch(
    /^mine · 1970-01-01 [\d:]+: Ended at 06:16:15\./u
  );
  // The other one ends, or is not watched any more.
  feed.setClusters({ ...second, state: 'ended', unwatched: true }, first);
  expect(label()).toBe('Compare · mine · … (ended), mine · … (not watched)');
  panel.dispose();
  // Of two sides of one run it is said once.
  const same = comparePanel.create({
    context: contexts.get({ name: 'mine', cluster: 'a' }),
    state: { other: { cluster: 'a', name: 'mine' } }
  });
  Widget.attach(same, document.body);
  expect(same.title.label.match(/\(ended\)/gu)).toHaveLength(1);
  same.dispose();
});
