/** The portable form of a function: what is sent of it, and how it becomes a function again. Part of the workers' programs, so without the parser. */
/** What a worker needs to have the function. */
export type PortableForm =
  | ({ readonly kind: 'module' } & ModulePlace)
  | {
      readonly kind: 'text';
      /** An expression whose value is the function. */
      readonly expression: string;
      readonly name: string;
      /** It keeps no results, so that their memory may leave the worker without a copy. */
      readonly movesResult: boolean;
    };

export type ModulePlace = {
  readonly url: string;
  readonly exportName: string;
  readonly movesResult: boolean;
};

/**
 * The text inside the frame in which a worker compiles it: strict, an expression, its lines numbered as they were.
 *
 * ```
 *   (function (__name) { 'use strict'; return ((x, y) => {
 *     return x + y;
 *   }
 *   ); })
 * ```
 */
export function compilerFrame(expression: string): string {
  return `(function (__name) { 'use strict'; return (${expression}\n); })`;
}

/** @throws TypeError if the module does not export a function of that name; says what it exports. */
export function exportedFunction(
  names: Record<string, unknown>,
  url: string,
  exportName: string
): (...args: unknown[]) => unknown {
  const found = names[exportName];
  if (typeof found !== 'function') {
    throw new TypeError(
      `${url} exports no function '${exportName}' (it exports ${Object.keys(names).join(', ') || 'nothing'}).`
    );
  }
  return found as (...args: unknown[]) => unknown;
}
