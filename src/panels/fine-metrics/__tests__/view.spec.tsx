import { act } from 'react';

import { ask } from '../../../observer/__tests__/ask';
import { IDLE_CAUSES } from '../../../observer/folds/idle';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { waitFor } from '../../../testing/wait-for';
import { english } from '../../../testing/translators';
import type { FineMetricsResult } from '../../../wire/panel-link';
import {
  functionRows,
  headlineOf,
  MEANINGS,
  partsOf,
  remarkOn,
  tableOf
} from '../rows';
import { ShownView } from './shown-view';

const evil = '<img src=x onerror=alert(1)>';

const plain = (text: string | null) => (text ?? '').replaceAll('\u00a0', ' ');

const view = new ShownView();
const whole = ask(drawnStore(firstLook(38)), 'fine-metrics', { ended: true });
const twelve = ask(drawnStore(firstLook()), 'fine-metrics', { ended: true });

const list = (name: string) => view.list(name);
const texts = (name: string) => view.texts(name);

describe('Fine Performance Metrics', () => {
  it('reads "function, time, share" in each item', () => {
    view.show(whole);
    expect(texts('By function')[0]).toMatch(/^fit_fold, [\d.]+ s, \d+ %$/);
    expect(texts('By function').at(-1)).toMatch(/^38 others, /);
    expect(texts('By activity')[0]).toMatch(/^CPU, 2 min \d\d s, \d+ %$/);
    expect(
      texts('Idle, by cause')
        .map(text => text.split(', ')[0])
        .sort()
    ).toEqual([
      'held on another worker',
      'inputs in flight',
      'nothing runnable',
      'paused for memory',
      'scheduler not yet answered'
    ]);
    expect(texts('Idle, by cause')).toContainEqual(
      expect.stringMatching(/^paused for memory, \d+ ms, 0\.\d %$/)
    );
    expect(texts('Data moved')).toContain('send: network, 6.61 s');
  });

  it('says of what was moved in the background that a filter leaves it out', () => {
    const store = drawnStore(firstLook());
    const note = /is of no function or span: the filter leaves it out\./;
    const shown = (filter: object) => {
      view.show(ask(store, 'fine-metrics', { ended: true, filter }));
      return view.host.querySelector('.sw-FineMetrics')?.textContent ?? '';
    };
    expect(shown({})).not.toMatch(note);
    expect(shown({ workers: [0] })).not.toMatch(note);
    // (alone too, where nothing else was moved)
    expect(shown({ functions: ['score_fold'] })).toMatch(note);
    expect(shown({ functions: ['score_fold'] })).toMatch(/Data moved/);
  });

  it('says while the first tasks run why no function is there, and leaves out a list without a row', () => {
    const none: FineMetricsResult = {
      ...whole,
      byFunction: [],
      others: null,
      byActivity: []
    };
    const heads = () =>
      view.all('.sw-block-title').map(each => plain(each.textContent));
    view.show({ ...none, runningSeconds: 3 });
    expect(heads()).toContainEqual(
      'By functiontasks count here once they have ended'
    );
    expect(heads().join()).not.toContain('By activity');
    view.show({ ...none, runningSeconds: 0 });
    expect(heads()).toContainEqual('By functionnone');
    view.show(whole);
    expect(heads()).toContainEqual(
      expect.stringMatching(/^By function\d+ of \d+ functions$/)
    );
    expect(heads()).toContain('By activity');
  });

  it('writes out what is hidden in a name, and filters by the name as it is', () => {
    const name = 'load\u202egnp.exe';
    const byFunction = whole.byFunction.map((row, index) =>
      index === 0 ? { ...row, function: name } : row
    );
    view.show({ ...whole, byFunction });
    expect(view.host.outerHTML).not.toContain('\u202e');
    expect(texts('By function')[0]).toMatch(/^load\\u202egnp\.exe, /);
    list('By function').querySelector('button')!.click();
    expect(view.selection.filter.functions).toEqual([name]);
  });

  it('names causes of idleness that a run without a cluster can have', () => {
    const idle = [...whole.idle, { cause: 'stopped', seconds: 1 }];
    const local: FineMetricsResult = { ...whole, idle };
    view.show(local, { isLocal: true });
    const items = [...list('Idle, by cause').children] as HTMLElement[];
    const titles = new Map(
      items.map(item => [(item.textContent ?? '').split(/, \d/)[0], item.title])
    );
    expect([...titles.keys()].sort()).toEqual([
      'held on another thread',
      'inputs in flight',
      'nothing runnable',
      'paused for memory',
      'pool start, handing out',
      'process stopped'
    ]);
    expect(titles.get('pool start, handing out')).toContain(
      'until a thread began it'
    );
    const description = view
      .all('.sw-FineMetrics-bar')[0]!
      .getAttribute('aria-description');
    for (const said of [
      description,
      view.host.textContent,
      JSON.stringify(tableOf(local, english, true).rows)
    ]) {
      expect(said).toContain('pool start, handing out');
      expect(said).not.toMatch(/worker|not yet answered/);
    }
  });

  it('shows sums that a Dask cluster tells as such, and idle time apart', () => {
    const [like] = whole.byFunction;
    const activities = { 'thread-cpu': 3, executor: 0.5, other: 0.5 };
    const told: FineMetricsResult = {
      ...whole,
      account: 'told',
      capacitySeconds: 10,
      wallSeconds: 5,
      threads: 2,
      byActivity: Object.entries(activities).map(([activity, value]) => ({
        activity,
        value,
        share: value / 4
      })),
      byFunction: [{ ...like!, function: 'f', total: 4, share: 1, activities }],
      others: null,
      idle: [{ cause: 'unknown', seconds: 7 }],
      wholeSeconds: 4,
      otherSpansSeconds: 4,
      otherIdleSeconds: 0
    };
    view.show(told);
    // The bar is the tasks' time: idle time overlaps with it, and is no part of it.
    expect(plain(view.all('.sw-FineMetrics-foot')[0]!.textContent)).toBe(
      '04.00 s under this filter, 50 % of 8.00 s of tasks as Dask adds them up, with waits for the worker’s event loop'
    );
    expect(
      view.all('.sw-FineMetrics-foot > span').map(({ title }) => title)
    ).toEqual(['', expect.stringContaining('the Task Stream count from its')]);
    const bar = view
      .all('.sw-FineMetrics-bar')[0]!
      .getAttribute('aria-description');
    expect(plain(bar)).toBe(
      'CPU 3.00 s, 75 %; waiting for the event loop 1.00 s, 25 %'
    );
    expect(texts('By activity')).toEqual([
      'CPU, 3.00 s, 75 %',
      expect.stringMatching(
        /^waiting for the event loop, 1\.00 s, 25 %\. What Dask calls /
      )
    ]);
    const [, loop] = [...list('By activity').children] as HTMLElement[];
    expect(loop!.title).toContain('in which a thread may have been free');
    expect(
      functionRows(told, english)[0]!.parts.map(({ label }) => label)
    ).toEqual(['CPU', 'waiting for the event loop']);
    for (const unit of ['seconds', 'count'] as const) {
      expect(
        headlineOf({ ...told, unit }).parts.map(({ label }) => label)
      ).toContain('waiting for the event loop');
    }
    expect(texts('By function')).toEqual(['f, 4.00 s, 100 %']);
    expect(texts('Idle, by cause')).toEqual(['cause not known, 7.00 s, 70 %']);
    expect(plain(view.host.textContent)).toContain(
      '7.00 s of 10.0 s = wall 5.00 s × 2 threads, by start and stop of tasks'
    );
    expect(view.host.textContent).not.toContain('every second of every thread');
    const { columns, rows } = tableOf(told, english);
    expect(columns[3]!.name).toBe('Share under this filter');
    expect(
      rows
        .at(-1)!
        .map(({ value }) => value)
        .slice(0, 4)
    ).toEqual([expect.anything(), null, 7, null]);
    expect(
      remarkOn(partsOf({ 'thread-noncpu': 1 }, 1, 'seconds')[0]!, told, english)
    ).toContain('is not told');
  });

  it('says of Node’s tasks what Node does not tell, and nothing of a GIL or of short tasks', () => {
    const activities = { 'thread-noncpu': 0.3, compute: 0.2 };
    const result: FineMetricsResult = {
      ...whole,
      byActivity: Object.entries(activities).map(([activity, value]) => ({
        activity,
        value,
        share: null
      }))
    };
    const remarks = () =>
      view
        .texts('By activity')
        .flatMap(text => /(?:known).*?\. (.*)/.exec(text)?.[1] ?? []);
    view.show(result, { isLocal: true, isNode: true });
    expect(remarks().sort()).toEqual([
      'Mostly tasks that return a promise: while it waits, other tasks use the thread, so its CPU time cannot be divided. Before 22.19 Node tells it of no task.',
      'Not on a core; Node does not tell whether its thread waited for a core or was blocked (sleep, I/O).'
    ]);
    view.show(result, { isLocal: true });
    expect(remarks()).toEqual([
      'Not on a core; whether it waited for a core, for the GIL or was blocked is not told of parts below 5 ms, nor on systems other than Linux.'
    ]);
  });

  it('says in the card of a function why its time is not told apart', () => {
    jest.useFakeTimers();
    const result: FineMetricsResult = {
      ...whole,
      byFunction: whole.byFunction.map(each => ({
        ...each,
        activities: { 'thread-cpu': 1, 'thread-noncpu': 2 }
      }))
    };
    const said = (isNode: boolean) => {
      view.show(result, { isLocal: true, isNode });
      const row = list('By function').querySelector('button')!;
      act(() => {
        row.blur();
        row.focus();
      });
      act(() => jest.advanceTimersByTime(200));
      return view.all('.sw-card-why').map(({ textContent }) => textContent);
    };
    expect(said(true)).toEqual([
      'Not on a core; Node does not tell whether its thread waited for a core or was blocked (sleep, I/O).'
    ]);
    expect(said(false)).toEqual([expect.stringContaining('for the GIL')]);
    jest.useRealTimers();
  });

  it('has in the card of a function shares of its time alone, and says how much of it were imports', () => {
    jest.useFakeTimers();
    const [like] = whole.byFunction;
    const f = {
      ...like!,
      function: 'f',
      total: 4,
      beside: {},
      activities: { 'thread-cpu': 1, import: 3 }
    };
    const result: FineMetricsResult = {
      ...whole,
      byFunction: [f],
      others: null,
      byActivity: Object.entries(f.activities).map(([activity, value]) => ({
        activity,
        value,
        share: value / 40
      })),
      idle: [{ cause: 'unknown', seconds: 36 }],
      wholeSeconds: 40
    };
    const card = () => {
      const row = list('By function').querySelector('button')!;
      act(() => {
        row.blur();
        row.focus();
      });
      act(() => jest.advanceTimersByTime(200));
      const [table] = view.all('.sw-card-table');
      return {
        head: plain(view.all('.sw-card-aside')[0]!.textContent),
        shares: [...(table as HTMLTableElement).rows].map(({ cells }) =>
          plain(cells[2]!.textContent)
        ),
        remarks: view
          .all('.sw-card-why')
          .map(({ textContent }) => plain(textContent))
      };
    };
    view.show(result);
    const { head, shares, remarks } = card();
    expect(head).toMatch(/ executions? · 10 % under this filter$/);
    expect(shares).toEqual(['25 %', '75 %', '100 % of its total']);
    expect(remarks).toEqual([
      '3.00 s of it went into importing modules, before the tasks’ own code ran.'
    ]);
    const activities = { 'thread-cpu': 4 };
    view.show({ ...result, byFunction: [{ ...f, activities }] });
    expect(card().remarks).toEqual([]);
    jest.useRealTimers();
  });

  it('says whose seconds the bar is of', () => {
    const aside = () => view.all('.sw-block-aside')[0]!.textContent;
    view.show(whole);
    expect(aside()).toBe('every second of every thread is counted once');
    view.show({ ...whole, wholeSeconds: whole.wholeSeconds! / 2 });
    expect(aside()).toBe(
      'every second of the selected tasks, and their share of idle time'
    );
  });

  it('filters by a click and leaves out by Alt-click', () => {
    view.show(whole);
    const button = list('By function').querySelector('button') as HTMLElement;
    button.click();
    expect(view.selection.filter.functions).toEqual(['fit_fold']);
    button.dispatchEvent(
      new MouseEvent('click', { bubbles: true, altKey: true })
    );
    expect(view.selection.filter.notFunctions).toEqual(['fit_fold']);
  });

  /** As a pointer's events bubble; React makes entering and leaving of them. */
  const point = (type: string, target: Element) => {
    Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
    act(() => {
      target.dispatchEvent(new MouseEvent(type, { bubbles: true }));
    });
    Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
  };
  const names = () =>
    texts('By function').map(text => text.slice(0, text.indexOf(', ')));
  /** Two functions' seconds, as the order in which they come follows from them. */
  const timed = (seconds: Record<string, number>, unit = 'seconds') => {
    const result = twelve;
    const [like] = result.byFunction;
    return {
      ...result,
      unit,
      others: null,
      byFunction: Object.entries(seconds).map(([name, total]) => ({
        ...like!,
        function: name,
        total,
        activities: { 'thread-cpu': total }
      }))
    };
  };

  it('moves no row from under the pointer, and sorts again when it has gone', () => {
    view.show(timed({ a: 3, b: 2, c: 1 }));
    point('pointerover', list('By function').children[1]!);
    view.show(timed({ a: 3, b: 4, c: 5 }));
    expect(names()).toEqual(['a', 'b', 'c']);
    point('pointermove', document.body);
    expect(names()).toEqual(['c', 'b', 'a']);
  });

  it('sorts again though the row under the pointer was taken out', () => {
    view.show(timed({ a: 2.25, b: 6.7 }));
    const row = list('By function').children[1]!;
    point('pointerover', row);
    // The click filters: only its row is left, and then all are back; no element tells that the pointer has left it.
    view.show(timed({ a: 2.25 }));
    view.show(timed({ a: 2.25, b: 6.7 }));
    expect(names()).toEqual(['a', 'b']);
    point('pointermove', document.body);
    expect(names()).toEqual(['b', 'a']);
  });

  it('sorts by what was asked for, wherever the pointer is', () => {
    view.show(timed({ a: 3, b: 2 }));
    point('pointerover', list('By function').children[1]!);
    view.show(timed({ a: 10, b: 20 }, 'bytes'));
    expect(names()).toEqual(['b', 'a']);
  });

  it('keeps a function apart that is called as the row of the others is', async () => {
    const byFunction = whole.byFunction.map((row, index) =>
      index === 0 ? { ...row, function: '38 others' } : row
    );
    view.selection.setFilter({ functions: ['38 others'] });
    view.show({ ...whole, byFunction });
    const items = list('By function').children;
    const [first, last] = [items[0]!, items[items.length - 1]!];
    expect([first, last].map(item => item.textContent!.split(',')[0])).toEqual([
      '38 others',
      '38 others'
    ]);
    const pressed = (item: Element) =>
      item.querySelector('button')!.getAttribute('aria-pressed');
    expect([first, last].map(pressed)).toEqual(['true', 'false']);
    point('pointerover', last);
    await waitFor('the card', () => view.all('.sw-card-hint').length > 0);
    expect(view.all('.sw-card-hint')[0]!.textContent).toBe(
      'click: show all functions'
    );
  });

  it('shows all functions when the others are clicked', () => {
    const onShowAll = jest.fn();
    view.show(whole, { onShowAll });
    (
      list('By function').lastElementChild?.querySelector(
        'button'
      ) as HTMLElement
    ).click();
    expect(onShowAll).toHaveBeenCalledTimes(1);
    expect(view.selection.isFiltered).toBe(false);
  });

  it('shows names of the user as text', () => {
    const result = twelve;
    view.show({
      ...result,
      byFunction: result.byFunction.map((item, index) =>
        index === 0 ? { ...item, function: evil } : item
      )
    });
    expect(view.host.querySelector('img')).toBeNull();
    expect(texts('By function')[0]?.startsWith(evil)).toBe(true);
  });

  it('says what a name leaves open to screen readers too, and once', () => {
    const byActivity = [
      { activity: 'blocked', value: 9, share: null },
      { activity: 'decode', value: 5, share: null }
    ];
    view.show({ ...whole, byActivity });
    const remark = 'the Profile counts such waits as blocked.';
    const rows = [...list('By activity').children] as HTMLElement[];
    const titled = (row: HTMLElement) =>
      [row, ...row.querySelectorAll<HTMLElement>('*')]
        .map(({ title }) => title)
        .filter(title => title.includes(remark) || title.includes('blocked ('));
    expect(rows.map(row => row.textContent!.endsWith(remark))).toEqual([
      true,
      false
    ]);
    // At its name, which may be cut off, the row's own shows.
    expect(rows.map(titled)).toEqual([
      [expect.stringMatching(/^blocked \(I\/O, sleep\)\n.*as blocked\.$/)],
      []
    ]);
    const name = rows[1]!.querySelector<HTMLElement>('.sw-metric-name')!;
    expect(name.title).toBe('decode');
  });

  it('explains activities and causes by keyboard as by pointer', () => {
    view.show({
      ...whole,
      idle: [
        { cause: 'nothing-runnable', seconds: 15 },
        { cause: 'scheduler', seconds: 5 }
      ]
    });
    const press = (key: string) =>
      act(() => {
        document.activeElement!.dispatchEvent(
          new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
        );
      });
    const card = () => view.all('[role="tooltip"]')[0]?.textContent;
    for (const name of ['Legend', 'By activity', 'Idle, by cause']) {
      const items = [...list(name).children] as HTMLElement[];
      const inOrder = () => items.filter(({ tabIndex }) => tabIndex === 0);
      expect(items.length).toBeGreaterThan(1);
      expect(inOrder()).toEqual([items[0]]);
      act(() => items[0]!.focus());
      expect(card()).toContain(items[0]!.title.split('\n').at(-1));
      press('ArrowDown');
      expect(document.activeElement).toBe(items[1]);
      expect(inOrder()).toEqual([items[1]]);
      expect(card()).toContain(items[1]!.title.split('\n').at(-1));
      press('End');
      expect(document.activeElement).toBe(items.at(-1));
      press('ArrowRight');
      expect(document.activeElement).toBe(items.at(-1));
      press('Home');
      expect(document.activeElement).toBe(items[0]);
      press('Escape');
      expect(card()).toBeUndefined();
      press('ArrowRight');
      expect(card()).toBeDefined();
      act(() => items[1]!.blur());
      expect(card()).toBeUndefined();
      // Who comes back is where the focus was.
      expect(inOrder()).toEqual([items[1]]);
    }
  });

  it.each([
    [
      'most of the time in which nothing could run',
      { function: 'slow-sum', seconds: 12.4, isLeast: false },
      'Nothing runnable for 15.0 s, summed over threads: 12.4 s of these while one task of slow-sum ran.'
    ],
    [
      'a lower bound of it',
      { function: 'slow-sum', seconds: 12.4, isLeast: true },
      'Nothing runnable for 15.0 s, summed over threads: at least 12.4 s of these while one task of slow-sum ran.'
    ]
  ])('names the task that took %s', (_, waitedFor, words) => {
    view.show({
      ...whole,
      idle: [{ cause: 'nothing-runnable', seconds: 15 }],
      waitedFor
    });
    const [line] = view.all('.sw-FineMetrics-note');
    expect(line?.textContent.replaceAll('\u00a0', ' ')).toBe(
      `${words} Others may have run at the same time.`
    );
  });

  it.each([
    ['of a cluster', false],
    ['of a run without a cluster', true]
  ])('explains each activity and cause %s in a sentence', (_, isLocal) => {
    const activities = Object.keys(MEANINGS);
    view.show(
      {
        ...whole,
        byActivity: activities.map(activity => ({
          activity,
          value: 5,
          share: null
        })),
        idle: IDLE_CAUSES.map(cause => ({ cause, seconds: 5 })),
        capacitySeconds: 500,
        wholeSeconds: 500,
        runningSeconds: 5
      },
      { isLocal }
    );
    const items = ['By activity', 'Idle, by cause', 'Legend'].flatMap(
      name => [...list(name).children] as HTMLElement[]
    );
    const ids = new Set(Object.values(MEANINGS).map(({ id }) => id));
    expect(items).toHaveLength(2 * (ids.size + IDLE_CAUSES.length) + 2);
    for (const { title, textContent } of items) {
      expect([textContent, title]).toEqual([
        textContent,
        expect.stringMatching(/^[^]+\.$/)
      ]);
      expect(isLocal && title.includes('worker')).toBe(false);
    }
  });

  it('says the bar in words', () => {
    view.show(whole);
    const bar = view.host.querySelector('[role=img]') as HTMLElement;
    expect(bar.getAttribute('aria-label')).toBe('Where the thread time went');
    expect(bar.getAttribute('aria-description')).toMatch(/^CPU 2\smin/);
  });
});
