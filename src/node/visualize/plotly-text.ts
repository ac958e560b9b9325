/** Texts of users in plotly, which reads `<b>`, `<br>`, `<a href>` and entities in every text that it shows, and `%{y}` in templates. */
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '%': '&#37;'
};

/** @returns what plotly shows as `text`, cut in the middle to `longest` characters so that begin and index of a key stay */
export function plotlyText(text: string, longest = 160): string {
  let shown = text;
  if (text.length > longest) {
    const half = Math.floor((longest - 1) / 2);
    // Not between the two halves of one letter.
    const from = text.slice(0, half).replace(/[\ud800-\udbff]$/, '');
    const to = text.slice(-half).replace(/^[\udc00-\udfff]/, '');
    shown = `${from}…${to}`;
  }
  return shown
    .replace(/[\u0000-\u001f\u007f]/g, ' ')
    .replace(/[&<>]|%(?=\{)/g, letter => ENTITIES[letter]!);
}
