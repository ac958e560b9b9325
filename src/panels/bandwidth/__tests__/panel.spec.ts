/** Bandwidth under a filter. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import type { SelectionModel } from '../../../feed/selection';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { waitFor } from '../../../testing/wait-for';
import { bandwidthPanel } from '..';

const none = ask(drawRuns('0/0 aaa'), 'transfers');

/** What it says where nothing was fetched. */
async function said(
  filtered: (selection: SelectionModel) => void,
  words: string,
  hidden: number | null = 0
): Promise<string> {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo());
  const context = contexts.get({ name: 'first-look' });
  filtered(context.selection);
  const panel = bandwidthPanel.create({ context, state: undefined });
  Widget.attach(panel, document.body);
  const { hidden: told, ...rest } = none;
  feed.running[0]!.answer({ ...rest, ...(hidden !== null && { hidden }) });
  expect(told).toBe(0);
  const text = await waitFor(words, () => {
    MessageLoop.flush();
    const shown = panel.node.textContent ?? '';
    return shown.includes(words) ? shown : undefined;
  });
  panel.dispose();
  context.selection.clear();
  return text;
}

it('blames no filter where there was no transfer', async () => {
  const text = await said(
    selection => selection.toggleWorker(1),
    'No worker has fetched from another.'
  );
  expect(text).not.toContain('The filter matches');
});

it('names the conditions that narrow transfers', async () => {
  const text = await said(
    selection => {
      selection.toggleFunction('inc');
      selection.toggleWorker(1);
      selection.setTime({ from: 1, to: 2 });
    },
    'The filter matches no transfer.',
    3
  );
  expect(text.replaceAll('\u00a0', ' ')).toContain(
    '3 transfers are hidden. The filter: worker 1, time 1.00 s – 2.00 s.'
  );
});

it('takes a filter for the cause where an observer of before does not tell', async () => {
  const text = await said(
    selection => selection.toggleWorker(1),
    'The filter matches no transfer.',
    null
  );
  expect(text.replaceAll('\u00a0', ' ')).toContain('The filter: worker 1.');
});
