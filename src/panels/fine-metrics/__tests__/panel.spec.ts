/** The panel over answers that the spec gives. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import { fineMetricsPanel } from '..';

const metrics = ask(drawRuns('0/0 aaa'), 'fine-metrics');
const LATER = 'Dask’s workers tell what their tasks took some seconds later.';

it.each([
  ['seconds', true],
  ['bytes', false],
  ['count', false]
])(
  'of sums that are told later, %s are awaited: %s',
  async (unit, isAwaited) => {
    const { feed, contexts } = labContext();
    feed.setClusters(clusterInfo({ kind: 'dask' }));
    const panel = fineMetricsPanel.create({
      context: contexts.get({ name: 'first-look' }),
      state: { unit }
    });
    Widget.attach(panel, document.body);
    expect(feed.running[0]!.spec.params).toMatchObject({ unit });
    feed.running[0]!.answer({
      ...metrics,
      account: 'told',
      unit,
      byFunction: [],
      byActivity: []
    });
    await waitFor('the panel', () => {
      MessageLoop.flush();
      return (
        panel.node.querySelector(
          isAwaited ? '.sw-state' : '.sw-FineMetrics'
        ) !== null
      );
    });
    expect(panel.node.textContent?.includes(LATER)).toBe(isAwaited);
    panel.dispose();
  }
);

it.each([
  ['embedded', 'held on another worker'],
  ['local', 'held on another thread']
] as const)('of kind %s a thread is %s', async (kind, words) => {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo({ kind }));
  const panel = fineMetricsPanel.create({
    context: contexts.get({ name: 'first-look' }),
    state: undefined
  });
  Widget.attach(panel, document.body);
  feed.running[0]!.answer({
    ...metrics,
    idle: [{ cause: 'held-elsewhere', seconds: 1 }]
  });
  const idle = 'ul[aria-label="Idle, by cause"]';
  await waitFor('the panel', () => {
    MessageLoop.flush();
    return panel.node.querySelector(idle) !== null;
  });
  expect(panel.node.querySelector(idle)!.textContent).toContain(words);
  panel.dispose();
});

it.each([
  [0, 'The filter matches no task.'],
  [1.5, 'still running']
])(
  'with %s s of running tasks under a filter, of which none has ended, says: %s',
  async (runningSeconds, words) => {
    const { feed, contexts } = labContext();
    feed.setClusters(clusterInfo({ running: 1 }));
    const context = contexts.get({ name: 'first-look' });
    const panel = fineMetricsPanel.create({ context, state: undefined });
    context.selection.toggleFunction('b', false);
    Widget.attach(panel, document.body);
    feed.running[0]!.answer({
      ...metrics,
      byFunction: [],
      byActivity: [],
      attributedNanoseconds: 0,
      idle: [{ cause: 'nothing-runnable', seconds: 0.5 }],
      wholeSeconds: 0.5 + runningSeconds
    });
    await waitFor('the panel', () => {
      MessageLoop.flush();
      return panel.node.textContent?.includes(words) === true;
    });
    panel.dispose();
    context.selection.clear();
  }
);
