/** A panel of very many workers that is turned to another cluster. */
import type { JSONObject } from '@lumino/coreutils';
import { Widget } from '@lumino/widgets';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { taskStreamPanel } from '..';
import type { TaskStreamPanel } from '../panel';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

it('an opened group of workers is of one cluster', () => {
  const { feed, contexts } = labContext();
  feed.setClusters(
    clusterInfo({ cluster: 'a', name: 'first-look' }),
    clusterInfo({ cluster: 'b', name: 'survey' })
  );
  const drawn = ask(drawnStore(firstLook()), 'task-stream', { ended: true });
  const [worker] = drawn.workers;
  const result = {
    ...drawn,
    workers: Array.from({ length: 100 }, (_, number) => ({
      ...worker!,
      worker: number
    }))
  };
  const panel = taskStreamPanel.create({
    context: contexts.get({ name: 'first-look' }),
    state: undefined
  }) as TaskStreamPanel;
  Widget.attach(panel, document.body);
  const { model } = panel;
  feed.running[0]!.answer(result, { logId: 'log-a' });
  model.openGroup(57);
  model.toggleWorker(3);
  expect(model.openedGroup).toBe(5);

  // The same cluster, pinned.
  panel.setPinned(true);
  feed.running[0]!.answer(result, { logId: 'log-a' });
  expect(model.openedGroup).toBe(5);
  expect([...model.collapsed]).toEqual([3]);
  panel.setPinned(false);

  panel.turnTo(contexts.get({ name: 'survey' }));
  feed.running[0]!.answer(result, { logId: 'log-b' });
  expect(model.openedGroup).toBeNull();
  expect(model.savedState()).toMatchObject({ opened: null, collapsed: [] });
  panel.dispose();
});

it('what was chosen before the page was loaded again is of one log', () => {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo({ cluster: 'a', name: 'first-look' }));
  const result = ask(drawnStore(firstLook()), 'task-stream', { ended: true });
  const [worker] = result.workers;
  const shown = (logId: string, state: JSONObject | undefined) => {
    const panel = taskStreamPanel.create({
      context: contexts.get({ name: 'first-look' }),
      state
    }) as TaskStreamPanel;
    Widget.attach(panel, document.body);
    feed.running[0]!.answer(result, { logId });
    return panel;
  };
  const before = shown('log-a', undefined);
  before.model.toggleWorker(worker!.worker);
  before.model.setView({ from: 1, to: 2 });
  const state = before.savedState();
  before.dispose();
  for (const logId of ['log-a', 'log-b']) {
    const isSame = logId === 'log-a';
    const panel = shown(logId, state);
    const { model } = panel;
    expect([...model.collapsed]).toEqual(isSame ? [worker!.worker] : []);
    expect(model.isFollowing).toBe(!isSame);
    panel.dispose();
  }
});

it('an unlinked panel shows what it asked for, whatever is selected elsewhere', () => {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo({ cluster: 'a', name: 'first-look' }));
  const result = ask(drawnStore(firstLook()), 'task-stream', { ended: true });
  const context = contexts.get({ name: 'first-look' });
  const panel = taskStreamPanel.create({
    context,
    state: undefined
  }) as TaskStreamPanel;
  Widget.attach(panel, document.body);
  const [watch] = feed.running;
  watch!.answer(result);
  const { model } = panel;
  const watching = panel['_watchNow']();
  watching.setUnlinked(true);
  context.selection.toggleFunction('score');
  watch!.answer({ ...result });
  expect(model.filter).toEqual({});
  watching.setUnlinked(false);
  watch!.answer({ ...result });
  expect(model.filter).toEqual({ functions: ['score'] });
  panel.dispose();
});
