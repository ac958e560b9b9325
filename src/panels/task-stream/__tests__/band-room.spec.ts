/** Rows of spans and lanes divide the height that they have on the page. */
import { Signal } from '@lumino/signaling';
import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import { drawRuns } from '../../../testing/run-from-text';
import { readPalette } from '../../../charts/theme';
import { LanesDrawing } from '../lanes-drawing';
import { TaskStreamModel } from '../model';
import type { ITheme } from '../../panel-context';

class ResizeObserverStub {
  static resized = (): void => undefined;
  constructor(resized: () => void) {
    ResizeObserverStub.resized = resized;
  }
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

const sized = <E extends HTMLElement>(element: E, height: () => number): E => {
  Object.defineProperty(element, 'clientHeight', { get: height });
  return element;
};

it('rows that are drawn take room from the lanes and none from each other', () => {
  const result = ask(drawRuns('0/0  aaaabbbb'), 'task-stream', {
    ended: true
  });
  const bands = ['a', 'b', 'c', 'd', 'e'].map((tag, span) => ({
    ...{ span: span + 1, tag, depth: 0, from: span / 10, to: 8 }
  }));
  const model = new TaskStreamModel();
  model.setResult({ ...result, bands });
  const rowsOnPage = () => model.bands.length;
  expect(rowsOnPage()).toBe(3);
  const theme = { palette: readPalette(document.body) } as ITheme;
  Object.assign(theme, { changed: new Signal(theme) });
  const drawing = new LanesDrawing(model, theme, new SelectionModel());
  let height = 60;
  // As React has rendered it: rows of spans take what lanes have no more.
  let rendered = rowsOnPage();
  const row = sized(document.createElement('div'), () => 16 * rendered);
  const canvas = () => document.createElement('canvas');
  const own = canvas();
  row.append(own);
  drawing.attach({
    scroller: sized(
      document.createElement('div'),
      () => height - 16 * rendered
    ),
    axis: canvas(),
    bands: own,
    lanes: canvas()
  });
  expect(rowsOnPage()).toBe(3);
  // A lane of 28, which has the name of its worker: five rows have room from 108 on.
  height = 108;
  ResizeObserverStub.resized();
  expect(rowsOnPage()).toBe(5);
  let changes = 0;
  model.changed.connect(() => changes++);
  rendered = rowsOnPage();
  ResizeObserverStub.resized();
  expect([rowsOnPage(), changes]).toEqual([5, 0]);
  height = 107;
  ResizeObserverStub.resized();
  expect(rowsOnPage()).toBe(4);
  drawing.dispose();
});
