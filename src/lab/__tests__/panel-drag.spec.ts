import './pointer-events';
import type { Drag } from '@lumino/dragdrop';
import { Widget } from '@lumino/widgets';
import { taskStreamIcon } from '../../panels/icons';
import type { PanelDescription } from '../../panels/panel';
import { english } from '../../testing/translators';
import { dropText } from '../drop-text';
import { dragAfterMove, FACTORY_MIME, type PanelDrag } from '../panel-drag';

const panel: PanelDescription = {
  name: 'task-stream',
  title: trans => trans.__('Task Stream'),
  question: trans => trans.__('What ran where, and when?'),
  icon: taskStreamIcon,
  create: () => {
    throw new Error('the drag’s own factory is used');
  }
};

function point(type: string, x: number, y: number): void {
  const event = new PointerEvent(type, {
    bubbles: true,
    cancelable: true,
    button: 0,
    clientX: x,
    clientY: y
  });
  (document.elementFromPoint(x, y) ?? document.body).dispatchEvent(event);
}

/**
 * Takes drops as a dock panel does: by the factory, asked once at the drop. (A real dock panel finds its zones by the page's layout,
 * which jsdom has not; the browser tests drag onto one.)
 */
function fakeDock(): { node: HTMLElement; taken: Widget[] } {
  const node = document.createElement('div');
  const taken: Widget[] = [];
  const accept = (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    (event as Drag.Event).dropAction = 'move';
  };
  node.addEventListener('lm-dragenter', event => {
    if ((event as Drag.Event).mimeData.hasData(FACTORY_MIME)) {
      accept(event);
    }
  });
  node.addEventListener('lm-dragover', accept);
  node.addEventListener('lm-drop', event => {
    const factory = (event as Drag.Event).mimeData.getData(
      FACTORY_MIME
    ) as () => Widget;
    taken.push(factory());
    accept(event);
  });
  document.body.appendChild(node);
  return { node, taken };
}

describe('dragging a panel', () => {
  let dock: ReturnType<typeof fakeDock>;
  let drag: PanelDrag & { create: jest.Mock };
  const started = jest.fn();

  beforeEach(() => {
    started.mockClear();
    dock = fakeDock();
    // Everything lies under the pointer.
    document.elementFromPoint = () => dock.node;
    drag = {
      panel,
      trans: english,
      create: jest.fn(() => new Widget()),
      docked: () => []
    };
  });

  afterEach(() => {
    dock.node.remove();
    document.querySelectorAll('.sw-drag-image').forEach(node => node.remove());
  });

  it('starts after 5 px, not before', () => {
    dragAfterMove({ clientX: 100, clientY: 100 }, drag, started);
    point('pointermove', 104, 104);
    expect(started).not.toHaveBeenCalled();
    point('pointermove', 105, 100);
    expect(started).toHaveBeenCalledTimes(1);
    expect(document.querySelector('.sw-drag-image')?.textContent).toBe(
      'Task StreamWhat ran where, and when?'
    );
    point('pointerup', 105, 100);
  });

  it('is a click when the pointer is released before', () => {
    dragAfterMove({ clientX: 100, clientY: 100 }, drag, started);
    point('pointerup', 102, 100);
    point('pointermove', 300, 300);
    expect(started).not.toHaveBeenCalled();
  });

  it('hands the dock a factory that is asked once, at the drop', () => {
    dragAfterMove({ clientX: 100, clientY: 100 }, drag, started);
    point('pointermove', 200, 200);
    point('pointermove', 400, 300);
    expect(drag.create).not.toHaveBeenCalled();
    point('pointerup', 400, 300);
    expect(drag.create).toHaveBeenCalledTimes(1);
    point('pointerup', 400, 300);
    expect(drag.create).toHaveBeenCalledTimes(1);
    expect(dock.taken).toHaveLength(1);
  });
});

describe('the words for a drop', () => {
  const widget = { left: 0, top: 0, right: 400, bottom: 300 };
  it.each([
    [{ left: 200, top: 0, right: 400, bottom: 300 }, 'to the right of n'],
    [{ left: 0, top: 0, right: 200, bottom: 300 }, 'to the left of n'],
    [{ left: 0, top: 150, right: 400, bottom: 300 }, 'below n'],
    [{ left: 0, top: 0, right: 400, bottom: 150 }, 'above n'],
    [{ left: 0, top: 0, right: 400, bottom: 300 }, 'as a tab beside n']
  ])('are right for %p', (overlay, words) => {
    expect(dropText(overlay, widget, 'n', english)).toBe(`drop: ${words}`);
  });
});
