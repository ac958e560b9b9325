const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
};

/** Text as text in HTML and XML, in elements and in quoted attributes. */
export function markupText(text: string): string {
  return text.replace(/[&<>"']/g, character => ENTITIES[character]!);
}
