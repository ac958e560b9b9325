import { shownText } from '../base/shown-text';

/** Puts the theme's colours in the place of roles; texts hide nothing; everything else of a figure stays as it is. */
export function withColours<T>(
  value: T,
  colourOf: (role: string) => string
): T {
  if (typeof value === 'string') {
    return (value.startsWith('--') ? colourOf(value) : shownText(value)) as T;
  }
  if (Array.isArray(value)) {
    // Columns of numbers are passed on, not copied: they can be long.
    return (
      // (a step of a colour scale is a number and a colour)
      (
        typeof value[0] === 'number' && typeof value[1] !== 'string'
          ? value
          : value.map(item => withColours(item as unknown, colourOf))
      ) as T
    );
  }
  if (
    typeof value === 'object' &&
    value !== null &&
    !ArrayBuffer.isView(value)
  ) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        withColours(item as unknown, colourOf)
      ])
    ) as T;
  }
  return value;
}
