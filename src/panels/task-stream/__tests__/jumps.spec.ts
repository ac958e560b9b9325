/** From the panel's tools to a task: what is in view then, and what has the focus. */
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { act } from 'react';
import { clusterInfo } from '../../../feed/__tests__/fake-feed';
import { labContext } from '../../../lab/__tests__/lab-context';
import { ask } from '../../../observer/__tests__/ask';
import { runDetail } from '../../../observer/folds/run-detail';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { taskStreamPanel } from '..';
import type { TaskStreamPanel } from '../panel';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
const log = drawnStore(firstLook());
const run = runDetail(log, 100)!;

let panel: TaskStreamPanel;
let jump: (label: string) => Promise<void>;

beforeEach(async () => {
  Object.assign(globalThis, {
    IS_REACT_ACT_ENVIRONMENT: true,
    ResizeObserver: ResizeObserverStub
  });
  const { feed, contexts } = labContext();
  feed.setClusters(clusterInfo());
  Object.assign(feed, { detail: () => Promise.resolve(run) });
  panel = taskStreamPanel.create({
    context: contexts.get({ name: 'first-look' }),
    state: undefined
  }) as TaskStreamPanel;
  await act(async () => {
    Widget.attach(panel, document.body);
    feed.running[0]!.answer(ask(log, 'task-stream', { ended: true }));
    MessageLoop.flush();
  });
  const { moreItems } = panel as unknown as {
    moreItems(): readonly { label: string; run(): void }[];
  };
  jump = async label => {
    await act(async () => {
      moreItems
        .call(panel)
        .find(item => item.label === `Jump to: ${label}`)!
        .run();
    });
    await act(async () => {
      feed.running.at(-1)!.answer({ view: 'tasks', rows: [run], total: 1 });
      await Promise.resolve();
      MessageLoop.flush();
    });
  };
});
afterEach(() => act(async () => panel.dispose()));

const inPanel = (selector: string) =>
  panel.node.querySelector<HTMLElement>(selector)!;

it.each(['First', 'Last', 'Longest', 'Next failed'])(
  'after *%s* the lanes have the focus, so that their keys work',
  async label => {
    // As the menu leaves it.
    inPanel('[aria-label="Jump to"]').focus();
    await jump(label);
    const { model } = panel;
    expect(document.activeElement).toBe(inPanel('.sw-TaskStream-lanes'));
    expect(inPanel('.sw-drawer')).not.toBeNull();
    const press = (key: string) =>
      act(async () => {
        document.activeElement!.dispatchEvent(
          new KeyboardEvent('keydown', { key, bubbles: true })
        );
      });
    await press('f');
    expect(model.isFollowing).toBe(true);
    await press('Escape');
    expect(inPanel('.sw-drawer')).toBeNull();
  }
);

it('the lane that keys have come to is marked, until they go elsewhere', async () => {
  await jump('First');
  const lanes = inPanel('.sw-TaskStream-lanes');
  const marked = () =>
    [
      ...panel.node.querySelectorAll('.sw-TaskStream-workers [data-reached]')
    ].map(({ textContent }) => textContent);
  expect(marked()).toEqual([]);
  const before = new Set<string | null>();
  for (const key of ['ArrowDown', 'ArrowDown']) {
    await act(async () => {
      lanes.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    });
    expect(marked()).toHaveLength(1);
    before.add(marked()[0]!);
  }
  expect(before).toEqual(new Set(['thread 2', 'thread 1']));
  await act(async () => lanes.dispatchEvent(new FocusEvent('blur')));
  expect(marked()).toEqual([]);
});

it('the drawer keeps the size that it was given, also after a reload', async () => {
  await jump('Longest');
  await act(async () => {
    inPanel('[role="separator"]').dispatchEvent(
      new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true })
    );
    MessageLoop.flush();
  });
  const below = () =>
    inPanel('.sw-TaskStream').style.getPropertyValue('--sw-drawer-below');
  expect(below()).toBe('38cqh');
  const { drawer } = panel.savedState();
  expect(drawer).toEqual({ below: 38 });
  const { contexts } = labContext();
  const again = taskStreamPanel.create({
    context: contexts.get({ name: 'first-look' }),
    state: panel.savedState()
  });
  expect(again.savedState()['drawer']).toEqual(drawer);
  again.dispose();
});

it('takes the focus from nothing outside the panel', async () => {
  const elsewhere = document.body.appendChild(document.createElement('input'));
  elsewhere.focus();
  await jump('Longest');
  expect(document.activeElement).toBe(elsewhere);
  elsewhere.remove();
});

it('*Fit* says what it shows next', async () => {
  const fit = () => inPanel('[aria-label="Fit"]');
  const answer = (hidden: number) =>
    act(async () => {
      panel.model.setResult(
        { ...ask(log, 'task-stream', { ended: true }), hidden },
        hidden > 0 ? { functions: [run.function] } : {}
      );
      panel.model.setView({ from: 3, to: 4 });
      MessageLoop.flush();
    });
  await answer(0);
  expect(fit().title).toBe('Fit the whole run (0)');
  await answer(9);
  expect(fit().title).toBe('Fit the selection (0)');
  await act(async () => {
    fit().click();
    MessageLoop.flush();
  });
  expect(fit().title).toBe('Fit the whole run (0)');
});

it('follows the newest by one click after *Fit*, and says until then that it is the whole run', async () => {
  const result = { ...ask(log, 'task-stream'), live: true };
  const newestFrom = result.to - 1;
  const answered = (to: number) =>
    act(async () => {
      panel.model.setResult({ ...result, newestFrom, to });
      MessageLoop.flush();
    });
  const follow = () => inPanel('[aria-label="Follow"]');
  const state = () => [
    follow().getAttribute('aria-pressed'),
    panel.node.querySelector('.sw-TaskStream-paused')?.textContent
  ];
  const click = (button: HTMLElement) =>
    act(async () => {
      button.click();
      MessageLoop.flush();
    });
  await answered(result.to);
  await act(async () => {
    panel.model.reset();
    MessageLoop.flush();
  });
  expect(state()).toEqual(['true', undefined]);
  await click(inPanel('[aria-label="Fit"]'));
  expect(state()).toEqual(['false', 'whole run']);
  await answered(result.to + 20);
  expect(panel.model.view.from).toBeLessThan(newestFrom);
  expect(panel.model.view.to).toBeGreaterThan(result.to + 20);
  await click(follow());
  expect(state()).toEqual(['true', undefined]);
  expect(panel.model.view.from).toBeGreaterThan(newestFrom - 1);
  await click(follow());
  expect(state()).toEqual(['false', expect.stringMatching(/^paused at /)]);
  await click(inPanel('[aria-label="Fit"]'));
  expect(state()).toEqual(['false', 'whole run, paused']);
  // More has run than is in view.
  await answered(result.to + 900);
  expect(state()).toEqual(['false', expect.stringMatching(/^paused at /)]);
});

it('no tool of the Task Stream is right of what comes and goes in its toolbar', async () => {
  const names = () =>
    [...inPanel('.sw-toolbar').children]
      .map(each => each.className)
      .slice(0, -1);
  const before = names();
  await act(async () => {
    panel.model.setView({ from: 3, to: 4 });
    MessageLoop.flush();
  });
  const after = names();
  const at = after.findIndex(name => name.includes('sw-TaskStream-paused'));
  expect(after.slice(0, at)).toEqual(before.slice(0, at));
  expect(after[at + 1]).toMatch(/^sw-toolbar-note/);
  expect(after[at + 2]).toBe('sw-toolbar-spacer');
});

it('*Zoom to this task* shows little else, also after a jump', async () => {
  const shareInView = () => {
    const { from, to } = panel.model.view;
    return run.duration / (to - from);
  };
  await jump('Next failed');
  expect(shareInView()).toBeCloseTo(0.2);
  await act(async () =>
    [...panel.node.querySelectorAll('button')]
      .find(({ textContent }) => textContent === 'Zoom to this task')!
      .click()
  );
  const { from, to } = panel.model.view;
  expect(shareInView()).toBeGreaterThan(0.75);
  expect(from).toBeLessThan(run.start);
  expect(to).toBeGreaterThan(run.start + run.duration);
});
