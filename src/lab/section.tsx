/** A section of the sidebar: a heading that is a button, and what it shows or hides. */
import { caretDownEmptyIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { createElement } from '../charts/shown-element';

export function Section(props: {
  /** The heading, and its button's name. */
  readonly name: string;
  /** At the right of the heading. */
  readonly action?: React.ReactNode;
  readonly children: React.ReactNode;
}): JSX.Element {
  const [isExpanded, setExpanded] = React.useState(true);
  const id = React.useId();
  return (
    <section className="sw-section">
      <div className="sw-section-header">
        <h2>
          <button
            type="button"
            className="sw-section-toggle"
            aria-expanded={isExpanded}
            aria-controls={id}
            onClick={() => setExpanded(!isExpanded)}
          >
            <caretDownEmptyIcon.react tag="span" className="sw-section-caret" />
            <span className="sw-section-name">{props.name}</span>
          </button>
        </h2>
        {props.action}
      </div>
      <div id={id} hidden={!isExpanded}>
        {props.children}
      </div>
    </section>
  );
}
