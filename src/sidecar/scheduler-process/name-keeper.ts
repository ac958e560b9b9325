/** Bounds the log's dictionary in a cluster that lives long. In the scheduler process. */
import type { DenseTaskId } from '../../records/ids';
import { TaskState } from '../../scheduler';
import type { ClusterState } from './cluster-state';

/** Each graph brings new group names: at some 150 bytes each, 15 MB. */
const MOST_NAMES = 100_000;
/** Clients and workers send texts of at most 1,000 characters. */
const MOST_CHARACTERS = 16 << 20;

/**
 * Forgets names that no task uses any more, the oldest first, down to half of the bound, so that looking through the tasks is rare.
 *
 * Names are written into the log once, and its readers keep them. Here they are needed for the keys in reports, and to give a text its id
 * again; a client that uses a forgotten group again sees it as `…` in an error's key.
 */
export class NameKeeper {
  private _bound: number;
  private _boundCharacters: number;

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _mostNames = MOST_NAMES,
    private readonly _mostCharacters = MOST_CHARACTERS
  ) {
    this._bound = _mostNames;
    this._boundCharacters = _mostCharacters;
  }

  /** To be called now and then; mostly costs one comparison. */
  keepBound(): void {
    const { log, clock } = this._cluster;
    const { names } = log;
    if (
      names.size <= this._bound &&
      names.characters <= this._boundCharacters
    ) {
      return;
    }
    const used = this._used();
    const forgotten = names.forgetOldest(
      this._mostNames / 2,
      this._mostCharacters / 2,
      id => used.has(id)
    );
    // Where live tasks use nearly all of them, looking again at once would find nothing.
    this._bound = Math.max(this._mostNames, 2 * names.size);
    this._boundCharacters = Math.max(
      this._mostCharacters,
      2 * names.characters
    );
    if (forgotten > 0) {
      log.event(
        clock(),
        'names-forgotten',
        null,
        `The scheduler forgot ${forgotten.toLocaleString('en')} names that no task uses.`
      );
    }
  }

  private _used(): ReadonlySet<number> {
    const { core, rows } = this._cluster;
    const { state } = core.tasks;
    const used = new Set<number>();
    for (let i = 0; i < rows.ids.extent; i++) {
      const task = i as DenseTaskId;
      if (state[task] !== TaskState.Forgotten) {
        used.add(rows.group[task]!);
        used.add(rows.functionId[task]!);
      }
    }
    return used;
  }
}
