import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import { drawnTile } from '../../../testing/drawn-lanes';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { layOutLanes } from '../lane-layout';
import type { LanesDrawing } from '../lanes-drawing';
import { TaskStreamModel } from '../model';
import { type Hovered, LanePointer, type Said } from '../pointer';
import type { HoveredBox } from '../rows';
import type { NeighbourQuestion } from '../task-query';
import { boxOf } from '../box-search';
import type { TileData } from '../../../feed/feed-types';
import type { RunDetail } from '../../../wire/panel-link';
import { secondsAt } from '../viewport';

/** Level 20 has cells of 1.05 s: lane 0 has a from 0 to 3.1 s and b from 5.2 to 10.5 s, lane 1 has c. */
const tile = drawnTile(['aaa..bbbbb', '....cc'], { level: 20, index: 0 });
const box: HoveredBox = {
  run: 7,
  function: 'fit_fold',
  kind: 'compute',
  inStrip: false,
  tasks: 1,
  from: 2,
  to: 4,
  worker: 'worker 0',
  thread: 0,
  running: false
};

let element: HTMLElement;
let drawing: LanesDrawing;
let model: TaskStreamModel;
let selection: SelectionModel;
let pointer: LanePointer;
let under: HoveredBox | null;
let asked: number[];
let questions: NeighbourQuestion[];
/** What the observer has, as a tile. */
let known: TileData;
let brought: number[];
/** When the observer answers. */
let answers: Promise<void>;
/** The answers of promises that are settled are here. */
const settle = async () => {
  for (let turn = 0; turn < 20; turn += 1) {
    await Promise.resolve();
  }
};
/** As the observer does. */
const neighbour = async (
  question: NeighbourQuestion
): Promise<RunDetail | null> => {
  questions.push(question);
  await answers;
  const { direction, lanes, nextTo, from } = question;
  const all = [...known.run.keys()].map(row => ({
    ...boxOf(known, row),
    run: known.run[row]!,
    laneIndex: known.laneIndex[row]!
  }));
  const own = all.find(({ run }) => run === nextTo);
  const wanted = lanes ?? [own!.laneIndex as number];
  const start = own?.from ?? from!;
  const [found] = all
    .filter(
      each =>
        wanted.includes(each.laneIndex) &&
        each.run !== nextTo &&
        (each.from - start) * direction >= 0
    )
    .sort((a, b) => (a.from - b.from) * direction);
  return found === undefined
    ? null
    : ({
        run: found.run,
        laneIndex: found.laneIndex,
        start: found.from,
        duration: found.to - found.from
      } as RunDetail);
};

const at = (x: number, y = 30) => ({
  clientX: 112 + x,
  clientY: y,
  bubbles: true,
  cancelable: true
});
function fire(type: string, init: object = {}) {
  // jsdom has no PointerEvent; what the handlers read of one is a mouse event's.
  const event = new MouseEvent(type, init);
  Object.assign(event, { pointerId: 1 });
  element.dispatchEvent(event);
  return event;
}
const press = (key: string, init = {}) =>
  element.dispatchEvent(
    new KeyboardEvent('keydown', {
      key,
      bubbles: true,
      cancelable: true,
      ...init
    })
  );

beforeEach(() => {
  jest.useFakeTimers();
  element = document.body.appendChild(document.createElement('div'));
  element.setPointerCapture = () => {};
  model = new TaskStreamModel({}, () => 0);
  const result = ask(drawnStore(firstLook()), 'task-stream', { ended: true });
  model.setResult(result);
  model.tilesHere = () => [tile];
  selection = new SelectionModel();
  under = box;
  asked = [];
  questions = [];
  brought = [];
  known = tile;
  answers = Promise.resolve();
  pointer = new LanePointer(
    model,
    selection,
    run => {
      asked.push(run);
      return Promise.resolve(null);
    },
    neighbour
  );
  drawing = {
    width: 1000,
    gutter: 112,
    layout: layOutLanes(
      { lanes: result.lanes, workers: [0, 1, 2, 3] },
      new Set(),
      400
    ),
    tiles: { level: 20, first: 0, count: 1 },
    secondsAtX: (x: number) => secondsAt(model.view, 1000, x),
    hit: () => under,
    bringLane: (lane: number) => brought.push(lane)
  } as unknown as LanesDrawing;
  pointer.attach(drawing, element);
});
afterEach(() => {
  pointer.detach();
  model.dispose();
  selection.dispose();
  element.remove();
  jest.useRealTimers();
});

describe('the pointer over the lanes', () => {
  it('selects by a click, and nothing by a click beside', () => {
    fire('pointerdown', at(100));
    fire('pointerup', at(101));
    expect(selection.selectedRun).toBe(7);
    expect(model.isFollowing).toBe(true);
    under = null;
    fire('pointerdown', at(300));
    fire('pointerup', at(300));
    expect(selection.selected).toBeNull();
  });

  // (Upstream asks for the profile of the name that is shown there, which is no function's: Q-02.)
  it.each(['compute', 'transfer', 'disk-read', 'disk-write', 'serialize'])(
    'q02: selects the run of a part by a click on it: %s',
    kind => {
      under = { ...box, kind: kind as HoveredBox['kind'] };
      fire('pointerdown', at(100));
      fire('pointerup', at(100));
      expect(selection.selectedRun).toBe(7);
    }
  );

  it.each([
    [{ tasks: 0 }, 'smooth'],
    [{ tasks: 1, isExecution: true }, 'smooth'],
    // The run itself, and data for it.
    [{ tasks: 1 }, undefined],
    [{ tasks: 0, kind: 'transfer' as const }, undefined]
  ])('keeps of which part of a fused task a click was: %j', (over, name) => {
    under = { ...box, function: 'smooth', ...over };
    fire('pointerdown', at(100));
    fire('pointerup', at(100));
    expect(selection.selected).toEqual({
      kind: 'run',
      run: 7,
      ...(name !== undefined && { function: name })
    });
  });

  it('leaves nothing out by Alt-click on what is of no one function', () => {
    under = { ...box, function: '', run: null, tasks: 12, kind: 'failed' };
    fire('pointerdown', { ...at(100), altKey: true });
    fire('pointerup', { ...at(100), altKey: true });
    expect(selection.filter).toEqual({});
  });

  it('leaves the function out by Alt-click', () => {
    fire('pointerdown', at(100));
    fire('pointerup', { ...at(100), altKey: true });
    expect(selection.filter.notFunctions).toEqual(['fit_fold']);
  });

  it('pans by a drag, pixel by pixel, and selects nothing', () => {
    model.setView({ from: 5, to: 15 });
    fire('pointerdown', at(500));
    fire('pointermove', at(400));
    expect(model.view.from).toBeCloseTo(6, 9);
    expect(model.view.to).toBeCloseTo(16, 9);
    fire('pointermove', at(600));
    expect(model.view.from).toBeCloseTo(4, 9);
    fire('pointerup', at(600));
    expect(selection.selected).toBeNull();
    fire('pointermove', at(900));
    expect(model.view.from).toBeCloseTo(4, 9);
  });

  it('chooses a range by Shift-drag, in either direction, within the run', () => {
    model.setView({ from: 5, to: 15 });
    const view = { ...model.view };
    fire('pointerdown', { ...at(500), shiftKey: true });
    fire('pointermove', at(200));
    expect(model.brush?.from).toBeCloseTo(7, 9);
    expect(model.brush?.to).toBeCloseTo(10, 9);
    expect(selection.time).toBe('all');
    fire('pointerup', at(200));
    expect(model.brush).toBeNull();
    expect(selection.time).toEqual({
      from: expect.closeTo(7, 9),
      to: expect.closeTo(10, 9)
    });
    expect(model.view).toEqual(view);

    model.setView({ from: -5, to: 5 });
    fire('pointerdown', { ...at(600), shiftKey: true });
    fire('pointermove', at(10));
    fire('pointerup', at(10));
    expect(selection.time).toMatchObject({ from: model.extent.from });
  });

  it('gives a range up by Escape', () => {
    fire('pointerdown', { ...at(500), shiftKey: true });
    fire('pointermove', at(200));
    press('Escape');
    fire('pointerup', at(200));
    expect(model.brush).toBeNull();
    expect(selection.time).toBe('all');
  });

  it('zooms at the pointer by Ctrl-wheel and leaves the plain wheel to the scroller', () => {
    model.setView({ from: 5, to: 15 });
    const wheel = (init: object) => {
      const event = new WheelEvent('wheel', { ...at(250), ...init });
      element.dispatchEvent(event);
      return event;
    };
    expect(wheel({ deltaY: -120, ctrlKey: true }).defaultPrevented).toBe(true);
    expect(model.view.to - model.view.from).toBeLessThan(10);
    expect(secondsAt(model.view, 1000, 250)).toBeCloseTo(7.5, 6);
    const { view } = model;
    expect(wheel({ deltaY: 50 }).defaultPrevented).toBe(false);
    expect(model.view).toEqual(view);
    wheel({ deltaY: 100, shiftKey: true });
    expect(model.view.from).toBeGreaterThan(view.from);
  });

  it('shows a card after 80 ms and asks for the run once', () => {
    const cards: (Hovered | null)[] = [];
    pointer.hoveredChanged.connect((_, hovered) => cards.push(hovered));
    fire('pointermove', at(100));
    jest.advanceTimersByTime(60);
    expect(cards).toEqual([]);
    jest.advanceTimersByTime(40);
    expect(cards.at(-1)?.box.run).toBe(7);
    expect(asked).toEqual([7]);
    fire('pointerleave');
    expect(cards.at(-1)).toBeNull();
  });

  it('shows no card over what a click, a key or a drag has brought until it moves', () => {
    const shown: (Hovered | null)[] = [];
    pointer.hoveredChanged.connect((_, hovered) => shown.push(hovered));
    const rests = () => {
      fire('pointermove', at(100));
      jest.advanceTimersByTime(200);
      return shown.at(-1) ?? null;
    };
    expect(rests()).toMatchObject({ box });
    fire('pointerdown', at(100));
    fire('pointerup', at(100));
    expect(rests()).toBeNull();
    fire('pointermove', at(101));
    jest.advanceTimersByTime(200);
    expect(shown.at(-1)).toMatchObject({ box });
    // The next task, whose card is not under the pointer.
    press('.');
    expect(shown.at(-1)).toBeNull();
    fire('pointermove', at(101));
    jest.advanceTimersByTime(200);
    expect(shown.at(-1)).toBeNull();
    // A press that comes before the card of where it began.
    fire('pointermove', at(200));
    fire('pointerdown', { ...at(200), shiftKey: true });
    fire('pointermove', { ...at(400), shiftKey: true });
    jest.advanceTimersByTime(200);
    expect(shown.at(-1)).toBeNull();
    fire('pointerup', { ...at(400), shiftKey: true });
    fire('pointerleave');
    fire('pointermove', at(400));
    jest.advanceTimersByTime(200);
    expect(shown.at(-1)).toMatchObject({ box });
  });

  const click = () => {
    fire('pointerdown', at(100));
    fire('pointerup', at(100));
  };
  const clickTwice = () => {
    click();
    click();
    fire('dblclick', at(100));
  };

  it('zooms to a task by a double click', () => {
    clickTwice();
    expect(model.view.from).toBeLessThan(2);
    expect(model.view.to).toBeGreaterThan(4);
    expect(model.view.to - model.view.from).toBeLessThan(10);
  });

  it('means by both clicks of two what the first was on, though the drawer that it opens moves the lanes', () => {
    const other = { ...box, run: 8, from: 20, to: 30 };
    click();
    under = other;
    click();
    expect(selection.selectedRun).toBe(7);
    fire('dblclick', at(100));
    expect(model.view.from).toBeLessThan(2);
    expect(model.view.to).toBeLessThan(10);
    // Elsewhere it is another task.
    fire('pointerdown', at(200));
    fire('pointerup', at(200));
    expect(selection.selectedRun).toBe(8);
  });

  it('zooms by a double click of which the second is on the drawer', () => {
    const panel = document.body.appendChild(document.createElement('div'));
    panel.className = 'sw-TaskStream';
    pointer.detach();
    panel.append(element);
    const drawer = panel.appendChild(document.createElement('p'));
    pointer.attach(drawing, element);
    click();
    drawer.dispatchEvent(new MouseEvent('dblclick', at(100)));
    expect(model.view.to).toBeLessThan(10);
    // Two clicks in it alone are not about a task.
    model.setView({ from: 0, to: 30 });
    drawer.dispatchEvent(new MouseEvent('dblclick', at(300)));
    expect(model.view).toEqual({ from: 0, to: 30 });
    pointer.detach();
    panel.remove();
  });

  it('zooms to the failed runs of a mark so that the first and the last have room', () => {
    under = { ...box, function: '', run: null, tasks: 2, kind: 'failed' };
    clickTwice();
    const { from, to } = model.view;
    const [left, right] = [under.from - from, to - under.to];
    expect(left / (to - from)).toBeGreaterThan(0.05);
    expect(right / (to - from)).toBeGreaterThan(0.05);
    expect((under.to - under.from) / (to - from)).toBeGreaterThan(0.7);
  });
});

describe('the keys', () => {
  it('pan, zoom, fit and follow', () => {
    model.setView({ from: 5, to: 15 });
    press('d');
    expect(model.view.from).toBeCloseTo(6.5, 9);
    press('ArrowLeft');
    expect(model.view.from).toBeCloseTo(5, 9);
    press('+');
    expect(model.view.to - model.view.from).toBeCloseTo(10 / 1.5, 9);
    press('f');
    expect(model.isFollowing).toBe(true);
    press('f');
    press('0');
    expect(model.view.to - model.view.from).toBeGreaterThan(29);
  });

  const pressed = async (key: string) => {
    press(key);
    await settle();
    return selection.selectedRun;
  };

  it('go from task to task and bring it into view', async () => {
    model.setView({ from: 0, to: 1 });
    expect(await pressed('.')).toBe(0);
    expect(await pressed('.')).toBe(1);
    const start = 5 * 2 ** 20 * 1e-6;
    expect(model.view.from).toBeLessThan(start + 6);
    expect(model.view.to).toBeGreaterThan(start);
    expect(await pressed(',')).toBe(0);
  });

  it('go from task to task where boxes are narrower than a pixel, and the view moves no farther than it must', async () => {
    // 40 runs of 10 ms in 40 s; the tiles have cells of many runs, and none of a single one.
    known = {
      ...drawnTile(['a.'.repeat(40)], { level: 19, index: 0 })
    };
    model.tilesHere = () => [
      {
        ...drawnTile(['a'], { level: 25, index: 0 }),
        run: Uint32Array.of(2 ** 32 - 1),
        tasks: Uint32Array.of(40)
      }
    ];
    const view = { from: 0, to: 10 };
    model.setView(view);
    const seen: (number | null)[] = [];
    const starts = known.run.length;
    const places: number[] = [];
    for (let step = 0; step < 12; step += 1) {
      seen.push(await pressed('.'));
      const place = model.selectedPlace!;
      expect(place).toMatchObject({ run: step, laneIndex: 0 });
      expect(place.from).toBeGreaterThanOrEqual(model.view.from);
      expect(place.to).toBeLessThanOrEqual(model.view.to);
      expect(model.view.to - model.view.from).toBeCloseTo(10, 6);
      places.push(model.view.from);
    }
    expect(starts).toBe(40);
    expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => i));
    // The first ten are in view.
    expect(new Set(places.slice(0, 9))).toEqual(new Set([0]));
    expect(places[11]).toBeGreaterThan(0);
    expect(places[11]).toBeLessThan(4);
    for (let step = 10; step >= 0; step -= 1) {
      expect(await pressed(',')).toBe(step);
    }
    expect(model.view.from).toBeLessThanOrEqual(0);
    expect(brought.every(lane => lane === 0)).toBe(true);
  });

  it('stay at the end of a lane and say so, until the user goes on', async () => {
    const said: (Said | null)[] = [];
    pointer.saidChanged.connect((_, next) => said.push(next));
    model.setView({ from: 0, to: 11 });
    await pressed('.');
    await pressed('.');
    const { view } = model;
    expect(said).toEqual([]);
    expect(await pressed('.')).toBe(1);
    expect(model.view).toBe(view);
    expect(said.at(-1)).toEqual({ direction: 1, laneIndex: 0 });
    expect(await pressed(',')).toBe(0);
    expect(said.at(-1)).toBeNull();
    expect(await pressed(',')).toBe(0);
    expect(said.at(-1)).toEqual({ direction: -1, laneIndex: 0 });
    press('d');
    expect(said.at(-1)).toBeNull();
  });

  it('go from what was selected elsewhere on its own lane', async () => {
    model.tilesHere = () => [];
    selection.select({ kind: 'run', run: 1 });
    expect(await pressed(',')).toBe(0);
    expect(questions).toEqual([{ direction: -1, nextTo: 1 }]);
  });

  it('make each step of a key that is held down, one after the other, and few after it', async () => {
    known = drawnTile(['a.'.repeat(20)], { level: 19, index: 0 });
    let answer = () => {};
    answers = new Promise(resolve => (answer = resolve));
    for (let repeat = 0; repeat < 9; repeat += 1) {
      press('.');
    }
    await settle();
    expect(questions).toHaveLength(1);
    answer();
    await settle();
    expect(selection.selectedRun).toBe(1);
    expect(questions).toHaveLength(2);
  });

  it('change the lane', async () => {
    await pressed('.');
    expect(await pressed('ArrowDown')).toBe(2);
    expect([0, 1]).toContain(await pressed('ArrowUp'));
  });

  it('go past a lane in which no task can be selected', async () => {
    const empty = drawnTile(['aaa', '', 'cc'], { level: 20, index: 0 });
    known = empty;
    model.tilesHere = () => [empty];
    await pressed('ArrowDown');
    expect(await pressed('ArrowDown')).toBe(0);
    expect(await pressed('ArrowDown')).toBe(1);
    await pressed('ArrowUp');
    expect(await pressed('.')).toBe(1);
    expect(await pressed('ArrowUp')).toBe(0);
    // Who clicks goes on from there.
    await pressed('ArrowDown');
    under = { ...box, run: 1 };
    fire('pointerdown', at(100));
    fire('pointerup', at(100));
    await pressed('ArrowUp');
    expect(await pressed('ArrowUp')).toBe(0);
  });

  it('fold the worker of the lane, and unfold it where it was', async () => {
    await pressed('ArrowDown');
    await pressed('ArrowDown');
    await pressed('ArrowDown');
    const { lanes } = model.result!;
    const { worker } = lanes[2]!;
    const first = lanes[0]!.worker;
    expect(worker).not.toBe(first);
    const layOut = () => {
      Object.assign(drawing, {
        layout: layOutLanes(
          { lanes, workers: [0, 1, 2, 3] },
          model.collapsed,
          400
        )
      });
    };
    await pressed('c');
    layOut();
    expect([...model.collapsed]).toEqual([worker]);
    await pressed('c');
    expect([...model.collapsed]).toEqual([]);
  });

  it('mark the lane that they have come to, until the pointer or another element is used', async () => {
    const marks: (number | null)[] = [];
    pointer.reachedChanged.connect((_, lane) => marks.push(lane as never));
    const empty = drawnTile(['aaa', '', 'cc'], { level: 20, index: 0 });
    known = empty;
    model.tilesHere = () => [empty];
    await pressed('ArrowDown');
    // Here there is no task to be outlined.
    await pressed('ArrowDown');
    await pressed('ArrowDown');
    await pressed('d');
    expect(marks).toEqual([0, 1, 2]);
    under = { ...box, run: 1 };
    fire('pointerdown', at(100));
    fire('pointerup', at(100));
    await pressed('ArrowUp');
    element.dispatchEvent(new FocusEvent('blur'));
    expect(marks).toEqual([0, 1, 2, null, 1, null]);
  });

  it('go on in the row of groups where the selected task is', async () => {
    const groups = [0, 1, 2].map(group => ({ laneIndex: group, top: 0 }));
    Object.assign(drawing, { layout: { workers: [{ lanes: groups }] } });
    Object.defineProperty(model, 'showsGroups', { get: () => true });
    model.rowOf = lane => ((lane as number) >= 4 ? 2 : 1) as never;
    const marks: unknown[] = [];
    pointer.reachedChanged.connect((_, lane) => marks.push(lane));
    model.tilesHere = () => [];
    model.setSelectedPlace({
      run: 2,
      laneIndex: 1 as never,
      from: 0,
      to: 1
    });
    selection.select({ kind: 'run', run: 2 });
    await pressed('ArrowDown');
    expect(marks[0]).toBe(2);
  });

  it('select in the lane they have come to when the observer has answered', async () => {
    let answer = () => {};
    answers = new Promise(resolve => (answer = resolve));
    model.tilesHere = () => [];
    press('ArrowDown');
    press('ArrowDown');
    await settle();
    expect(selection.selected).toBeNull();
    answer();
    await settle();
    expect(selection.selectedRun).toBe(2);
  });

  it('select nothing late where the user has gone on', async () => {
    const goOn = [
      () => selection.select({ kind: 'run', run: 7 }),
      () => press('d'),
      () => fire('pointerdown', at(100)),
      () => element.dispatchEvent(new WheelEvent('wheel', { deltaY: 40 })),
      () => element.dispatchEvent(new FocusEvent('blur')),
      () => {
        pointer.detach();
        pointer.attach(drawing, element);
      }
    ];
    const selectedLate = async (go: () => void) => {
      selection.select(null);
      let answer = () => {};
      answers = new Promise(resolve => (answer = resolve));
      press('.');
      await settle();
      go();
      const { selectedRun } = selection;
      answer();
      await settle();
      return selection.selectedRun !== selectedRun;
    };
    for (const go of goOn) {
      expect(await selectedLate(() => undefined)).toBe(true);
      expect(await selectedLate(go)).toBe(false);
    }
  });

  it('leave shortcuts of the page alone', () => {
    model.setView({ from: 5, to: 15 });
    press('f', { ctrlKey: true });
    press('a', { metaKey: true });
    expect(model.view).toEqual({ from: 5, to: 15 });
    expect(model.isFollowing).toBe(false);
  });
});
