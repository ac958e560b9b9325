import { createElement } from '../../../charts/shown-element';
import { english } from '../../../testing/translators';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';

import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { FrameTreeView } from '../frame-tree-view';
import { frameTree } from '../rows';

const result = ask(drawnStore(firstLook()), 'profile', { ended: true });
let host: HTMLElement;
let root: Root;
const selected = jest.fn();

function show(tree = frameTree(result)) {
  flushSync(() =>
    root.render(
      <FrameTreeView
        tree={tree}
        label="Profile, first-look"
        treeLabel="Frames"
        selected={null}
        trans={english}
        onSelect={selected}
      />
    )
  );
}
const items = () => [...host.querySelectorAll<HTMLElement>('[role=treeitem]')];
const item = (name: string) =>
  items().find(element => element.textContent?.includes(name)) as HTMLElement;
function press(key: string) {
  flushSync(() =>
    document.activeElement?.dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true })
    )
  );
}

beforeEach(() => {
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
  selected.mockClear();
  show();
});
afterEach(() => {
  root.unmount();
  host.remove();
});

describe('the tree of frames', () => {
  it('opens the heavy paths at first', () => {
    expect(host.querySelector('[role=tree]')?.getAttribute('aria-label')).toBe(
      'Frames'
    );
    expect(item('fit_fold').getAttribute('aria-level')).toBe('3');
    expect(item('map_features').getAttribute('aria-expanded')).toBe('false');
    expect(item('sin')).toBeUndefined();
  });

  it('is walked, opened and closed by arrows', () => {
    items()[0]?.focus();
    press('ArrowDown');
    expect(document.activeElement?.textContent).toContain('execute_task');
    press('ArrowLeft');
    expect(items()).toHaveLength(2);
    press('ArrowRight');
    expect(items().length).toBeGreaterThan(2);
    press('ArrowRight');
    expect(document.activeElement?.textContent).toContain('fit_fold');
    press('ArrowUp');
    press('Enter');
    expect(selected).toHaveBeenCalledWith(1);
  });

  it('has a column in its grid for each cell, of the head and of each row', () => {
    const grid = host.querySelector<HTMLElement>('.sw-FrameTree')!;
    // Beside the frame and its place.
    const figures = Number(grid.style.getPropertyValue('--sw-figures'));
    const rows = [...grid.querySelectorAll('.sw-FrameTree-row')];
    expect(rows.length).toBeGreaterThan(2);
    for (const row of rows) {
      expect(row.children).toHaveLength(2 + figures);
    }
  });

  it('stays open when new samples come', () => {
    item('map_features').click();
    show(frameTree({ ...result, nodes: { ...result.nodes } }));
    expect(item('map_features').getAttribute('aria-expanded')).toBe('true');
  });
});
