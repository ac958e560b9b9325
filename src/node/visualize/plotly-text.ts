import { shownText } from '../../base/shown-text';

/** Texts of users in plotly, which reads `<b>`, `<br>`, `<a href>` and entities in every text that it shows, and `%{y}` in templates. */
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '%': '&#37;'
};

/** @returns what plotly shows as `written`, nothing of it hidden, cut in the middle to `longest` characters so that begin and index of a key stay */
export function plotlyText(written: string, longest = 160): string {
  // (a space for each end of a line: plotly has its own)
  const text = shownText(written.replace(/[\t\r\n]/g, ' '));
  let shown = text;
  if (text.length > longest) {
    const half = Math.floor((longest - 1) / 2);
    // Not between the two halves of one letter.
    const from = text.slice(0, half).replace(/[\ud800-\udbff]$/, '');
    const to = text.slice(-half).replace(/^[\udc00-\udfff]/, '');
    shown = `${from}…${to}`;
  }
  return shown.replace(/[&<>]|%(?=\{)/g, letter => ENTITIES[letter]!);
}
