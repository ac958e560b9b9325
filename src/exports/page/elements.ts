import { shownText } from '../../base/shown-text';

/** Elements with text: nothing of a page's content is ever read as HTML, and nothing of it is hidden. */
type Attributes = Readonly<Record<string, string | number | undefined>>;
type Child = Node | string;

/** An element with these attributes (undefined: without it) and children; strings are text. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) {
      made.setAttribute(key, shownText(String(value)));
    }
  }
  made.append(
    ...children.map(child =>
      typeof child === 'string' ? shownText(child) : child
    )
  );
  return made;
}
