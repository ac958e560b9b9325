/** The drawer of a frame in a panel that has no room for all of it. */
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import * as React from 'react';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';
import { readPalette } from '../../../charts/theme';
import { SelectionModel } from '../../../feed/selection';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import type { ITheme } from '../../panel-context';
import { activityOf } from '../figure';
import { frameTree } from '../rows';
import { ProfileView } from '../view';

const profile = ask(drawnStore(firstLook()), 'profile', { ended: true });
const tree = frameTree(profile);
const trans = nullTranslator.load('spanwise');
const zoomed = jest.fn();
const selection = new SelectionModel();
const theme = { palette: readPalette(document.body) } as ITheme;
Object.assign(theme, { changed: new Signal(theme) });
let host: HTMLElement;
let root: Root;

function show(selected: number | null): void {
  flushSync(() =>
    root.render(
      <ProfileView
        tree={tree}
        activity={activityOf(profile)}
        wholeActivity={null}
        time="all"
        focus={null}
        selected={selected}
        found={null}
        selection={selection}
        theme={theme}
        trans={trans}
        onZoom={zoomed}
        onSelect={show}
      />
    )
  );
}
const drawer = () =>
  host.querySelector<HTMLElement>('[aria-label="Selected frame"]');
const close = () =>
  drawer()!.querySelector<HTMLElement>('[aria-label="Close"]')!;

beforeEach(() => {
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
  zoomed.mockClear();
  show(1);
});
afterEach(() => {
  root.unmount();
  host.remove();
});

it('is closed by its button, which does not scroll with its facts; these can be reached by keyboard', () => {
  const body = drawer()!.querySelector<HTMLElement>('.sw-drawer-body')!;
  expect(body.tabIndex).toBe(0);
  expect(body.textContent).toContain('samples');
  expect(body.contains(close())).toBe(false);
  expect(drawer()!.classList).toContain('sw-drawer');
  close().focus();
  close().click();
  expect(drawer()).toBeNull();
  expect(document.activeElement?.getAttribute('aria-label')).toBe(
    'Profile chart'
  );
});

it('is closed by Escape from anywhere in it, and the chart stays zoomed', () => {
  for (const pick of [
    close,
    () => drawer()!.querySelector<HTMLElement>('.sw-drawer-body')!,
    () => drawer()!.querySelector<HTMLElement>('.sw-link')!
  ]) {
    show(1);
    pick().focus();
    document.activeElement!.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Escape', bubbles: true })
    );
    flushSync(() => undefined);
    expect(drawer()).toBeNull();
    expect(document.activeElement?.getAttribute('aria-label')).toBe(
      'Profile chart'
    );
  }
  expect(zoomed).not.toHaveBeenCalled();
});
