/** The drawer of a task in a panel that has no room for all of it. */
import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { ClusterRef } from '../../../feed/cluster-ref';
import { clusterInfo, FakeFeed } from '../../../feed/__tests__/fake-feed';
import { SelectionModel } from '../../../feed/selection';
import { runDetail } from '../../../observer/folds/run-detail';
import { drawRuns } from '../../../testing/run-from-text';
import type { PanelContext } from '../../panel-context';
import { SelectedTask } from '../selected-task';

it('has its buttons beside what scrolls, which can be reached by keyboard', async () => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const feed = new FakeFeed();
  feed.setClusters(clusterInfo());
  Object.assign(feed, { detail: () => Promise.resolve(run) });
  const selection = new SelectionModel();
  selection.select({ kind: 'run', run: run.run });
  const context = {
    feed,
    cluster: new ClusterRef({ feed, target: {}, notebookOf: () => undefined }),
    selection,
    translator: nullTranslator
  } as unknown as PanelContext;
  const page = document.createElement('div');
  document.body.append(page);
  const root = createRoot(page);
  await act(async () =>
    root.render(
      <SelectedTask
        context={context}
        trans={nullTranslator.load('spanwise')}
        onShow={() => undefined}
      />
    )
  );
  const body = page.querySelector<HTMLElement>('.sw-drawer-body')!;
  expect(body.tabIndex).toBe(0);
  const names = (root: Element) =>
    [...root.querySelectorAll('button')].map(
      button => button.getAttribute('aria-label') ?? button.textContent
    );
  expect(names(page)).toEqual([
    'Copy key',
    'Close',
    'Zoom to this task',
    `Filter by ${run.function}`
  ]);
  expect(names(body)).toEqual([]);
  await act(async () => root.unmount());
  page.remove();
});
