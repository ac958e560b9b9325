import { nullTranslator } from '@jupyterlab/translation';
import { renderToStaticMarkup } from 'react-dom/server';
import { createElement } from '../../../charts/shown-element';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import type { LaneIndex } from '../../../records/ids';
import type { TaskStreamResult } from '../../../wire/panel-link';
import type { ITheme } from '../../panel-context';
import { readPalette } from '../../../charts/theme';
import { paintStrip } from '../frame-painter';
import { TaskStreamModel } from '../model';
import { WholeRun } from '../whole-run';

function shown(result: TaskStreamResult): HTMLElement {
  const model = new TaskStreamModel();
  model.setResult(result);
  const page = document.createElement('div');
  page.innerHTML = renderToStaticMarkup(
    <WholeRun
      model={model}
      theme={{} as ITheme}
      trans={nullTranslator.load('spanwise')}
    />
  );
  return page;
}

const firstLooks = () =>
  ask(drawnStore(firstLook()), 'task-stream', { ended: true });

it('says beside its time that pauses are in it', () => {
  const page = shown(firstLooks());
  const lines = page
    .querySelector('.sw-TaskStream-gutter')!
    .innerHTML.split('<br>')
    .map(line => line.replace(/<[^>]*>/g, '').replaceAll('&nbsp;', ' '));
  expect(lines).toEqual(['whole run', '29.6 s', 'with pauses']);
  // What its colours mean: red is no failure.
  const { title } = page.querySelector<HTMLElement>('.sw-TaskStream-whole')!;
  expect(title).toContain('red with transfers');
  expect(title).toMatch(/failed is a cross above\.$/);
});

it('says which running tasks it lacks', () => {
  const result = firstLooks();
  const task = {
    laneIndex: 0 as LaneIndex,
    key: 'goes-on',
    function: 'goes_on',
    span: 0,
    started: 1
  };
  const page = shown({
    ...result,
    lanes: result.lanes.map((lane, index) =>
      index === 0 ? { ...lane, beside: ['seceded', 1] as const } : lane
    ),
    running: [task, { ...task, key: 'goes-on-too' }]
  });
  const { title } = page.querySelector<HTMLElement>('.sw-TaskStream-whole')!;
  expect(title.replaceAll('\u00a0', ' ')).toMatch(
    /above\. 2 tasks that seceded and still run are not counted: when they held threads is not known\.$/
  );
});

it('draws transfers and the disk with the patterns that they have in the lanes', () => {
  const fills = new Map<unknown, number>();
  const context = {
    canvas: document.createElement('canvas'),
    createPattern: () => ({ setTransform: () => undefined }),
    clearRect: () => undefined,
    fillRect() {
      const { fillStyle } = this as unknown as { fillStyle: unknown };
      fills.set(fillStyle, (fills.get(fillStyle) ?? 0) + 1);
    }
  };
  Object.assign(globalThis, {
    DOMMatrix: class {
      scale() {}
    }
  });
  Object.assign(HTMLCanvasElement.prototype, { getContext: () => tile });
  const bar = { x: 0, width: 1, top: 0, height: 0.5 };
  paintStrip(
    context as unknown as CanvasRenderingContext2D,
    [
      { ...bar, role: 'kind-transfer' },
      { ...bar, x: 1, role: 'kind-transfer' },
      { ...bar, role: 'kind-disk' },
      { ...bar, role: 'strip-compute' }
    ],
    { width: 600, height: 36 },
    readPalette(document.body)
  );
  expect([...fills].map(([fill, count]) => [typeof fill, count])).toEqual([
    ['object', 2],
    ['object', 1],
    ['string', 1]
  ]);
});

/** Takes all that a pattern's tile is drawn with. */
const tile = new Proxy({}, { get: () => () => undefined, set: () => true });
