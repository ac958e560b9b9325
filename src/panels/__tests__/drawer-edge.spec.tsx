/** The edge of a drawer, beside the chart and below it. */
import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';
import { createElement } from '../../charts/shown-element';
import {
  DrawerEdge,
  type DrawerSizes,
  drawerStyle,
  readDrawerSizes
} from '../drawer-edge';

class ResizeObserverStub {
  observe(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

/** jsdom has no DOMRect. */
const rect = (left: number, top: number, width: number, height: number) =>
  ({
    left,
    top,
    width,
    height,
    right: left + width,
    bottom: top + height
  }) as DOMRect;
const whole = rect(100, 50, 800, 400);

describe('the edge of a drawer', () => {
  let panel: HTMLElement;
  let root: Root;
  let sizes: [string, number | null][];
  let edge: HTMLElement;

  function draw(drawer: DOMRect, given: DrawerSizes = {}) {
    panel = document.body.appendChild(document.createElement('div'));
    const box = panel.appendChild(document.createElement('div'));
    box.className = 'sw-drawer';
    panel.getBoundingClientRect = () => whole;
    box.getBoundingClientRect = () => drawer;
    sizes = [];
    root = createRoot(box);
    flushSync(() =>
      root.render(
        <DrawerEdge
          sizes={given}
          trans={nullTranslator.load('spanwise')}
          onSize={(side, percent) => sizes.push([side, percent])}
        />
      )
    );
    edge = box.querySelector<HTMLElement>('[role="separator"]')!;
    edge.setPointerCapture = () => {};
  }
  const fire = (type: string, clientX: number, clientY: number) =>
    flushSync(() => {
      edge.dispatchEvent(
        new MouseEvent(type, { bubbles: true, clientX, clientY })
      );
    });
  const press = (key: string) =>
    flushSync(() => {
      edge.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    });
  afterEach(() => {
    root.unmount();
    panel.remove();
  });

  it('beside the chart changes the width, within bounds, and Escape restores it', () => {
    draw(rect(660, 50, 240, 400), { beside: 30 });
    expect(edge.getAttribute('aria-orientation')).toBe('vertical');
    expect(edge.getAttribute('aria-valuenow')).toBe('30');
    fire('pointermove', 500, 100);
    expect(sizes).toEqual([]);
    fire('pointerdown', 660, 100);
    fire('pointermove', 580, 300);
    fire('pointermove', 110, 100);
    fire('pointermove', 890, 100);
    press('Escape');
    fire('pointermove', 500, 100);
    expect(sizes).toEqual([
      ['beside', 40],
      ['beside', 60],
      ['beside', 20],
      ['beside', 30]
    ]);
  });

  it.each([{}, { below: 35 }])(
    'is restored to what it was given, whatever of that its text takes: %j',
    given => {
      draw(rect(100, 370, 800, 80), given);
      fire('pointerdown', 300, 370);
      fire('pointermove', 300, 350);
      press('Escape');
      expect(sizes).toEqual([
        ['below', 25],
        ['below', given.below ?? null]
      ]);
    }
  );

  it('out of bounds, as at first in a wide panel, is made smaller by nothing', () => {
    draw(rect(780, 50, 120, 400));
    expect(edge.getAttribute('aria-valuenow')).toBe('15');
    expect(edge.getAttribute('aria-valuemin')).toBe('15');
    press('ArrowRight');
    expect(sizes).toEqual([]);
    press('ArrowLeft');
    press('Enter');
    expect(sizes).toEqual([
      ['beside', 20],
      ['beside', null]
    ]);
  });

  it('below the chart changes the height', () => {
    draw(rect(100, 330, 800, 120));
    expect(edge.getAttribute('aria-orientation')).toBe('horizontal');
    fire('pointerdown', 300, 330);
    fire('pointermove', 500, 350);
    fire('pointerup', 500, 350);
    fire('pointermove', 500, 400);
    press('ArrowUp');
    press('ArrowLeft');
    fire('dblclick', 300, 330);
    expect(sizes).toEqual([
      ['below', 25],
      ['below', 32],
      ['below', null]
    ]);
  });
});

it('the size of a drawer is read as far as it can be', () => {
  expect(readDrawerSizes({ beside: 45.5, below: 20 })).toEqual({
    beside: 45.5,
    below: 20
  });
  expect(readDrawerSizes({ beside: 95, below: '20' })).toEqual({});
  expect(readDrawerSizes(undefined)).toEqual({});
  expect(drawerStyle({ beside: 45.5 })).toEqual({
    '--sw-drawer-beside': '45.5cqw'
  });
});
