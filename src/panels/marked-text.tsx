import * as React from 'react';
import { createElement } from '../charts/shown-element';

/** A translated sentence with pieces of it set apart, wherever the translation puts them. */
export function MarkedText(props: {
  readonly text: string;
  /** As they stand in `text`; code, or a figure in bold. */
  readonly piece: string | readonly string[];
  readonly as: 'code' | 'b';
}): JSX.Element {
  const { text, piece, as } = props;
  const [first = '', ...others] = typeof piece === 'string' ? [piece] : piece;
  const at = first === '' ? -1 : text.indexOf(first);
  if (at < 0) {
    return others.length === 0 ? (
      <>{text}</>
    ) : (
      <MarkedText text={text} piece={others} as={as} />
    );
  }
  const Mark = as;
  return (
    <>
      <MarkedText text={text.slice(0, at)} piece={others} as={as} />
      <Mark>{first}</Mark>
      <MarkedText text={text.slice(at + first.length)} piece={others} as={as} />
    </>
  );
}

/** What the cluster says of what waits: the commands in it are code, where a terminal has backticks around them. */
export function ToldText(props: {
  readonly text: string;
  readonly commands: readonly string[];
}): JSX.Element {
  const { commands } = props;
  const text = commands.reduce(
    (told, command) => told.replaceAll(`\`${command}\``, () => command),
    props.text
  );
  return <MarkedText text={text} piece={commands} as="code" />;
}
