/** A graph of named tasks. */
type DrawnGraph = {
  /** In the order in which the drawing first names them: the order of running. */
  readonly names: readonly string[];
  /** The inputs of each task, by name. */
  readonly inputs: ReadonlyMap<string, readonly string[]>;
};

/**
 * Reads a drawing: `a b -> c` says that a and b are inputs of c; a name alone is a task without inputs. Lines or semicolons part the
 * statements, and `->` may be repeated for chains.
 *
 * ```
 *   drawnGraph('a b -> c -> d; x')      a ─┐
 *                                       b ─┴─ c ── d      x
 * ```
 */
export function drawnGraph(drawing: string): DrawnGraph {
  const inputs = new Map<string, string[]>();
  for (const statement of drawing.split(/[;\n]/)) {
    const columns = statement
      .split('->')
      .map(column => column.split(/\s+/).filter(name => name !== ''));
    columns.forEach((names, i) => {
      for (const name of names) {
        const own = inputs.get(name) ?? [];
        inputs.set(name, own);
        own.push(...(columns[i - 1] ?? []));
      }
    });
  }
  return { names: [...inputs.keys()], inputs };
}
