/** The panel over answers that the spec gives. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import type { ClusterInfo, FineMetricsResult } from '../../../wire/panel-link';
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

/** Waits until a panel that is filtered by a function of which no task has ended says so. */
async function saysOfNoneEnded(
  info: Partial<ClusterInfo>,
  unit: string,
  answer: Partial<FineMetricsResult>,
  words: string
): Promise<void> {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo(info));
  const context = contexts.get({ name: 'first-look' });
  const panel = fineMetricsPanel.create({ context, state: { unit } });
  context.selection.toggleFunction('b', false);
  Widget.attach(panel, document.body);
  feed.running[0]!.answer({
    ...metrics,
    unit,
    byFunction: [],
    byActivity: [],
    attributedNanoseconds: 0,
    ...answer
  });
  await waitFor('the panel', () => {
    MessageLoop.flush();
    return panel.node.textContent?.includes(words) === true;
  });
  panel.dispose();
  context.selection.clear();
}

it.each([
  ['seconds', 0, 'The filter matches no task.'],
  ['seconds', 1.5, 'still running'],
  // (of long runs: a share that is not seen)
  ['seconds', 1e-5, 'under this filter, '],
  ['bytes', 0, 'The filter matches no task.'],
  ['bytes', 1.5, 'Bytes and counts are known when a task ends.'],
  ['count', 0, 'The filter matches no task.'],
  ['count', 1.5, 'Bytes and counts are known when a task ends.']
])(
  'in %s with %s s of running tasks under a filter, of which none has ended, says: %s',
  (unit, runningSeconds, words) =>
    saysOfNoneEnded(
      { running: 1 },
      unit,
      {
        idle: [{ cause: 'nothing-runnable', seconds: 0.5 }],
        wholeSeconds: 0.5 + runningSeconds,
        runningSeconds
      },
      words
    )
);

it.each([
  ['seconds', 'not accounted for'],
  ['bytes', 'No task has ended.']
])(
  'in %s of a cluster that has ended amid the only tasks says: %s',
  (unit, words) =>
    saysOfNoneEnded(
      { state: 'ended' },
      unit,
      { idle: [], wholeSeconds: 12, runningSeconds: 0 },
      words
    )
);

it('says of a paused answer what it said, whatever runs by now', async () => {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo({ running: 1 }));
  const context = contexts.get({ name: 'first-look' });
  const panel = fineMetricsPanel.create({ context, state: undefined });
  Widget.attach(panel, document.body);
  const said = async (words: string) => {
    await waitFor('the panel', () => {
      MessageLoop.flush();
      return panel.node.textContent?.includes(words) === true;
    });
    await panel.renderPromise;
    const legend = panel.node.querySelector('ul[aria-label="Legend"]');
    return legend?.textContent ?? '';
  };
  const live = {
    ...metrics,
    wholeSeconds: metrics.wholeSeconds! + 30,
    runningSeconds: 30
  };
  feed.running[0]!.answer(live);
  expect(await said('still running')).toContain('still running');
  const pause = '[aria-label="Pause"]';
  panel.node.querySelector<HTMLElement>(pause)!.click();
  // All have ended since, and left something that nobody accounts for.
  feed.setClusters(clusterInfo({ running: 0 }));
  feed.running[0]!.answer({ ...live, runningSeconds: 0 });
  // It says the same before it is drawn anew, so that there are no words to wait for: React carries out here what it would schedule.
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  await act(async () => MessageLoop.flush());
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
  const paused = await said('still running');
  expect(paused).not.toContain('not accounted for');
  panel.node.querySelector<HTMLElement>(pause)!.click();
  expect(await said('not accounted for')).not.toContain('still running');
  panel.dispose();
});
