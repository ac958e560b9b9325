import type { RunGraph } from '../local/state';

/**
 * What a profiler keeps for each run under way, by the run's graph. Runs may be nested or at the same time; mostly the same run asks again.
 */
export class RunsUnderWay<Columns> {
  private readonly _byGraph = new Map<RunGraph, Columns>();
  private _latestGraph: RunGraph | null = null;
  private _latest: Columns | null = null;

  begin(graph: RunGraph, columns: Columns): void {
    this._byGraph.set(graph, columns);
  }

  /** The entry of a run that has begun and not ended. */
  of(graph: RunGraph): Columns {
    if (graph !== this._latestGraph) {
      this._latestGraph = graph;
      this._latest = this._byGraph.get(graph)!;
    }
    return this._latest!;
  }

  /** Forgets the run, and returns what was kept for it. */
  end(graph: RunGraph): Columns {
    const columns = this.of(graph);
    this._byGraph.delete(graph);
    this._latestGraph = null;
    this._latest = null;
    return columns;
  }

  forEach(visit: (columns: Columns) => void): void {
    this._byGraph.forEach(visit);
  }
}
