/** Figures of tasks that ran before their cluster was attached to: it has sums and samples of them, and tells of no task. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import type { SelectionModel } from '../../feed/selection';
import { clusterInfo } from '../../feed/__tests__/fake-feed';
import { labContext } from '../../lab/__tests__/lab-context';
import { ask } from '../../observer/__tests__/ask';
import { drawnStore } from '../../testing/panel-harness/drawn-log';
import { firstLook } from '../../testing/panel-harness/drawn-run';
import { drawRuns } from '../../testing/run-from-text';
import { waitFor } from '../../testing/wait-for';
import type {
  ClusterState,
  ProfileResult,
  ViewResult
} from '../../wire/panel-link';
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

/** What a panel of a Dask cluster of which no task was seen draws of an answer, under a filter if one is made. */
async function drawn(
  kind: typeof fineMetricsPanel,
  answer: ViewResult,
  state: ClusterState = 'running',
  filtered?: (selection: SelectionModel) => void
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
  filtered?.(context.selection);
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

  const named = (name: string) => (selection: SelectionModel) =>
    selection.toggleFunction(name, false);
  const none = { ...samples, samples: 0 } as ProfileResult;

  it('a filter that leaves none of their seconds says so', async () => {
    const some = {
      ...nothing,
      account: 'told',
      totalNanoseconds: 3e9,
      otherSpansSeconds: 3
    } as const;
    const text = await drawn(fineMetricsPanel, some, 'running', named('other'));
    expect(text).toContain(
      'The filter matches no figures.3.00\u00a0s of thread time are hidden. The filter: function other. Dask’s workers tell what their tasks took some seconds later.'
    );
    const notKnown = 'Seconds are not told by worker.';
    expect(
      await drawn(
        fineMetricsPanel,
        { ...nothing, notKnown },
        'running',
        named('inc')
      )
    ).toContain(notKnown);
  });

  it('so does a range in which none of them were told', async () => {
    const outside = { ...nothing, account: 'told', hiddenSeconds: 3 } as const;
    const text = await drawn(fineMetricsPanel, outside, 'ended', selection =>
      selection.setTime({ from: 4, to: 6 })
    );
    expect(text).toContain(
      '3.00\u00a0s of thread time are hidden. The filter: time '
    );
    expect(text).not.toMatch(/No task|0 tasks|later/);
  });

  it('a filter that leaves none of their samples says so', async () => {
    const text = await drawn(
      profilePanel,
      { ...none, hidden: 1234 },
      'running',
      named('other')
    );
    expect(text).toContain(
      'The filter matches no sample.1,234 samples are hidden. The filter: function other. Dask’s workers sample threads'
    );
    expect(text).not.toMatch(/No task|0 tasks/);
    expect(text).toContain('Clear filter');
  });

  it('nothing is shown where nothing ran', async () => {
    expect(await drawn(fineMetricsPanel, nothing)).toContain('No tasks yet.');
    expect(await drawn(profilePanel, none)).toContain('No tasks yet.');
    expect(
      await drawn(profilePanel, { ...none, hidden: 0 }, 'running', named('inc'))
    ).toContain('No tasks yet.');
  });
});
