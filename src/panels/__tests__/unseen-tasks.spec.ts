/** Figures of tasks that ran before their cluster was attached to: it has sums and samples of them, and tells of no task. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { labContext } from '../../lab/__tests__/lab-context';
import { ask } from '../../observer/__tests__/ask';
import { drawnStore } from '../../testing/panel-harness/drawn-log';
import { firstLook } from '../../testing/panel-harness/drawn-run';
import { drawRuns } from '../../testing/run-from-text';
import { waitFor } from '../../testing/wait-for';
import type { ClusterState, ViewResult } from '../../wire/panel-link';
import { fineMetricsPanel } from '../fine-metrics';
import { profilePanel } from '../profile';

const metrics = ask(drawRuns('0/0 aaa'), 'fine-metrics');
const nothing = {
  ...metrics,
  byFunction: [],
  byActivity: [],
  idle: [],
  attributedNanoseconds: 0,
  totalNanoseconds: 0,
  wholeSeconds: 0
};
const samples = ask(drawnStore(firstLook()), 'profile', { ended: true });

/** What a panel of a Dask cluster of which no task was seen draws of an answer, under a filter if a function is given. */
async function drawn(
  kind: typeof fineMetricsPanel,
  answer: ViewResult,
  state: ClusterState = 'running',
  named?: string
): Promise<string> {
  const { feed, contexts } = labContext();
  const isEnded = state === 'ended';
  feed.setClusters(
    clusterInfo({
      kind: 'dask',
      tasks: 0,
      running: 0,
      state,
      ...(isEnded && { unwatched: true })
    })
  );
  const context = contexts.get({ name: 'first-look' });
  const panel = kind.create({ context, state: undefined });
  if (named !== undefined) {
    context.selection.toggleFunction(named, false);
  }
  Widget.attach(panel, document.body);
  const isDrawn = (what: string) => () => {
    MessageLoop.flush();
    return panel.node.querySelector(what) !== null;
  };
  await waitFor('the state before the answer', isDrawn('.sw-state'));
  expect(panel.node.textContent).toContain(
    isEnded ? 'No task was seen.' : 'No tasks yet.'
  );
  feed.running[0]!.answer(answer);
  await waitFor('the answer', () => {
    MessageLoop.flush();
    return !panel.node.textContent?.includes('Loading');
  });
  await new Promise(resolve => setTimeout(resolve, 50));
  MessageLoop.flush();
  const text = panel.node.textContent ?? '';
  panel.dispose();
  return text;
}

describe('of a Dask cluster whose tasks ran before it was attached to', () => {
  it.each<ClusterState>(['running', 'ended'])(
    'Fine Performance Metrics shows the sums (%s)',
    async state => {
      const text = await drawn(
        fineMetricsPanel,
        { ...metrics, account: 'told' },
        state
      );
      expect(text).toContain('inc');
      expect(text).not.toMatch(/No tasks yet|No task was seen/);
    }
  );

  it('Profile shows the samples', async () => {
    const text = await drawn(profilePanel, samples);
    expect(text).not.toMatch(/No (tasks|samples) yet/);
    expect(text).toMatch(/\d samples/);
  });

  it('a filter that leaves none of their seconds says so', async () => {
    const some = {
      ...nothing,
      account: 'told',
      totalNanoseconds: 3e9
    } as const;
    expect(await drawn(fineMetricsPanel, some, 'running', 'other')).toContain(
      'The filter matches no task.'
    );
    const notKnown = 'Seconds are not told by worker.';
    expect(
      await drawn(fineMetricsPanel, { ...nothing, notKnown }, 'running', 'inc')
    ).toContain(notKnown);
  });

  it('nothing is shown where nothing ran', async () => {
    expect(await drawn(fineMetricsPanel, nothing)).toContain('No tasks yet.');
    const none = { ...samples, samples: 0 };
    expect(await drawn(profilePanel, none)).toContain('No tasks yet.');
  });
});
