/** The table twin in panels of several widths. */
import { nullTranslator } from '@jupyterlab/translation';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../../charts/shown-element';
import { ClusterRef } from '../../../feed/cluster-ref';
import { clusterInfo, FakeFeed } from '../../../feed/__tests__/fake-feed';
import { SelectionModel } from '../../../feed/selection';
import { runDetail } from '../../../observer/folds/run-detail';
import { drawRuns } from '../../../testing/run-from-text';
import type { PanelContext } from '../../panel-context';
import { TaskTable } from '../task-table';

const sizes = new Set<() => void>();

class DrawnSize {
  constructor(private readonly _changed: () => void) {}
  observe(): void {
    sizes.add(this._changed);
    this._changed();
  }
  disconnect(): void {
    sizes.delete(this._changed);
  }
}

const run = runDetail(
  drawRuns('0/0 aaaa', { secondsPerColumn: 0.1, tasks: { a: {} } }),
  0
)!;

it('shows the duration beside the key where there is no room for all', async () => {
  Object.assign(globalThis, {
    ResizeObserver: DrawnSize,
    IS_REACT_ACT_ENVIRONMENT: true
  });
  let width = 611;
  jest
    .spyOn(HTMLElement.prototype, 'clientWidth', 'get')
    .mockImplementation(() => width);
  const feed = new FakeFeed();
  feed.setClusters(clusterInfo());
  const context = {
    feed,
    cluster: new ClusterRef({ feed, target: {}, notebookOf: () => undefined }),
    selection: new SelectionModel(),
    translator: nullTranslator
  } as unknown as PanelContext;
  const page = document.createElement('div');
  document.body.append(page);
  const root = createRoot(page);
  const texts = (selector: string) =>
    [...page.querySelectorAll(selector)].map(({ textContent }) => textContent);
  // The size is followed from before the first answer on.
  await act(async () =>
    root.render(<TaskTable context={context} label="tasks" search="" />)
  );
  expect(texts('th')).toEqual([]);
  const watch = feed.watches[0]!;
  await act(async () => watch.answer({ view: 'tasks', rows: [run], total: 1 }));
  expect(texts('th').slice(0, 3)).toEqual(['Key', 'Duration', 'Function']);
  expect(texts('th')).toHaveLength(12);
  expect(texts('td').slice(0, 2)).toEqual([run.key, '400\u00a0ms']);

  // Of a long key its start is cut off, if anything is.
  const key = `fetch-${'5f'.repeat(16)}-12`;
  await act(async () =>
    watch.answer({ view: 'tasks', rows: [{ ...run, key }], total: 1 })
  );
  expect(texts('td')[0]).toBe(key);
  expect(texts('.sw-table-before')).toEqual([key.slice(0, -3)]);

  // Each row is a run, of a task that may have several.
  await act(async () =>
    watch.answer({ view: 'tasks', rows: [run], total: 12_640 })
  );
  expect(texts('.sw-table-note')).toEqual(['1 to 1 of 12,640\u00a0task runs.']);

  const button = page.querySelectorAll<HTMLElement>('th button')[1]!;
  await act(async () => button.click());
  expect(watch.changes.at(-1)).toMatchObject({
    params: { sort: 'duration', descending: true }
  });
  const sorted = () => texts('th:not([aria-sort="none"])');
  expect(sorted()).toEqual(['Duration ▾']);

  width = 900;
  await act(async () => sizes.forEach(changed => changed()));
  expect(texts('th').slice(0, 3)).toEqual(['Key', 'Function', 'Span']);
  expect(texts('td')[7]).toBe('400\u00a0ms');
  expect(sorted()).toEqual(['Duration ▾']);
  await act(async () => root.unmount());
});
