/** Progress as a panel: its states, its order, and what a click chooses. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { waitFor } from '../../../testing/wait-for';
import type { ProgressResult, TaskCounts } from '../../../wire/panel-link';
import { progressPanel } from '..';

const NONE: TaskCounts = {
  done: 0,
  running: 0,
  waiting: 0,
  failed: 0,
  dropped: 0,
  memory: 0
};
const EMPTY: ProgressResult = {
  view: 'progress',
  functions: [],
  total: NONE,
  hidden: 0,
  toldAt: 1
};
const EVIL = '<b>load</b>';
const SOME: ProgressResult = {
  ...EMPTY,
  functions: [
    { function: EVIL, slot: 0, round: 0, ...NONE, done: 9 },
    { function: 'fit', slot: 1, round: 0, ...NONE, waiting: 3, failed: 1 }
  ],
  total: { ...NONE, done: 9, waiting: 3, failed: 1 }
};

describe('the panel Progress', () => {
  const open = (result: ProgressResult, order?: string, chosen?: string) => {
    const { feed, contexts } = labContext();
    feed.setClusters(clusterInfo());
    const context = contexts.get({ name: 'first-look' });
    if (chosen !== undefined) {
      context.selection.toggleFunction(chosen);
    }
    const panel = progressPanel.create({
      context,
      state: order === undefined ? undefined : { order }
    });
    Widget.attach(panel, document.body);
    feed.running[0]!.answer(result);
    const shows = (words: string) =>
      waitFor(words, () => {
        MessageLoop.flush();
        const shown = panel.node.textContent ?? '';
        return shown.includes(words) ? shown : undefined;
      });
    const names = () =>
      [...panel.node.querySelectorAll('.sw-Progress-name')].map(
        each => each.textContent
      );
    return { panel, context, shows, names };
  };

  it('has names as text, and a click chooses a function in every panel', async () => {
    const { panel, context, shows, names } = open(SOME);
    await shows('9 of 13 tasks done');
    expect(names()).toEqual([EVIL, 'fit']);
    expect(panel.node.querySelector('.sw-Progress b')).toBeNull();
    panel.node.querySelector<HTMLElement>('button.sw-Progress-label')!.click();
    expect(context.selection.filter.functions).toEqual([EVIL]);
    context.selection.clear();
    panel.dispose();
  });

  it('keeps its order after a reload', async () => {
    const { panel, shows, names } = open(SOME, 'left');
    await shows('9 of 13 tasks done');
    expect(names()).toEqual(['fit', EVIL]);
    panel.dispose();
  });

  it('draws a stretch for each count, as wide as its share', async () => {
    const { panel, shows } = open(SOME);
    await shows('fit');
    const stretches = [
      ...panel.node.querySelectorAll<HTMLElement>(
        '.sw-Progress-item:last-child .sw-Progress-stretch'
      )
    ].map(each => [each.dataset['stretch'], each.style.flexGrow]);
    expect(stretches).toEqual([
      ['failed', '1'],
      ['waiting', '3']
    ]);
    panel.dispose();
  });

  it('says that no task is counted yet, and what a filter hides', async () => {
    const first = open(EMPTY);
    await first.shows('No task is counted yet.');
    first.panel.dispose();
    const hidden = { ...EMPTY, hidden: 4 };
    const { panel, context, shows } = open(hidden, undefined, 'fit');
    expect(
      (await shows('The filter matches no task.')).replaceAll('\u00a0', ' ')
    ).toContain('4 tasks are hidden. The filter: function fit.');
    context.selection.clear();
    panel.dispose();
  });
});
