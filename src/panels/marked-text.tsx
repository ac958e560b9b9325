import * as React from 'react';

/** A translated sentence with one piece of it set apart, wherever the translation puts that piece. */
export function MarkedText(props: {
  readonly text: string;
  /** As it stands in `text`; code, or a figure in bold. */
  readonly piece: string;
  readonly as: 'code' | 'b';
}): JSX.Element {
  const { text, piece, as: Mark } = props;
  const at = piece === '' ? -1 : text.indexOf(piece);
  return at < 0 ? (
    <>{text}</>
  ) : (
    <>
      {text.slice(0, at)}
      <Mark>{piece}</Mark>
      {text.slice(at + piece.length)}
    </>
  );
}
