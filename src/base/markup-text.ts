import { shownText } from './shown-text';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
};

/** Text as text in HTML and XML, in elements and in quoted attributes; nothing of it is hidden. */
export function markupText(text: string): string {
  return shownText(text).replace(/[&<>"']/g, character => ENTITIES[character]!);
}
