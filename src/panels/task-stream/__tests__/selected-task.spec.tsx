/** The drawer of a task in a panel that has no room for all of it. */
import { Clipboard } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../../charts/shown-element';
import { ClusterRef } from '../../../feed/cluster-ref';
import { clusterInfo, FakeFeed } from '../../../feed/__tests__/fake-feed';
import { SelectionModel } from '../../../feed/selection';
import { PartKind, RunStatus } from '../../../records/enumerations';
import { runDetail } from '../../../observer/folds/run-detail';
import { drawRuns } from '../../../testing/run-from-text';
import type { RunDetail } from '../../../wire/panel-link';
import type { PanelContext } from '../../panel-context';
import { SelectedTask } from '../selected-task';

let done: (() => Promise<void>) | undefined;

afterEach(() => done?.());

/** The drawer of a run, below lanes. */
async function shown(
  run: RunDetail,
  slots: ReadonlyMap<string, { slot: number; round: number }> = new Map(),
  /** Selected before there was a chart. */
  before?: (selection: SelectionModel) => void,
  detail: RunDetail | null = run
): Promise<{ page: HTMLElement; feed: FakeFeed; selection: SelectionModel }> {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  const feed = new FakeFeed();
  feed.setClusters(clusterInfo());
  Object.assign(feed, { detail: () => Promise.resolve(detail) });
  const selection = new SelectionModel();
  selection.select({ kind: 'run', run: run.run });
  before?.(selection);
  const context = {
    feed,
    cluster: new ClusterRef({ feed, target: {}, notebookOf: () => undefined }),
    selection,
    translator: nullTranslator
  } as unknown as PanelContext;
  const page = document.createElement('div');
  document.body.append(page);
  const root = createRoot(page);
  done = async () => {
    await act(async () => root.unmount());
    page.remove();
  };
  await act(async () =>
    root.render(
      <div className="sw-TaskStream">
        <div className="sw-TaskStream-lanes" tabIndex={0} />
        <SelectedTask
          context={context}
          slots={slots}
          trans={nullTranslator.load('spanwise')}
          onShow={() => undefined}
        />
      </div>
    )
  );
  return { page, feed, selection };
}

it('has its buttons beside what scrolls, which can be reached by keyboard', async () => {
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const { page } = await shown(run);
  const body = page.querySelector<HTMLElement>('.sw-drawer-body')!;
  expect(body.tabIndex).toBe(0);
  const names = (root: Element) =>
    [...root.querySelectorAll('button')].map(
      button => button.getAttribute('aria-label') ?? button.textContent
    );
  expect(names(page)).toEqual([
    'Copy key',
    'Close',
    'Zoom to this task',
    `Filter by ${run.function}`
  ]);
  expect(names(body)).toEqual([]);
});

it('copies the key also where pages have no clipboard', async () => {
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const { page } = await shown(run);
  // (JupyterLab's way needs none)
  expect('clipboard' in navigator).toBe(false);
  const copy = jest.spyOn(Clipboard, 'copyToSystem').mockReturnValue();
  page.querySelector<HTMLElement>('[aria-label="Copy key"]')!.click();
  expect(copy.mock.calls).toEqual([[run.key]]);
  copy.mockRestore();
});

it('paints computing in the colours of its functions, bar and legend alike', async () => {
  const compute = { kind: PartKind.Compute, duration: 2 };
  const log = drawRuns('0/0 aaaaaaaa', {
    tasks: {
      a: {
        function: 'chunk_sum',
        parts: [
          { kind: PartKind.Transfer, offset: 0, duration: 2 },
          { ...compute, offset: 2, function: 'transpose' },
          { ...compute, offset: 4, function: 'matmul' },
          { ...compute, offset: 6, function: 'chunk_sum' }
        ]
      }
    }
  });
  const slots = new Map([
    ['transpose', { slot: 3, round: 0 }],
    ['matmul', { slot: 1, round: 1 }]
  ]);
  const { page } = await shown(runDetail(log, 0)!, slots);
  const fills = (of: string) =>
    [...page.querySelectorAll<HTMLElement>(of)].map(each =>
      each.style.getPropertyValue('--sw-fill')
    );
  const expected = [
    'var(--sw-kind-transfer)',
    'var(--sw-fn-4)',
    'var(--sw-fn-2)',
    // Without a colour of its own, as in the lanes.
    'var(--sw-fn-other)'
  ];
  expect(fills('.sw-bar-part')).toEqual(expected);
  expect(fills('.sw-swatch')).toEqual(expected);
  // The second dozen of functions has a line along the top, and so have the others, which are as grey as (de)serialising.
  const lined = [...page.querySelectorAll<HTMLElement>('.sw-toplines-1')];
  expect(
    lined.map(each => each.style.getPropertyValue('--sw-fill')).sort()
  ).toEqual([
    'var(--sw-fn-2)',
    'var(--sw-fn-2)',
    'var(--sw-fn-other)',
    'var(--sw-fn-other)'
  ]);
  // A task that is all computing, too.
  await done!();
  const { page: whole } = await shown(
    runDetail(drawRuns('0/0 aa', { tasks: { a: { function: 'score' } } }), 0)!,
    new Map([['score', { slot: 6, round: 0 }]])
  );
  expect(
    whole
      .querySelector<HTMLElement>('.sw-bar-part')!
      .style.getPropertyValue('--sw-fill')
  ).toBe('var(--sw-fn-7)');
});

it('filters by the part of a fused task that was clicked, or by any other of its parts', async () => {
  const compute = { kind: PartKind.Compute };
  const log = drawRuns('0/0 aaaaaaaa', {
    tasks: {
      a: {
        function: 'getitem-overlap',
        parts: [
          { ...compute, offset: 0, duration: 1, function: 'overlap' },
          { ...compute, offset: 1, duration: 7, function: 'smooth' }
        ]
      }
    }
  });
  const run = runDetail(log, 0)!;
  const { page, selection } = await shown(run);
  const button = () =>
    page.querySelector<HTMLElement>('.sw-drawer-actions button:last-child')!;
  expect(page.querySelector('.sw-drawer-title')!.textContent).toMatch(
    /^smooth with overlap /
  );
  expect(button().textContent).toBe('Filter by smooth');
  const click = (name?: string) =>
    act(async () =>
      selection.select({ kind: 'run', run: run.run, function: name })
    );
  await click('overlap');
  expect(button().textContent).toBe('Filter by overlap');
  await act(async () => button().click());
  expect(selection.filter.functions).toEqual(['overlap']);
  await click();
  expect(button().textContent).toBe('Filter by smooth');
  const parts = [
    ...page.querySelectorAll<HTMLElement>('.sw-legend-item button')
  ];
  expect(parts.map(part => [part.textContent, part.title])).toEqual([
    ['smooth', 'Filter by smooth'],
    ['overlap', 'Filter by overlap']
  ]);
  await act(async () => parts[0]!.click());
  expect(selection.filter.functions).toEqual(['overlap', 'smooth']);
});

it('says how its worker ended, and has the look of a lost box', async () => {
  const run = runDetail(
    drawRuns('0/0 aaaa', { tasks: { a: { status: RunStatus.Lost } } }),
    0
  )!;
  const { page } = await shown({
    ...run,
    lost: {
      worker: 0,
      name: 'worker-0',
      t: 4,
      why: 'was ended by SIGKILL',
      process: null,
      memoryLimit: 0
    }
  });
  const [first] = page.querySelectorAll('.sw-drawer-where');
  expect(first!.textContent!.replaceAll('\u00a0', ' ')).toBe(
    'worker 0 was lost at 4.00 s. What is told of its end: “was ended by SIGKILL”.'
  );
  for (const of of ['.sw-bar-part', '.sw-legend-item .sw-swatch']) {
    expect([...page.querySelector(of)!.classList]).toContain('sw-failed');
  }
});

it('tells what the task measured itself', async () => {
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const text = async (measured?: RunDetail['measured']) => {
    const { page } = await shown({ ...run, measured });
    const all = page.querySelector('.sw-drawer-body')!.textContent!;
    await done!();
    return all.replaceAll('\u00a0', ' ');
  };
  expect(
    await text([
      { label: 'decode', unit: 'seconds', value: 1.2 },
      { label: 'read', unit: 'bytes', value: 2 ** 20 },
      { label: 'pages', unit: 'count', value: 3 },
      { label: 'rows', unit: 'rows', value: 1000 },
      { label: 'oven', unit: 'degrees', value: 180 }
    ])
  ).toContain(
    'it measured: decode 1.20 s, read 1.00 MiB, pages 3, rows 1,000, oven 180 degrees'
  );
  expect(await text()).not.toContain('measured');
});

it('says when it was cancelled, and how long it ran on', async () => {
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const line = async (over: Partial<RunDetail>) => {
    const { page } = await shown({ ...run, start: 2, duration: 3, ...over });
    const all = [...page.querySelectorAll('.sw-drawer-where')].map(
      ({ textContent }) => textContent!.replaceAll('\u00a0', ' ')
    );
    await done!();
    return all.filter(each => each.startsWith('cancelled: '));
  };
  const status = 'cancelled' as const;
  expect(await line({ status, cancelled: 3 })).toEqual([
    'cancelled: 3.000 s, and it ran on for 2.00 s'
  ]);
  expect(await line({ status })).toEqual([
    'cancelled: at a time that is not known'
  ]);
  expect(await line({})).toEqual([]);
});

it('says how long it waited for other tasks, which Spanwise measured, before its own figures', async () => {
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const decode = { label: 'decode', unit: 'seconds', value: 1.2 };
  const others = { label: 'other-tasks', unit: 'seconds', value: 0.915 };
  const lines = async (measured: RunDetail['measured']) => {
    const { page } = await shown({ ...run, measured });
    const all = [...page.querySelectorAll('.sw-drawer-where')].map(
      ({ textContent }) => textContent!.replaceAll('\u00a0', ' ')
    );
    await done!();
    return all.filter(line => /^(?:duration|it measured)/u.test(line));
  };
  const [duration, measured] = await lines([decode, others]);
  expect(duration).toMatch(/^duration [^·]+ · waited for other tasks 915 ms/);
  expect(measured).toBe('it measured: decode 1.20 s');
  expect((await lines([others])).join()).not.toContain('it measured');
});

it('says first how long the task took and what for, the longest first, and where and when it ran below', async () => {
  const log = drawRuns('0/0 aaaaaaaa', {
    tasks: {
      a: {
        function: 'fit',
        parts: [
          { kind: PartKind.Deserialize, offset: 0, duration: 0.5 },
          { kind: PartKind.Transfer, offset: 0.5, duration: 2.5 },
          { kind: PartKind.Compute, offset: 3, duration: 5 }
        ]
      }
    }
  });
  const run = runDetail(log, 0)!;
  const behind = { ...run.parts[1]!, duration: 7, held: false };
  const { page } = await shown({ ...run, parts: [...run.parts, behind] });
  const words = (of: Iterable<Element>) =>
    [...of].map(each => each.textContent!.replaceAll('\u00a0', ' '));
  const lines = words(page.querySelector('.sw-drawer-body')!.children);
  expect(lines.map(line => line.split(' ')[0])).toEqual([
    'fit',
    'duration',
    'fit5.00',
    '',
    'started',
    'default',
    'waited:'
  ]);
  expect(
    words(page.querySelectorAll('.sw-drawer-body .sw-legend-item'))
  ).toEqual([
    'fit5.00 s',
    'transfer2.50 s',
    'deserialise500 ms',
    'transfer (in the background)7.00 s'
  ]);
  // The bar is in the order of time.
  const bar = [...page.querySelectorAll<HTMLElement>('.sw-bar-part')];
  expect(bar.map(part => part.title.split(' ')[0])).toEqual([
    'deserialise',
    'transfer',
    'fit'
  ]);
});

describe('a task that failed', () => {
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const shownWith = async (error: string) => {
    const { page } = await shown({ ...run, status: 'failed', error });
    return [...page.querySelector('.sw-drawer-body')!.children];
  };
  const message = 'ValueError: Input X contains NaN.';

  it('has its error below its name, before all else', async () => {
    const traceback = `Traceback (most recent call last):
  File "model.py", line 41, in fit_fold
    return model.fit(X)
${message}
`;
    const parts = await shownWith(traceback);
    expect(parts[0]!.textContent).toContain(run.key);
    expect(parts[1]!.textContent).toBe(
      `${message}\nmodel.py:41, in fit_fold\n  return model.fit(X)`
    );
    expect(parts[2]!.textContent).toMatch(/^failed, attempt \d · duration /u);
    expect(parts.at(-1)!.textContent).toBe(traceback);
  });

  it('says it once where there is no traceback', async () => {
    const parts = await shownWith(message);
    expect(parts[1]!.textContent).toBe(message);
    expect(
      parts.filter(part => part.textContent!.includes(message))
    ).toHaveLength(1);
  });
});

describe('the focus', () => {
  const run = runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!;
  const button = (page: HTMLElement, name: string) =>
    page.querySelector<HTMLElement>(`[aria-label="${name}"]`)!;
  const press = (key: string) =>
    act(async () => {
      document.activeElement!.dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true })
      );
    });

  it('goes to the lanes when *Close* is pressed, which itself need not have had it', async () => {
    const { page } = await shown(run);
    // (as in Safari, where a click gives a button no focus)
    expect(document.activeElement).toBe(document.body);
    await act(async () => button(page, 'Close').click());
    expect(page.querySelector('.sw-drawer')).toBeNull();
    expect(document.activeElement!.className).toBe('sw-TaskStream-lanes');
  });

  it('goes there by Escape from anywhere in the drawer', async () => {
    for (const place of ['.sw-drawer-body', '[aria-label="Copy key"]']) {
      const { page, selection } = await shown(run);
      page.querySelector<HTMLElement>(place)!.focus();
      await press('Enter');
      expect(selection.selectedRun).toBe(run.run);
      await press('Escape');
      expect(selection.selectedRun).toBeNull();
      expect(document.activeElement!.className).toBe('sw-TaskStream-lanes');
      await done!();
    }
  });

  it('stays in the drawer when the next task has no key to copy', async () => {
    const { page, feed, selection } = await shown(run);
    button(page, 'Copy key').focus();
    Object.assign(feed, { detail: () => Promise.resolve(null) });
    await act(async () => selection.select({ kind: 'run', run: 1 }));
    expect(button(page, 'Copy key')).toBeNull();
    expect(document.activeElement).toBe(button(page, 'Close'));
  });

  it('is taken from nothing else', async () => {
    const { selection } = await shown(run);
    const elsewhere = document.body.appendChild(
      document.createElement('button')
    );
    elsewhere.focus();
    await act(async () => selection.select(null));
    expect(document.activeElement).toBe(elsewhere);
    elsewhere.remove();
  });
});

describe('a task that was selected before the panel came back to its cluster', () => {
  const log = drawRuns('0/0 aaaa.bbbb', {
    tasks: { a: { function: 'load' }, b: { function: 'check' } }
  });
  const run = runDetail(log, 0)!;
  const back = (name: string) =>
    shown(run, undefined, selection => selection.toggleFunction(name));
  const drawer = (page: HTMLElement) => page.querySelector('.sw-drawer');
  const tellRows = (feed: FakeFeed, rows: RunDetail[]) =>
    act(async () => {
      const watch = feed.running[0]!;
      expect(watch.spec).toMatchObject({
        view: 'tasks',
        params: { search: run.key }
      });
      watch.answer({ view: 'tasks', rows, total: rows.length });
    });

  it('is shown again at once without a filter', async () => {
    const { page, feed } = await shown(run);
    expect(drawer(page)).not.toBeNull();
    expect(feed.watches).toEqual([]);
  });

  it('is shown again under a filter that it passes', async () => {
    const { page, feed, selection } = await back('load');
    expect(drawer(page)).toBeNull();
    await tellRows(feed, [run]);
    expect(drawer(page)!.textContent).toContain(run.key);
    expect(selection.selectedRun).toBe(run.run);
  });

  it('is hidden under one that leaves it out, and selected still', async () => {
    const { page, feed, selection } = await back('check');
    await tellRows(feed, []);
    expect(drawer(page)).toBeNull();
    // Other panels may show it.
    expect(selection.selectedRun).toBe(run.run);
    await act(async () => selection.clear());
    expect(drawer(page)!.textContent).toContain(run.key);
  });

  it('is hidden again where Ctrl Z goes back to the filter that left it out', async () => {
    const { page, feed, selection } = await back('check');
    await tellRows(feed, []);
    await act(async () => selection.clear());
    expect(drawer(page)).not.toBeNull();
    await act(async () => selection.undo());
    expect(drawer(page)).toBeNull();
    // A filter that comes when it is shown leaves it there.
    await act(async () => selection.clear());
    await act(async () => selection.toggleFunction('sort'));
    expect(drawer(page)).not.toBeNull();
  });

  it('is asked for once for each filter that may hide it', async () => {
    const { page, feed, selection } = await back('check');
    const asked = jest.spyOn(feed, 'watch');
    await tellRows(feed, []);
    for (let i = 0; i < 3; i++) {
      await act(async () => selection.toggleFunction('sort'));
      if (i === 0) {
        await tellRows(feed, []);
      }
      expect(drawer(page)).toBeNull();
      await act(async () => selection.toggleFunction('sort'));
      expect(drawer(page)).toBeNull();
    }
    expect(asked).toHaveBeenCalledTimes(1);
    // An answer that comes late is of no other filter.
    await act(async () => selection.toggleFunction('load'));
    await act(async () => selection.toggleFunction('sort'));
    for (const rows of [[], [run]]) {
      await act(async () => {
        const [watch] = feed.running;
        watch?.answer({ view: 'tasks', rows, total: rows.length });
      });
    }
    expect(drawer(page)).not.toBeNull();
  });

  it('is shown at once, asking nobody, under the filter under which it was selected', async () => {
    const { page, feed } = await shown(run, undefined, selection => {
      selection.select(null);
      selection.toggleFunction('load');
      selection.select({ kind: 'run', run: run.run });
    });
    expect(drawer(page)!.textContent).toContain(run.key);
    expect(feed.watches).toEqual([]);
  });

  it('is asked for again where it comes from another log', async () => {
    const { page, feed } = await shown(run, undefined, selection => {
      const { state } = selection;
      selection.select(null);
      selection.enterLog({ ...state, filter: { functions: ['check'] } });
    });
    expect(drawer(page)).toBeNull();
    await tellRows(feed, [run]);
    expect(drawer(page)).not.toBeNull();
  });

  it('is shown with the reason if nothing is known of it any more', async () => {
    const { page, feed } = await shown(
      run,
      undefined,
      selection => selection.toggleFunction('check'),
      null
    );
    expect(drawer(page)!.textContent).toContain('only as part of the totals');
    expect(feed.watches).toEqual([]);
  });

  it('does not wait if it is another that is clicked on', async () => {
    const { page, feed, selection } = await back('check');
    const other = runDetail(log, 1)!;
    Object.assign(feed, { detail: () => Promise.resolve(other) });
    await act(async () => selection.select({ kind: 'run', run: other.run }));
    expect(drawer(page)!.textContent).toContain(other.key);
    await tellRows(feed, []);
    expect(selection.selectedRun).toBe(other.run);
    expect(drawer(page)).not.toBeNull();
  });

  it('is shown if nobody answers whether it passes', async () => {
    const { page, feed } = await back('check');
    await act(async () => feed.running[0]!.fail('The observer is gone.'));
    expect(drawer(page)).not.toBeNull();
  });
});
