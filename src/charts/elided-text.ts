import { shownText } from '../base/shown-text';

/** What knows how wide a text is: a canvas's context, or what stands for one. */
export type TextMeasure = {
  measureText(text: string): { readonly width: number };
};

/** `written`, nothing of it hidden, in the context's font, or as much of it as fits `room` with an ellipsis, or nothing below three letters. */
export function elided(
  context: TextMeasure,
  written: string,
  room: number
): string {
  const text = shownText(written);
  if (room <= 0) {
    return '';
  }
  if (context.measureText(text).width <= room) {
    return text;
  }
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low < 3 ? '' : `${text.slice(0, low)}…`;
}
