/** What is selected, whole, below or beside a chart. Its buttons do not scroll with its facts; Escape closes it from anywhere in it. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { closeIcon } from '@jupyterlab/ui-components';
import type * as React from 'react';
import { createElement } from '../charts/shown-element';
import { ToolButton } from './toolbar';

export function Drawer(props: {
  /** The accessible name. */
  readonly label: string;
  readonly className?: string;
  readonly elementRef?: React.Ref<HTMLElement>;
  /** By which it is made larger or smaller. */
  readonly edge?: React.ReactNode;
  /** Left of *Close*. */
  readonly tools?: React.ReactNode;
  readonly trans: TranslationBundle;
  readonly children: React.ReactNode;
  onClose(): void;
}): JSX.Element {
  const { label, className, tools, trans, onClose } = props;
  return (
    <section
      ref={props.elementRef}
      className={`sw-drawer ${className ?? ''}`}
      role="region"
      aria-label={label}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.preventDefault();
          event.stopPropagation();
          onClose();
        }
      }}
    >
      {props.edge}
      <div className="sw-drawer-tools">
        {tools}
        <ToolButton
          label={trans.__('Close')}
          icon={closeIcon}
          onClick={event => {
            // (in Safari a click gives a button no focus, which then would not be passed on)
            event.currentTarget.focus();
            onClose();
          }}
        />
      </div>
      {props.children}
    </section>
  );
}
