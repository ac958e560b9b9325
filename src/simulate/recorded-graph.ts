import { RunStatus } from '../records/enumerations';
import { GraphBuilder, type SimulatedGraph } from './graph';

/** Rows of three tables of a record log, oldest first (`src/records/tables.ts`). */
export type RecordedRows = {
  readonly nodes: readonly {
    readonly node: number;
    readonly function: number;
    readonly firstEdge: number;
  }[];
  /** All edges since the log's start. */
  readonly edges: readonly { readonly node: number }[];
  readonly runs: readonly {
    readonly node: number;
    readonly status: number;
    readonly duration: number;
    readonly nbytes: number;
  }[];
};

/**
 * The graph that a log tells of, with the durations and sizes of the first run of each task that ended well. Tasks without such a run are left
 * out, and so are edges to tasks that the log no longer has.
 */
export function recordedGraph(
  name: string,
  { nodes, edges, runs }: RecordedRows
): SimulatedGraph {
  const runOf = new Map<number, RecordedRows['runs'][number]>();
  for (const run of runs) {
    if (run.status === RunStatus.Ok && !runOf.has(run.node)) {
      runOf.set(run.node, run);
    }
  }
  const graph = new GraphBuilder();
  const numbers = new Map<number, number>();
  nodes.forEach((row, i) => {
    const run = runOf.get(row.node);
    if (run === undefined) {
      return;
    }
    const end = nodes[i + 1]?.firstEdge ?? edges.length;
    const inputs = edges
      .slice(row.firstEdge, end)
      .flatMap(({ node }) => numbers.get(node) ?? []);
    const { duration, nbytes } = run;
    const text = String(row.function);
    numbers.set(row.node, graph.add(text, duration, nbytes, inputs));
  });
  return graph.build(name);
}
