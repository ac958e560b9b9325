/** A failed run is seen in the lanes and found under the pointer, whatever else is there: the panel and its pictures, from tiles of a log. */
import { Signal } from '@lumino/signaling';
import { SvgInk } from '../../../charts/ink';
import { readPalette } from '../../../charts/theme';
import { SelectionModel } from '../../../feed/selection';
import { ask, tile } from '../../../observer/__tests__/ask';
import { ingestBlock } from '../../../observer/store/ingest';
import { LogStore } from '../../../observer/store/log-store';
import { failingRuns } from '../../../testing/failing-runs';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { english } from '../../../testing/translators';
import type { Filter } from '../../../wire/panel-link';
import type { ITheme } from '../../panel-context';
import { failedInView } from '../failed-in-view';
import { layOutLanes } from '../lane-layout';
import { LaneOverlay } from '../lane-overlay';
import type { LaneScene } from '../lane-scene';
import { LanesDrawing } from '../lanes-drawing';
import { TaskStreamModel } from '../model';
import { lanesSvg } from '../picture-lanes';
import { cardHint, cardOf, functionsRow, type HoveredBox } from '../rows';
import { levelFor, tilesFor } from '../tile-plan';
import { stillScene } from './still-scene';

const RUNS = 5000;
const SECONDS = 0.002;
const WIDTH = 1000;
const WHOLE = { from: 0, to: RUNS * SECONDS };
/** One alone, and two side by side. */
const FAILED = [1250, 4000, 4001];

function logOf(failed: readonly number[] = FAILED): LogStore {
  const log = new LogStore('fails');
  ingestBlock(log, rowsToBlock(1, 'names', [{ id: 1, text: 'inc' }]));
  ingestBlock(
    log,
    rowsToBlock(2, 'workers', [
      { worker: 0, threads: 1, joined: 0, left: NaN, name: '0' }
    ])
  );
  ingestBlock(
    log,
    rowsToBlock(3, 'lanes', [{ lane: 0, worker: 0, thread: 0 }])
  );
  ingestBlock(
    log,
    rowsToBlock(4, 'runs', failingRuns(RUNS, SECONDS, new Set(failed)))
  );
  return log;
}

function sceneOf(
  log: LogStore,
  view: LaneScene['view'],
  filter: Filter = {},
  pixelRatio = 1
): LaneScene {
  const level = levelFor(view, WIDTH * pixelRatio);
  const result = ask(log, 'task-stream', { ended: true });
  const layout = layOutLanes(
    { lanes: result.lanes, workers: [0] },
    new Set(),
    40
  );
  return stillScene({
    view,
    width: WIDTH,
    height: layout.height,
    pixelRatio,
    layout,
    tiles: tilesFor(view, level, WHOLE),
    tileOf: (at, index) => ({
      ...tile(log, at, index, filter),
      logSeq: 1,
      ...tile(log, at, index, filter).columns
    })
  });
}

/** Where the overlay draws black: marks, of 1 px less on both sides. */
function marksIn(markup: string, { palette }: LaneScene): number[] {
  const svg = new DOMParser().parseFromString(
    `<svg xmlns="http://www.w3.org/2000/svg">${markup}</svg>`,
    'image/svg+xml'
  );
  return [...svg.querySelectorAll('rect')]
    .filter(
      each =>
        each.getAttribute('fill') === palette.kinds.failed &&
        each.getAttribute('width') === '3'
    )
    .map(each => Number(each.getAttribute('x')) - 1)
    .sort((a, b) => a - b);
}

function overlayOf(scene: LaneScene): string {
  const ink = new SvgInk(text => text.length * 6);
  new LaneOverlay().draw(ink, scene);
  return ink.drawn.markup;
}

describe('failed runs in the lanes', () => {
  it.each([1, 2])('are marks of the whole run, at %i pixels a pixel', ratio => {
    const scene = sceneOf(logOf(), WHOLE, {}, ratio);
    const [ofLane] = [...failedInView(scene, { has: () => true }).values()];
    expect(ofLane!.wide).toEqual([]);
    expect(ofLane!.marks.map(({ left, runs }) => [left / ratio, runs])).toEqual(
      [
        [250, 1],
        [800, 2]
      ]
    );
  });

  it('are drawn on the canvas, and in a picture over all boxes', () => {
    const scene = sceneOf(logOf(), WHOLE);
    expect(marksIn(overlayOf(scene), scene)).toEqual([250, 800]);
    const { level, first, count } = scene.tiles;
    const tiles = Array.from({ length: count }, (_, i) =>
      scene.tileOf(level, first + i)!
    );
    const { markup } = lanesSvg(scene, tiles, () => 0);
    expect(marksIn(markup, scene)).toEqual(expect.arrayContaining([250, 800]));
    expect(markup.endsWith(overlayOf(scene))).toBe(true);
  });

  it('are seen within the outline of the selected one', () => {
    const scene = { ...sceneOf(logOf(), WHOLE), selectedRun: 1250 };
    const markup = overlayOf(scene);
    const outline = markup.slice(markup.lastIndexOf('<rect'));
    expect(outline).toContain(`stroke="${scene.palette.brand}"`);
    // The mark has 250 to 255, and its ✕ two more on both sides.
    expect(outline).toContain('<rect x="248" ');
    expect(outline).toContain(' width="9" ');
  });

  it('leave the boxes under them in a picture, too, where many fail', () => {
    const scene = sceneOf(
      logOf(Array.from({ length: 400 }, (_, i) => 1000 + 3 * i)),
      WHOLE
    );
    const { level, first } = scene.tiles;
    const { markup } = lanesSvg(scene, [scene.tileOf(level, first)!], () => 0);
    const height = (rect: string) => Number(/height="(\d+)"/.exec(rect)![1]);
    const black = markup
      .match(/<rect [^>]*>/g)!
      .filter(rect => rect.includes(`fill="${scene.palette.kinds.failed}"`));
    expect(black.length).toBeGreaterThan(0);
    // Less than half of the lane.
    const highest = Math.max(...black.map(height));
    expect(highest).toBeLessThan(scene.layout.laneHeight / 2);
  });

  it('are boxes when they are wide enough', () => {
    const view = { from: 1250 * SECONDS, to: 1250 * SECONDS + 1e-3 };
    const found = failedInView(sceneOf(logOf(), view), { has: () => true });
    const [ofLane] = [...found.values()];
    expect(ofLane!.marks).toEqual([]);
    const { left, right } = ofLane!.wide[0]!;
    expect([left, Math.abs(right - 20) <= 1]).toEqual([0, true]);
  });

  it('have no mark under a filter that hides them, and no cost where nothing failed', () => {
    const hidden = sceneOf(logOf(), WHOLE, { status: ['ok'] });
    expect(failedInView(hidden, { has: () => true }).size).toBe(0);
    expect(marksIn(overlayOf(hidden), hidden)).toEqual([]);
    const none = sceneOf(logOf([]), WHOLE);
    expect(overlayOf(none)).toBe('');
  });
});

describe('the pointer at a mark', () => {
  let drawing: LanesDrawing;
  let model: TaskStreamModel;

  beforeEach(() => {
    Object.assign(globalThis, {
      ResizeObserver: class {
        observe(): void {}
        disconnect(): void {}
      }
    });
    const log = logOf();
    model = new TaskStreamModel({}, () => 0);
    model.setResult(ask(log, 'task-stream', { ended: true }));
    model.setView(WHOLE);
    const scene = sceneOf(log, model.view);
    model.tileOf = scene.tileOf;
    model.tilesHere = ({ level, first, count }) =>
      Array.from({ length: count }, (_, i) => scene.tileOf(level, first + i)!);
    drawing = new LanesDrawing(
      model,
      {
        palette: readPalette(document.body),
        changed: new Signal<ITheme, ITheme['palette']>({} as ITheme)
      },
      new SelectionModel()
    );
    const canvas = () => document.createElement('canvas');
    const scroller = document.createElement('div');
    Object.defineProperty(scroller, 'clientWidth', { value: WIDTH + 112 });
    Object.defineProperty(scroller, 'clientHeight', { value: 40 });
    drawing.attach({
      scroller,
      axis: canvas(),
      bands: canvas(),
      lanes: canvas()
    });
    Object.assign(drawing, { _tiles: scene.tiles });
  });
  afterEach(() => {
    drawing.dispose();
    model.dispose();
  });

  const hit = (seconds: number, beside = 0): HoveredBox =>
    drawing.hit(drawing.xOfSeconds(seconds) + beside, 30)!;

  it('finds the run, with its own times', () => {
    for (const beside of [0, 1, 3.9]) {
      const box = hit(1250 * SECONDS, beside);
      expect(box).toMatchObject({ run: 1250, kind: 'failed', tasks: 1 });
      expect(box.isMark).toBeUndefined();
      expect(box.function).toBe('inc');
      expect(box.from).toBeCloseTo(1250 * SECONDS, 4);
      expect(box.to - box.from).toBeCloseTo(2e-5, 5);
    }
    expect(hit(1250 * SECONDS, 9).kind).toBe('compute');
    expect(hit(1250 * SECONDS, -3).kind).toBe('compute');
  });

  it('says how many runs a mark is of', () => {
    const box = hit(4000 * SECONDS, 2);
    expect(box).toMatchObject({ run: null, tasks: 2, isMark: true });
    const card = cardOf(box, null, english);
    expect(card.title).toBe('2 failed or lost runs here');
    expect(cardHint(box, null, english)).toBe(
      'double click: zoom until each is seen, with its error'
    );
    // All are of one function.
    expect(functionsRow(box, english)).toEqual([
      { label: 'function', text: 'inc' }
    ]);
    const functions = ['a', 'b', 'c', 'd', 'e'];
    expect(functionsRow({ ...box, functions }, english)).toEqual([
      { label: 'functions', text: 'a, b, c +2' }
    ]);
    // Of a single one without a number the row is gone, and no zoom shows it.
    const gone = { ...box, tasks: 1 };
    expect(cardOf(gone, null, english).title).toBe('1 failed or lost run here');
    expect(cardHint(gone, null, english)).toBe(
      'its row was dropped for want of room: no more is known of it'
    );
    // In a group's row it has one, and its detail is on the way.
    const known = { ...gone, run: 7, function: 'inc' };
    expect(cardOf(known, null, english)).toMatchObject({
      title: '1 failed or lost run here',
      aside: 'inc'
    });
    expect(cardHint(known, null, english)).toBe(
      'double click: zoom until each is seen, with its error'
    );
    expect(cardOf({ ...box, isExecution: true }, null, english).title).toBe(
      '2 failed or lost executions here'
    );
    // (from the first to the last, and not all that is drawn)
    expect(box.from).toBeLessThanOrEqual(4000 * SECONDS);
    expect(box.to).toBeGreaterThan(4001 * SECONDS);
    expect(box.to - box.from).toBeLessThan(8 * SECONDS);
  });
});
