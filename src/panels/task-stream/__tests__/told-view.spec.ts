/** What other panels are told of the time that a Task Stream shows. */
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

const result = ask(drawnStore(firstLook()), 'task-stream', { ended: true });

function opened() {
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo({ tasks: 7 }));
  const context = contexts.get({ name: 'first-look' });
  const open = () => {
    const panel = taskStreamPanel.create({ context, state: undefined });
    Widget.attach(panel, document.body);
    feed.running.at(-1)!.answer(result);
    jest.advanceTimersByTime(1000);
    return panel as TaskStreamPanel;
  };
  const shown = (tasks = 7) => {
    const view = context.timeViews!.of('c1', tasks);
    return view && [view.from, view.to];
  };
  return { context, feed, open, shown };
}

const viewOf = ({ model }: TaskStreamPanel) => [model.view.from, model.view.to];

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('is what it shows, a few times a second while it moves', () => {
  const { context, open, shown } = opened();
  const panel = open();
  expect(shown()).toEqual(viewOf(panel));
  let told = 0;
  context.timeViews!.changed.connect(() => told++);
  for (let step = 0; step < 60; step++) {
    panel.model.setView({ from: 1 + step / 60, to: 3 + step / 60 });
    jest.advanceTimersByTime(16);
  }
  jest.advanceTimersByTime(1000);
  expect(shown()).toEqual(viewOf(panel));
  expect(told).toBeGreaterThan(1);
  expect(told).toBeLessThan(7);
  panel.dispose();
});

it('is told by the one of two that has moved', () => {
  const { feed, open, shown } = opened();
  const [one, other] = [open(), open()];
  one.model.setView({ from: 1, to: 2 });
  jest.advanceTimersByTime(1000);
  const moved = viewOf(one);
  expect(shown()).toEqual(moved);
  feed.running.forEach(watch => watch.answer({ ...result }));
  jest.advanceTimersByTime(1000);
  expect(shown()).toEqual(moved);
  [one, other].forEach(panel => panel.dispose());
});

it('stays while it is hidden: what goes on with the newest work only until there is newer', () => {
  const { feed, open, shown } = opened();
  const panel = open();
  const whole = viewOf(panel);
  panel.hide();
  expect([shown(7), shown(8)]).toEqual([whole, null]);
  panel.show();
  feed.running.at(-1)!.answer({ ...result });
  jest.advanceTimersByTime(1000);
  expect(shown(8)).toEqual(whole);

  panel.model.setView({ from: 1, to: 2 });
  jest.advanceTimersByTime(1000);
  const part = viewOf(panel);
  panel.hide();
  expect(shown(8)).toEqual(part);
  // Out of sight it tells nothing.
  panel.model.setView({ from: 2, to: 3 });
  jest.advanceTimersByTime(1000);
  expect(shown(8)).toEqual(part);
  panel.show();
  feed.running.at(-1)!.answer({ ...result });
  jest.advanceTimersByTime(1000);
  expect(shown()).toEqual(viewOf(panel));
  panel.dispose();
  expect([shown(7), shown(8)]).toEqual([viewOf(panel), null]);
});
