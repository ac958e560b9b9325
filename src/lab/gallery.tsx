/** The panels to choose from, each with the question it answers. Press and drag one to where it should dock, or open it. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { createElement } from '../charts/shown-element';
import { gripIcon } from '../panels/icons';
import type { PanelName } from '../panels/panel-context';
import type { PanelDescription } from '../panels/panel';
import { openMenu } from '../panels/panel-menu';
import { dragAfterMove, type PanelDrag } from './panel-drag';
import type { PanelPlace } from './panel-opener';

type GalleryProps = {
  readonly panels: readonly PanelDescription[];
  readonly open: ReadonlySet<PanelName>;
  readonly trans: TranslationBundle;
  /** Show it if it is open, else open it; with a place, there. */
  onOpen(name: PanelName, place?: PanelPlace): void;
  dragOf(panel: PanelDescription): PanelDrag;
};

export function Gallery(props: GalleryProps): JSX.Element {
  return (
    <ul className="sw-gallery" aria-label={props.trans.__('Panels')}>
      {props.panels.map(panel => (
        <li key={panel.name}>
          <GalleryItem panel={panel} {...props} />
        </li>
      ))}
    </ul>
  );
}

function GalleryItem(
  props: GalleryProps & { readonly panel: PanelDescription }
): JSX.Element {
  const { panel, trans } = props;
  const question = panel.question(trans);
  const { icon: Icon } = panel;
  const wasDragged = React.useRef(false);
  const isOpen = props.open.has(panel.name);
  return (
    <button
      type="button"
      className="sw-gallery-item"
      aria-label={panel.title(trans)}
      aria-description={
        isOpen ? `${question} ${trans.__('It is open.')}` : question
      }
      aria-keyshortcuts="Enter Control+Enter"
      title={question}
      onPointerDown={event => {
        wasDragged.current = false;
        if (event.button === 0 && event.pointerType !== 'touch') {
          dragAfterMove(event, props.dragOf(panel), () => {
            wasDragged.current = true;
          });
        }
      }}
      onClick={event => {
        // The release after a drag is no click; the second of a double click shows what the first has opened.
        if (!wasDragged.current) {
          props.onOpen(panel.name, event.ctrlKey ? 'split-right' : undefined);
        }
        wasDragged.current = false;
      }}
      onKeyDown={event => {
        if (event.key === 'Enter' && event.ctrlKey) {
          event.preventDefault();
          props.onOpen(panel.name, 'split-right');
        }
      }}
      onContextMenu={event => {
        event.preventDefault();
        event.stopPropagation();
        openMenu(event.currentTarget, [
          { label: trans.__('Open'), run: () => props.onOpen(panel.name) },
          {
            label: trans.__('Open to the right'),
            run: () => props.onOpen(panel.name, 'split-right')
          },
          {
            label: trans.__('Open below'),
            run: () => props.onOpen(panel.name, 'split-bottom')
          },
          {
            label: trans.__('Open in a new tab here'),
            run: () => props.onOpen(panel.name, 'tab-after')
          }
        ]);
      }}
    >
      <gripIcon.react tag="span" className="sw-gallery-grip" />
      <Icon.react tag="span" className="sw-gallery-icon" />
      <span className="sw-gallery-text">
        <span className="sw-gallery-title">{panel.title(trans)}</span>
        <span className="sw-gallery-question">{question}</span>
      </span>
      {isOpen && <span className="sw-gallery-open">{trans.__('open')}</span>}
    </button>
  );
}
