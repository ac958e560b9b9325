import { createElement } from '../../charts/shown-element';
import type { ErrorHead } from './error-head';

/** What went wrong, and below it where. */
export function ErrorHeadText(props: {
  readonly head: ErrorHead;
  readonly className: string;
}): JSX.Element {
  const { message, where } = props.head;
  return (
    <pre className={props.className}>
      <strong>{message}</strong>
      {where === '' ? '' : `\n${where}`}
    </pre>
  );
}
