/** Texts of users in plotly, which reads `<b>`, `<br>`, `<a href>` and entities in every text that it shows. */
const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;'
};

/** @returns what plotly shows as `text`, cut in the middle to `longest` characters so that begin and index of a key stay */
export function plotlyText(text: string, longest = 160): string {
  let shown = text;
  if (text.length > longest) {
    const half = Math.floor((longest - 1) / 2);
    shown = `${text.slice(0, half)}…${text.slice(-half)}`;
  }
  return shown
    .replace(/[\u0000-\u001f\u007f]/g, ' ')
    .replace(/[&<>]/g, letter => entities[letter]!);
}
