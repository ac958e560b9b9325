import type { ClusterInfo } from '../../wire/panel-link';

/** How many functions a run has in common with the panel's own; undefined: that is not told. */
export type SharedOf = (run: ClusterInfo) => number | undefined;

/**
 * What is told of the functions that runs have in common with the panel's own. It is told while the panel watches; what was told last counts
 * on, so that a hidden panel proposes no other run.
 */
export class SharedFunctions {
  private _own: string | undefined;
  private readonly _counts = new Map<string, number>();

  readonly of: SharedOf = ({ cluster }) => this._counts.get(cluster);

  /** Of any run. */
  get isTold(): boolean {
    return this._counts.size > 0;
  }

  follow(runs: readonly ClusterInfo[], own: ClusterInfo | null): void {
    if (own?.cluster !== this._own) {
      this._own = own?.cluster;
      this._counts.clear();
    }
    for (const { cluster, sharedFunctions = [] } of runs) {
      const told = sharedFunctions.find(each => each.cluster === this._own);
      if (told !== undefined) {
        this._counts.set(cluster, told.count);
      }
    }
  }
}
