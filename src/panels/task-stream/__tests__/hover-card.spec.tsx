/** The card of a task in a low panel, where it lay over the task that it is about. */
import { nullTranslator } from '@jupyterlab/translation';
import { act } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { createElement } from '../../../charts/shown-element';
import { runDetail } from '../../../observer/folds/run-detail';
import { drawRuns } from '../../../testing/run-from-text';
import type { RunDetail } from '../../../wire/panel-link';
import { SelectionModel } from '../../../feed/selection';
import { HoverCard } from '../hover-card';
import { layOutLanes } from '../lane-layout';
import type { LanesDrawing } from '../lanes-drawing';
import { TaskStreamModel } from '../model';
import { LanePointer } from '../pointer';

const CARD = { width: 340, height: 236 };
/** The lanes of a panel of 450 × 300 pixels in a window of 1024 × 768. */
const LANES = { left: 612, top: 180, right: 1020, bottom: 312 };
const LANE_HEIGHT = 22;
const lane = (laneIndex: number, worker: number) => ({
  laneIndex,
  worker,
  thread: laneIndex % 2
});
const layout = {
  ...layOutLanes(
    {
      lanes: [lane(0, 0), lane(1, 0), lane(2, 1), lane(3, 1)] as never,
      workers: [0, 1]
    },
    new Set(),
    36 + 4 * LANE_HEIGHT
  )
};

let page: HTMLElement;
let root: Root;
let lanes: HTMLElement;
let model: TaskStreamModel;
let pointer: LanePointer;
let detail: RunDetail | null;
/** What the box has as a mark of several runs. */
let mark: object;
let drawerTitle: { top: number; bottom: number };

beforeEach(() => {
  jest.useFakeTimers();
  Object.assign(globalThis, {
    IS_REACT_ACT_ENVIRONMENT: true,
    ResizeObserver: class {
      observe(): void {}
      disconnect(): void {}
    }
  });
  page = document.body.appendChild(document.createElement('div'));
  page.innerHTML =
    '<div class="sw-TaskStream"><div class="lanes"></div><div class="cards"></div></div>';
  lanes = page.querySelector('.lanes')!;
  jest
    .spyOn(Element.prototype, 'getBoundingClientRect')
    .mockImplementation(function (this: Element) {
      return (
        this === lanes
          ? LANES
          : this.matches('.sw-drawer-title')
            ? drawerTitle
            : { left: 0, top: 0, right: 0, bottom: 0 }
      ) as DOMRect;
    });
  for (const name of ['Width', 'Height'] as const) {
    const size = name === 'Width' ? CARD.width : CARD.height;
    jest
      .spyOn(HTMLElement.prototype, `offset${name}`, 'get')
      .mockReturnValue(size);
  }
  model = new TaskStreamModel({}, () => 0);
  detail = null;
  mark = {};
  pointer = new LanePointer(
    model,
    new SelectionModel(),
    () => Promise.resolve(detail),
    () => Promise.resolve(null)
  );
  pointer.attach(
    {
      width: 320,
      gutter: 88,
      layout,
      hit: () => ({
        ...mark,
        run: 7,
        function: 'matmul',
        kind: 'compute',
        inStrip: false,
        tasks: 1,
        from: 2,
        to: 4,
        worker: 'worker 0',
        thread: 0,
        running: false
      }),
      painted: { connect: () => true, disconnect: () => true }
    } as unknown as LanesDrawing,
    lanes
  );
  root = createRoot(page.querySelector('.cards')!);
  act(() =>
    root.render(
      <HoverCard
        pointer={pointer}
        groups={new Map()}
        trans={nullTranslator.load('spanwise')}
      />
    )
  );
});
afterEach(() => {
  act(() => root.unmount());
  pointer.detach();
  model.dispose();
  page.remove();
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** The card's box once the pointer rests there. */
async function cardAt(clientX: number, clientY: number) {
  await act(async () => {
    lanes.dispatchEvent(
      new MouseEvent('pointermove', { clientX, clientY, bubbles: true })
    );
    await jest.advanceTimersByTimeAsync(100);
  });
  const card = page.querySelector<HTMLElement>('[role=tooltip]')!;
  const left = parseFloat(card.style.left);
  const top = parseFloat(card.style.top);
  return {
    left,
    top,
    right: left + CARD.width,
    bottom: top + CARD.height
  };
}

const rows = layout.workers.flatMap(worker => worker.lanes);

it('is in the window and leaves the whole lane in sight, wherever the pointer is', async () => {
  expect(layout.laneHeight).toBe(LANE_HEIGHT);
  for (const { top } of rows) {
    for (const x of [705, 800, 1000]) {
      for (const within of [1, LANE_HEIGHT - 1]) {
        const card = await cardAt(x, LANES.top + top + within);
        expect(card.left).toBeGreaterThanOrEqual(0);
        expect(card.top).toBeGreaterThanOrEqual(0);
        expect(card.right).toBeLessThanOrEqual(window.innerWidth);
        expect(card.bottom).toBeLessThanOrEqual(window.innerHeight);
        const upper = LANES.top + top;
        expect(card.bottom <= upper || card.top >= upper + LANE_HEIGHT).toBe(
          true
        );
      }
    }
  }
});

it('names the functions of the failed runs of a mark', async () => {
  mark = { isMark: true, functions: ['load', 'fit'] };
  await cardAt(800, LANES.top + rows[0]!.top + 5);
  const labels = [...page.querySelectorAll('[role=tooltip] dt')].map(
    each => `${each.textContent}: ${each.nextSibling!.textContent}`
  );
  expect(labels[0]).toBe('functions: load, fit');
});

it('leaves the title of an open drawer in sight', async () => {
  page
    .querySelector('.sw-TaskStream')!
    .insertAdjacentHTML('beforeend', '<div class="sw-drawer-title"></div>');
  for (drawerTitle of [
    { top: 320, bottom: 350 },
    { top: 620, bottom: 650 }
  ]) {
    for (const { top } of rows) {
      const card = await cardAt(800, LANES.top + top + 5);
      expect(
        card.bottom <= drawerTitle.top || card.top >= drawerTitle.bottom
      ).toBe(true);
      const upper = LANES.top + top;
      expect(card.bottom <= upper || card.top >= upper + LANE_HEIGHT).toBe(
        true
      );
    }
  }
});

it('goes when the lanes scroll under the pointer', async () => {
  await cardAt(800, LANES.top + 30);
  lanes.scrollTop = 15;
  act(() => {
    lanes.dispatchEvent(new Event('scroll'));
  });
  expect(page.querySelector('[role=tooltip]')).toBeNull();
});

it('says of a task that was lost how its worker ended', async () => {
  detail = {
    ...runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!,
    run: 7,
    status: 'lost',
    lost: {
      worker: 1,
      name: 'worker-1',
      t: 3,
      why: 'ended because it used more memory than its limit',
      process: 648 * 2 ** 20,
      memoryLimit: 668 * 2 ** 20
    }
  };
  await cardAt(800, LANES.top + 30);
  expect(
    page
      .querySelector('.sw-card-rows dd:last-child')!
      .textContent!.replaceAll('\u00a0', ' ')
  ).toBe(
    'worker 1 was lost at 3.00 s. What is told of its end: “ended because it used more memory than its limit”. Its process last had 648 MiB, 97 % of its limit of 668 MiB.'
  );
});

it('says of a task that failed what went wrong and where, and leaves the traceback to the drawer', async () => {
  const frames = Array.from(
    { length: 5 },
    (_, i) =>
      `  File "/env/lib/python3.11/site-packages/dask/dataframe/core.py", line ${i}, in apply_and_enforce
    df = func(*args, **kwargs)
`
  ).join('');
  detail = {
    ...runDetail(drawRuns('0/0 aaaa', { tasks: { a: {} } }), 0)!,
    run: 7,
    status: 'failed',
    error: `Traceback (most recent call last):
${frames}  File "orders.py", line 15, in check
    raise ValueError("amount out of range")
ValueError: amount out of range
`
  };
  await cardAt(800, LANES.top + 30);
  const error = page.querySelector('.sw-card-error')!;
  expect(error.textContent).toBe(
    'ValueError: amount out of range\norders.py:15, in check\n  raise ValueError("amount out of range")'
  );
});
