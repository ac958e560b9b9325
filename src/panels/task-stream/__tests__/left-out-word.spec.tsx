import { nullTranslator } from '@jupyterlab/translation';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { createElement } from '../../../charts/shown-element';
import { LeftOutWord } from '../lanes-view';

class ResizeObserverStub {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
Object.assign(globalThis, { ResizeObserver: ResizeObserverStub });

it('is a button that says by the keyboard, too, which spans have no band', () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const show = (missing: number) =>
    flushSync(() =>
      root.render(
        <LeftOutWord
          missing={missing}
          why="Shorter ones have none."
          trans={nullTranslator.load('spanwise')}
        />
      )
    );
  const card = () => host.querySelector('.sw-card')?.textContent;
  show(0);
  expect(host.textContent).toBe('spans');
  expect(host.querySelector('button')).toBeNull();
  show(12);
  const button = host.querySelector('button')!;
  expect(button.textContent).toBe('spans +12');
  button.focus();
  expect(document.activeElement).toBe(button);
  expect([card(), button.getAttribute('aria-expanded')]).toEqual([
    undefined,
    'false'
  ]);
  flushSync(() => button.click());
  expect(card()).toBe('Shorter ones have none.');
  expect(button.getAttribute('aria-expanded')).toBe('true');
  flushSync(() =>
    button.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Escape', bubbles: true })
    )
  );
  expect(card()).toBeUndefined();
  flushSync(() => button.click());
  flushSync(() => button.blur());
  expect(card()).toBeUndefined();
  flushSync(() => root.unmount());
  host.remove();
});
