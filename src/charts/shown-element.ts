/**
 * What JSX is compiled to (`jsxFactory` in tsconfig.json): React's elements, their texts as `shownText` has them. So no view can show a
 * text of a user without it. Properties that the page acts on (`value`, `href`, `data-…`) stay as they are.
 */
import * as React from 'react';
import { shownText } from '../base/shown-text';

/** Attributes of elements that people read, or hear. */
const SHOWN = [
  'title',
  'alt',
  'label',
  'placeholder',
  'aria-label',
  'aria-description',
  'aria-roledescription',
  'aria-valuetext'
];

export const createElement = function (
  type: React.ElementType,
  props: Readonly<Record<string, unknown>> | null,
  ...children: readonly unknown[]
): React.ReactElement {
  // (a component hands its texts on to elements)
  const shown = typeof type === 'string' ? shownProps(props) : props;
  return React.createElement(
    type,
    shown,
    ...(children.map(shownChild) as React.ReactNode[])
  );
} as typeof React.createElement;

function shownProps(
  props: Readonly<Record<string, unknown>> | null
): Readonly<Record<string, unknown>> | null {
  let changed: Record<string, unknown> | null = null;
  for (const name of SHOWN) {
    const value = props?.[name];
    if (typeof value === 'string') {
      const text = shownText(value);
      if (text !== value) {
        changed ??= { ...props };
        changed[name] = text;
      }
    }
  }
  return changed ?? props;
}

function shownChild(child: unknown): unknown {
  if (typeof child === 'string') {
    return shownText(child);
  }
  return Array.isArray(child) && child.some(each => typeof each === 'string')
    ? child.map(shownChild)
    : child;
}
