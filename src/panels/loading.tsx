/** Says that something is on its way, once it has taken longer than most answers do; before that it would only flicker. */
import * as React from 'react';
import { createElement } from '../charts/shown-element';

const PATIENCE_MS = 400;

export function Loading(props: { readonly text: string }): JSX.Element | null {
  const [isLate, setIsLate] = React.useState(false);
  React.useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLate ? (
    <div className="sw-loading" role="status">
      <div className="sw-loading-bar" aria-hidden="true" />
      <span className="sw-loading-text">{props.text}</span>
    </div>
  ) : null;
}
