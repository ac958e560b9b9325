import { createElement } from '../../../charts/shown-element';
import { bracketing } from '../../../testing/translators';
import { Signal } from '@lumino/signaling';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { readPalette } from '../../../charts/theme';
import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import type { ProfileResult } from '../../../wire/panel-link';
import type { ITheme } from '../../panel-context';
import { activityOf } from '../figure';
import { frameRows, frameTree, statesOf, THREAD_STATES } from '../rows';
import { ProfileView } from '../view';

const profile = ask(drawnStore(firstLook()), 'profile', { ended: true });

function render(result: ProfileResult, trans = bracketing, selected = 0) {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const activity = activityOf(result);
  const theme = { palette: readPalette(document.body) } as ITheme;
  Object.assign(theme, { changed: new Signal(theme) });
  flushSync(() =>
    root.render(
      <ProfileView
        tree={frameTree(result)}
        activity={activity}
        wholeActivity={null}
        time="all"
        focus={null}
        selected={selected}
        found={null}
        selection={new SelectionModel()}
        theme={theme}
        trans={trans}
        onZoom={() => undefined}
        onSelect={() => undefined}
      />
    )
  );
  return { host, root, activity };
}

/** What a view of an answer says. */
function shown(result: ProfileResult, trans = bracketing, selected = 0) {
  const { host, root, activity } = render(result, trans, selected);
  const textOf = (selector: string): string =>
    host.querySelector(selector)?.textContent ?? '';
  const said = {
    legend: textOf('.sw-legend'),
    titles: [
      ...host.querySelectorAll('.sw-legend-item:not(.sw-wide-only)')
    ].map(item => item.getAttribute('title')),
    details: textOf('.sw-Profile-details'),
    activity: textOf('.sw-Profile-activity'),
    highest: activity.highest
  };
  flushSync(() => root.unmount());
  host.remove();
  return said;
}

it('legend and details of Profile are in the user’s language', () => {
  const { legend, details } = shown(profile);
  for (const { label } of THREAD_STATES) {
    expect(legend).toContain(`⟦${label}⟧`);
    expect(details).toContain(`⟦${label}⟧`);
  }
});

it('legend and details say that blocked is more than in Fine Performance Metrics', () => {
  const { legend, details, titles } = shown(profile);
  const remark = expect.stringContaining('another thread’s import are in it');
  expect(titles).toEqual([null, null, null, remark]);
  expect(details).toEqual(remark);
  // (nobody hears a title of what takes no focus)
  expect(legend).toEqual(remark);
  // Where nothing was blocked there is nothing to explain.
  const { nodes } = profile;
  const none = { ...nodes, blocked: nodes.blocked.map(() => 0) };
  const { details: other } = shown({ ...profile, nodes: none });
  expect(other).not.toEqual(remark);
});

it('explains what it has to explain by keyboard as by pointer', () => {
  // (all frames import modules, so that there is more than one line to explain)
  const { nodes } = profile;
  const importing = {
    ...nodes,
    file: nodes.file.map(() => '<frozen importlib._bootstrap>')
  };
  const { host, root } = render({ ...profile, nodes: importing });
  const items = [
    ...host.querySelectorAll<HTMLElement>('.sw-legend > .sw-legend-item')
  ];
  const explained = items.filter(({ title }) => title !== '');
  const [first, last] = explained as [HTMLElement, HTMLElement];
  expect(explained).toEqual([first, last]);
  expect(items.length).toBeGreaterThan(3);
  const card = () => host.ownerDocument.querySelector('[role="tooltip"]');
  const press = (key: string) =>
    flushSync(() => {
      document.activeElement!.dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
      );
    });
  // One of them is in the order of Tab, and what says nothing is not.
  expect(items.map(({ tabIndex }) => tabIndex).filter(at => at === 0)).toEqual([
    0
  ]);
  expect(first.tabIndex).toBe(0);
  flushSync(() => first.focus());
  expect(document.activeElement).toBe(first);
  expect(card()?.textContent).toContain(first.title);
  // On to the next that explains itself.
  press('ArrowRight');
  expect(document.activeElement).toBe(last);
  expect(card()?.textContent).toContain(last.title);
  expect(last.title).toContain('another thread’s import are in it');
  press('ArrowRight');
  expect(document.activeElement).toBe(last);
  press('Escape');
  expect(card()).toBeNull();
  press('Home');
  expect(document.activeElement).toBe(first);
  flushSync(() => first.blur());
  expect(card()).toBeNull();
  flushSync(() => root.unmount());
  host.remove();
});

it('imports are set apart from what the function of the task does, and so is what modules run as they are imported', () => {
  const frames = [
    ['all functions', '', -1],
    ['fit', '/home/fit.py', 0],
    ['import_module', '/python/importlib/__init__.py', 1],
    ['_find_and_load', '<frozen importlib._bootstrap>', 2],
    ['<module>', '/site-packages/pandas/__init__.py', 3],
    ['compile', '/python/re/__init__.py', 4],
    ['exec_module', '/python/importlib/_bootstrap_external.py', 2],
    ['compile', '/python/re/__init__.py', 1],
    // What unpickling imports: Python's own frames between the two are not shown.
    ['loads', '/spanwise/wire/payload.py', 0],
    ['<module>', '/site-packages/numpy/__init__.py', 8],
    ['<module>', '<string>', 8],
    ['<module>', '/home/program.py', 0],
    // A program that a task runs.
    ['<module>', '/home/program.py', 1],
    // What the worker calls so, below a function and by itself.
    ['(import)', '<spanwise>', 0],
    ['<module>', '/site-packages/numpy/__init__.py', 13],
    ['(deserialize)', '<spanwise>', 0],
    ['(import)', '<spanwise>', -1],
    ['(import)', '/home/fit.py', -1]
  ] as const;
  const counts = (count = 1) => frames.map(() => count);
  const imports: ProfileResult = {
    ...profile,
    nodes: {
      parent: frames.map(([, , parent]) => parent),
      name: frames.map(([name]) => name),
      file: frames.map(([, file]) => file),
      line: counts(),
      n: counts(8),
      onCore: counts(8),
      waiting: counts(0),
      gil: counts(0),
      blocked: counts(0),
      slot: counts()
    }
  };
  expect([...frameTree(imports).importing]).toEqual([
    0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0
  ]);
  const { legend, details } = shown(imports, bracketing, 5);
  // In a low panel it is cut off behind the first line.
  expect(legend.trim()).toMatch(/^⟦importing modules⟧/);
  expect(details).toContain('Modules were being imported.');
  expect(shown(imports, bracketing, 7).details).not.toContain('imported');
  expect(shown(profile).legend).not.toContain('importing modules');
});

it('legend, details and activity say nothing of states that the source does not tell', () => {
  const { nodes, activity } = profile;
  const none = (counts: readonly number[]) => counts.map(() => 0);
  const untold: ProfileResult = {
    ...profile,
    rateHz: 100,
    nodes: {
      ...nodes,
      onCore: none(nodes.onCore),
      waiting: none(nodes.waiting),
      gil: none(nodes.gil),
      blocked: none(nodes.blocked)
    },
    activity: {
      seconds: activity.seconds,
      onCore: none(activity.onCore),
      waiting: none(activity.waiting),
      gil: none(activity.gil),
      blocked: none(activity.blocked),
      unknown: activity.seconds.map((_, i) => 100 * (1 + (i % 3)))
    }
  };
  const said = shown(untold);
  expect(said.legend.trim()).toBe('⟦CPU or waiting, not told which⟧');
  expect(said.details).not.toContain('On a core');
  expect(said.details).toContain('⟦samples⟧');
  // One to three threads.
  expect(said.highest).toBeCloseTo(3);
  expect(said.activity).toContain('threads that ran tasks');
  expect(said.activity).toContain('⟦3 threads⟧');
  const unknown = shown({ ...untold, rateHz: null });
  expect(unknown.activity).toContain('⟦300 samples⟧');
  const cells = frameRows(frameTree(untold), () => true, bracketing)[0]!.cells;
  expect(cells.slice(2, 5).every(({ value }) => value !== null)).toBe(true);
  expect(cells.slice(5).map(({ text, value }) => [text, value])).toEqual([
    ['–', null],
    ['–', null],
    ['–', null],
    ['–', null]
  ]);
  // Some samples without a state beside others: both.
  const mixed = { ...profile.activity, unknown: untold.activity.unknown! };
  expect(
    statesOf({ ...profile, activity: mixed }).map(({ label }) => label)
  ).toEqual([
    ...THREAD_STATES.map(({ label }) => label),
    'CPU or waiting, not told which'
  ]);
});
