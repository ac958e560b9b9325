/** A worker of one thread gets a header with its second lane, and loses it with that: its lanes stay in sight. */
import { Signal } from '@lumino/signaling';
import { readPalette } from '../../../charts/theme';
import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import type { LaneIndex } from '../../../records/ids';
import { drawRuns } from '../../../testing/run-from-text';
import type { ITheme } from '../../panel-context';
import { LanesDrawing } from '../lanes-drawing';
import { TaskStreamModel } from '../model';

Object.assign(globalThis, {
  ResizeObserver: class {
    observe(): void {}
    disconnect(): void {}
  }
});
const WORKERS = 10;
const result = ask(
  drawRuns(
    Array.from({ length: WORKERS }, (_, i) => `${i}/0 aaaabbbb`).join('\n')
  ),
  'task-stream',
  { ended: true }
);

function laidOut(height: number) {
  const model = new TaskStreamModel();
  const selection = new SelectionModel();
  const theme = { palette: readPalette(document.body) } as ITheme;
  Object.assign(theme, { changed: new Signal(theme) });
  const drawing = new LanesDrawing(model, theme, selection);
  const scroller = document.createElement('div');
  Object.defineProperty(scroller, 'clientHeight', { value: height });
  const canvas = () => document.createElement('canvas');
  drawing.attach({
    scroller,
    axis: canvas(),
    bands: canvas(),
    lanes: canvas()
  });
  // As the view does once it has rendered them.
  drawing.laidOut.connect(() => drawing.keepInSight());
  model.setResult(result);
  const second = (worker: number) => ({
    ...result,
    lanes: [
      ...result.lanes,
      {
        laneIndex: 99 as LaneIndex,
        worker,
        thread: 1,
        beside: ['seceded', 1] as const
      }
    ],
    // (it is shown while something runs there)
    live: true,
    running: [
      {
        laneIndex: 99 as LaneIndex,
        key: 'k',
        function: 'wait',
        span: 0,
        started: 0
      }
    ]
  });
  const show = (next: typeof result) => {
    model.setResult(next);
    model.settleLanes({ level: 20, first: 0, count: 1 });
    model.setResult({ ...next });
  };
  const topOf = (worker: number) =>
    drawing.layout.workers[worker]!.lanes[0]!.top - scroller.scrollTop;
  return { drawing, model, selection, scroller, second, show, topOf };
}

it('at the foot of what is in sight, where the header pushes them down', () => {
  // Lanes of 14 pixels: five are in sight.
  const { drawing, scroller, second, show, topOf } = laidOut(70);
  expect(drawing.layout.laneHeight).toBe(14);
  expect(topOf(4)).toBe(56);
  show(second(4));
  const row = drawing.layout.workers[4]!;
  expect([row.headerHeight, row.lanes.length]).toEqual([18, 2]);
  expect(scroller.scrollTop).toBe(18);
  expect(topOf(4)).toBe(56);
  show(result);
  expect(drawing.layout.workers[4]!.headerHeight).toBe(0);
  expect(topOf(4)).toBeGreaterThanOrEqual(0);
  expect(topOf(4)).toBeLessThanOrEqual(56);
  drawing.dispose();
});

it('and that of the selected task, whatever worker it is', () => {
  const { drawing, model, selection, scroller, second, show, topOf } =
    laidOut(70);
  const laneIndex = result.lanes.find(({ worker }) => worker === 4)!.laneIndex;
  model.setSelectedPlace({ run: 7, laneIndex, from: 0, to: 1 });
  selection.select({ kind: 'run', run: 7 });
  show(second(1));
  expect(drawing.layout.workers[1]!.height).toBe(18 + 28);
  expect(topOf(4)).toBe(56);
  expect(scroller.scrollTop).toBe(32);
  drawing.dispose();
});

it('but nothing moves for a worker out of sight', () => {
  const { drawing, scroller, second, show } = laidOut(70);
  show(second(8));
  expect(drawing.layout.workers[8]!.headerHeight).toBe(18);
  expect(scroller.scrollTop).toBe(0);
  drawing.dispose();
});
