/** The drawer of a frame in a panel that has no room for all of it. */
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';
import { createElement } from '../../../charts/shown-element';
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

function show(
  selected: number | null,
  shown = tree,
  focus: number | null = null
): void {
  flushSync(() =>
    root.render(
      <ProfileView
        tree={shown}
        activity={activityOf(profile)}
        wholeActivity={null}
        time="all"
        focus={focus}
        selected={selected}
        found={null}
        selection={selection}
        theme={theme}
        trans={trans}
        onZoom={zoomed}
        onSelect={node => show(node, shown)}
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
  // (as in Safari, where a click gives a button no focus)
  expect(document.activeElement).toBe(document.body);
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

describe('the focus, when what has it goes away', () => {
  const link = (name: string) =>
    [...drawer()!.querySelectorAll<HTMLElement>('.sw-link')].find(
      ({ textContent }) => textContent === name
    )!;
  const hasFocus = () => {
    const { activeElement } = document;
    return activeElement?.getAttribute('aria-label') ?? activeElement?.tagName;
  };
  /** Of one name each, as "all load read": the samples of a frame that calls the next. */
  const treeOf = (...paths: readonly string[]) => {
    const nodes = { parent: [], name: [], file: [], n: [] } as {
      parent: number[];
      name: string[];
      file: string[];
      n: number[];
    };
    const known = new Map<string, number>();
    for (const path of paths) {
      const names = path.split(' ');
      names.forEach((name, depth) => {
        const own = names.slice(0, depth + 1).join(' ');
        if (!known.has(own)) {
          known.set(own, nodes.name.length);
          nodes.parent.push(known.get(names.slice(0, depth).join(' ')) ?? -1);
          nodes.name.push(name);
          nodes.file.push(depth === 0 ? '' : 'a.py');
          nodes.n.push(1);
        }
      });
    }
    const zeros = nodes.n.map(() => 0);
    return frameTree({
      ...profile,
      nodes: {
        ...nodes,
        line: zeros,
        slot: zeros,
        onCore: zeros,
        waiting: zeros,
        gil: zeros,
        blocked: zeros
      }
    });
  };

  it('stays in the drawer, whichever link is followed', () => {
    const shown = treeOf('all load read');
    show(1, shown);
    link('read').focus();
    link('read').click();
    expect(drawer()!.textContent).toContain('read');
    expect(hasFocus()).toBe('Facts of the frame');
    // The link to who called it is there as long as there is one.
    link('load').focus();
    link('load').click();
    expect(document.activeElement).toBe(link('all functions'));
    link('all functions').click();
    expect(hasFocus()).toBe('Facts of the frame');
  });

  it('stays with a call when new answers number it anew', () => {
    show(1, treeOf('all load read', 'all load parse'));
    link('parse').focus();
    show(1, treeOf('all load parse', 'all load read'));
    expect(document.activeElement).toBe(link('parse'));
    // The call is gone, then the frame itself.
    show(1, treeOf('all load read'));
    expect(hasFocus()).toBe('Facts of the frame');
    show(null, treeOf('all other'));
    expect(hasFocus()).toBe('Profile chart');
  });

  it('stays with the chart when *Show all*, beside the title of a zoomed frame, is followed', () => {
    const all = () =>
      [...host.querySelectorAll<HTMLElement>('.sw-link')].find(
        ({ textContent }) => textContent === 'Show all'
      );
    show(null);
    expect(all()).toBeUndefined();
    show(null, tree, 1);
    all()!.focus();
    all()!.click();
    expect(zoomed.mock.calls).toEqual([[null]]);
    show(null);
    expect(all()).toBeUndefined();
    expect(hasFocus()).toBe('Profile chart');
  });

  it('is taken from nothing else', () => {
    const elsewhere = document.body.appendChild(
      document.createElement('button')
    );
    elsewhere.focus();
    show(2);
    show(null);
    expect(document.activeElement).toBe(elsewhere);
    elsewhere.remove();
  });
});
