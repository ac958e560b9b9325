/** What Fine Performance Metrics says a filter hides. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { fineMetricsPanel } from '..';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';

it.each([
  ['12', { tasks: 1000, runs: 12 }],
  // By an observer of before.
  ['1,000', { tasks: 1000 }]
])('counts runs, and not what was submitted: %s', async (hidden, counts) => {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo({ running: 0, ...counts }));
  const context = contexts.get({ name: 'first-look' });
  const panel = fineMetricsPanel.create({ context, state: undefined });
  context.selection.toggleFunction('none', false);
  Widget.attach(panel, document.body);
  const filter = context.selection.filter;
  feed.running[0]!.answer(ask(drawRuns('0/0 aaa'), 'fine-metrics', { filter }));
  await waitFor('what is hidden', () => {
    MessageLoop.flush();
    return panel.node.textContent?.includes('hidden') === true;
  });
  expect(panel.node.textContent).toContain(
    `The filter matches no task.${hidden} task runs are hidden. No task of “none” ran.`
  );
  panel.dispose();
});
