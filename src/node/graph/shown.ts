/**
 * How consoles print maps and sets of keys: like JavaScript's own, under a name of ours. Without this they print the tables behind them,
 * hundreds of lines for the state of a small run.
 *
 * ```
 *   KeyMap(2) { 'a' => 1, [ 'block', 0 ] => 3 }
 * ```
 */
/** Consoles look for a method under this symbol (Node's, Deno's, Bun's). */
export const SHOWN: unique symbol = Symbol.for('nodejs.util.inspect.custom');

/** What consoles call the method with: how many levels are left, their options, and the function that writes a value out. */
export type ShowArgs = [
  depth: number | null,
  options: object,
  show: (value: unknown, options: object) => string
];

export function shownMap(
  name: string,
  entries: Iterable<readonly [unknown, unknown]>,
  [depth, options, show]: ShowArgs
): string {
  return show(new Map(entries), { ...options, depth }).replace('Map', name);
}

export function shownSet(
  name: string,
  keys: Iterable<unknown>,
  [depth, options, show]: ShowArgs
): string {
  return show(new Set(keys), { ...options, depth }).replace('Set', name);
}
