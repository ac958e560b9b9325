/** A line for screen readers alone: polite, and at most one message in five seconds, however often the figures change. */
import * as React from 'react';
import { createElement } from '../charts/shown-element';

const PAUSE_MS = 5000;

export function LiveLine(props: { readonly text: string }): JSX.Element {
  const [said, setSaid] = React.useState('');
  const saidAt = React.useRef(-Infinity);
  React.useEffect(() => {
    const wait = Math.max(0, saidAt.current + PAUSE_MS - Date.now());
    const timer = setTimeout(() => {
      saidAt.current = Date.now();
      setSaid(props.text);
    }, wait);
    return () => clearTimeout(timer);
  }, [props.text]);
  return (
    <div className="sw-live-line" aria-live="polite">
      {said}
    </div>
  );
}
