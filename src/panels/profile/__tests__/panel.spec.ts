/** The panel's questions: what it asks besides its own, and when. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import type { ProfileResult } from '../../../wire/panel-link';
import { profilePanel } from '..';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
const profile = ask(drawnStore(firstLook()), 'profile', { ended: true });

function upTo(second: number, from = 0): ProfileResult {
  const seconds = Array.from({ length: second - from }, (_, i) => from + i);
  const none = seconds.map(() => 0);
  const activity = {
    seconds,
    onCore: seconds.map(() => 100),
    waiting: none,
    gil: none,
    blocked: none
  };
  return { ...profile, activity };
}

function setUp() {
  Object.assign(globalThis, {
    IS_REACT_ACT_ENVIRONMENT: true,
    ResizeObserver: ResizeObserverStub
  });
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo());
  const context = contexts.get({ name: 'first-look' });
  const panel = profilePanel.create({ context, state: undefined });
  return { feed, context, panel };
}

/** Until the panel has drawn what comes of it. */
function does(what: () => void) {
  return act(async () => {
    what();
    MessageLoop.flush();
  });
}

it('shows all of the activity behind a range, also what came while it was hidden or since', async () => {
  const { feed, context, panel } = setUp();
  const end = () =>
    panel.node
      .querySelector('[aria-label="Period end"]')!
      .getAttribute('aria-valuemax');
  const asked = () => feed.running.map(({ spec }) => spec.time);
  await does(() => {
    Widget.attach(panel, document.body);
    feed.running[0]!.answer(upTo(62));
  });
  expect([asked(), end()]).toEqual([['all'], '62']);
  await does(() => panel.hide());
  const time = { from: 3, to: 20 };
  await does(() => context.selection.setTime(time));
  expect(asked()).toEqual([]);
  await does(() => {
    panel.show();
    feed.running[0]!.answer(upTo(20, 3));
  });
  expect(asked()).toEqual([time, 'all']);
  await does(() => feed.running[1]!.answer(upTo(91)));
  expect(end()).toBe('91');
  await does(() => feed.running[1]!.answer(upTo(95)));
  expect(end()).toBe('95');
  // The panel's own answers tell it again.
  await does(() => {
    context.selection.setTime('all');
    feed.running[0]!.answer(upTo(97));
  });
  expect([asked(), end()]).toEqual([['all'], '97']);
  await does(() => panel.dispose());
  expect(feed.running).toEqual([]);
});

it('asks for all of the activity with the filter of the others once it is linked again', async () => {
  const { feed, context, panel } = setUp();
  const asked = () => feed.running.map(({ spec }) => spec.filter);
  const setUnlinked = (isUnlinked: boolean) =>
    (
      panel as unknown as {
        _watchNow(): { setUnlinked(isUnlinked: boolean): void };
      }
    )
      ._watchNow()
      .setUnlinked(isUnlinked);
  await does(() => {
    context.selection.setTime({ from: 3, to: 20 });
    Widget.attach(panel, document.body);
    feed.running[0]!.answer(upTo(20, 3));
  });
  await does(() => setUnlinked(true));
  await does(() => context.selection.setFilter({ functions: ['load'] }));
  expect(asked()).toEqual([{}, {}]);
  await does(() => setUnlinked(false));
  await does(() => feed.running[0]!.answer(upTo(20, 3)));
  expect(asked()).toEqual([{ functions: ['load'] }, { functions: ['load'] }]);
  await does(() => panel.dispose());
});
