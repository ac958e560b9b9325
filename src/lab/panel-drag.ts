/**
 * Dragging a panel out of the gallery: press, move 5 px, and Lumino's own drag takes over, with a widget factory that the dock panel asks
 * for the panel where it is dropped. The ghost under the pointer says where that will be.
 */
import { MimeData } from '@lumino/coreutils';
import { Drag } from '@lumino/dragdrop';
import { DockPanel, type Widget } from '@lumino/widgets';
import type { Trans } from '../base/trans';
import { shownText } from '../base/shown-text';
import type { PanelDescription } from '../panels/panel';
import { dropText } from './drop-text';

/** What the dock panel asks a drag for: a function that returns the widget. */
export const FACTORY_MIME = 'application/vnd.lumino.widget-factory';
const START_PX = 5;

export type PanelDrag = {
  readonly panel: PanelDescription;
  readonly trans: Trans;
  /** Called once, at the drop. */
  readonly create: () => Widget;
  /** The main area's widgets, to name the place under the pointer. */
  readonly docked: () => Iterable<Widget>;
};

/**
 * Follow a pointer that was pressed on an item; `onStart` when it has become a drag (the item's click must then be ignored).
 */
export function dragAfterMove(
  pressed: { readonly clientX: number; readonly clientY: number },
  drag: PanelDrag,
  onStart: () => void
): void {
  const stop = () => {
    document.removeEventListener('pointermove', onMove, true);
    document.removeEventListener('pointerup', stop, true);
    document.removeEventListener('pointercancel', stop, true);
  };
  const onMove = (event: PointerEvent) => {
    const far =
      Math.abs(event.clientX - pressed.clientX) >= START_PX ||
      Math.abs(event.clientY - pressed.clientY) >= START_PX;
    if (far) {
      stop();
      onStart();
      void startPanelDrag(event.clientX, event.clientY, drag);
    }
  };
  document.addEventListener('pointermove', onMove, true);
  document.addEventListener('pointerup', stop, true);
  document.addEventListener('pointercancel', stop, true);
}

async function startPanelDrag(
  clientX: number,
  clientY: number,
  options: PanelDrag
): Promise<void> {
  const { image, question } = dragImage(options);
  const mimeData = new MimeData();
  mimeData.setData(FACTORY_MIME, options.create);
  const drag = new Drag({
    mimeData,
    dragImage: image,
    proposedAction: 'move',
    supportedActions: 'move'
  });
  const onOver = (event: Event) => {
    const { clientX: x, clientY: y } = event as MouseEvent;
    // The dock panel moves its overlay while it handles the event: look at it afterwards.
    requestAnimationFrame(() => {
      question.textContent = shownText(
        placeText(x, y, options) ?? options.panel.question(options.trans)
      );
    });
  };
  const end = () => {
    document.removeEventListener('lm-dragover', onOver, true);
    drag.dispose();
  };
  document.addEventListener('lm-dragover', onOver, true);
  try {
    await drag.start(clientX, clientY);
  } finally {
    end();
  }
}

function placeText(x: number, y: number, options: PanelDrag): string | null {
  for (const widget of options.docked()) {
    const box = widget.node.getBoundingClientRect();
    const isUnder =
      widget.isVisible &&
      x >= box.left &&
      x < box.right &&
      y >= box.top &&
      y < box.bottom;
    if (isUnder && widget.parent instanceof DockPanel) {
      return dropText(
        overlayBox(widget.parent),
        box,
        widget.title.label,
        options.trans
      );
    }
  }
  return null;
}

/** The final place of the dock's overlay; it slides there for 150 ms, so its present box is not yet right. */
function overlayBox(dock: DockPanel): Parameters<typeof dropText>[0] {
  const whole = dock.node.getBoundingClientRect();
  const { left, top, right, bottom } = dock.overlay.node.style;
  return {
    left: whole.left + parseFloat(left || '0'),
    top: whole.top + parseFloat(top || '0'),
    right: whole.right - parseFloat(right || '0'),
    bottom: whole.bottom - parseFloat(bottom || '0')
  };
}

function dragImage({ panel, trans }: PanelDrag): {
  image: HTMLElement;
  question: HTMLElement;
} {
  const image = document.createElement('div');
  image.className = 'sw-drag-image';
  const icon = document.createElement('span');
  panel.icon.element({ container: icon });
  const text = document.createElement('span');
  text.className = 'sw-gallery-text';
  const title = document.createElement('span');
  title.className = 'sw-gallery-title';
  title.textContent = shownText(panel.title(trans));
  const question = document.createElement('span');
  question.className = 'sw-gallery-question';
  question.textContent = shownText(panel.question(trans));
  text.append(title, question);
  image.append(icon, text);
  return { image, question };
}
