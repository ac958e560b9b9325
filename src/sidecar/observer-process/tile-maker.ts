/** Tiles of one cluster under one filter, settled ones kept. In the observer process. */
import { BoundedMap } from '../../base/bounded-map';
import type { CompiledFilter } from '../../observer/filter';
import type { Slices } from '../../observer/folds/context';
import type { LogStore } from '../../observer/store/log-store';
import { Pyramid } from '../../observer/tiles/pyramid';
import { type Grouping, NOT_GROUPED } from '../../observer/tiles/lane-rows';
import { makeTile, type TileAnswer } from '../../observer/tiles/tile';

/** 23 bytes a box: the columns of a tile. */
const BOX_BYTES = 23;
/** A tile without a box: its arrays, which are nine, and what holds them. */
const TILE_BYTES = 1500;
const KEPT_BYTES = 16 * 2 ** 20;
/** Of lanes in groups, for which pages are kept at a time. */
const GROUPINGS_KEPT = 4;
const GROUPED_BYTES = 8 * 2 ** 20;

export class TileMaker {
  private readonly _pyramid: Pyramid;
  private readonly _grouped = new BoundedMap<string, Pyramid>(GROUPINGS_KEPT);
  private readonly _kept = new BoundedMap<string, TileAnswer>(
    KEPT_BYTES,
    bytesOf
  );
  private _validFor = '';

  constructor(
    private readonly _store: LogStore,
    readonly filter: CompiledFilter
  ) {
    this._pyramid = new Pyramid(_store, filter);
  }

  /** `logSeq`: the newest block that is in it for certain. */
  *tile(
    level: number,
    index: number,
    ended: boolean,
    grouping: Grouping = NOT_GROUPED
  ): Slices<TileAnswer & { readonly logSeq: number }> {
    this._forgetIfOutdated();
    const validFor = this._validFor;
    const key = `${level}/${index}/${grouping.groupSize}/${grouping.group}`;
    const kept = this._kept.get(key);
    const logSeq = this._store.seq;
    if (kept !== undefined) {
      return { ...kept, logSeq };
    }
    const tile = yield* makeTile(
      this._store,
      this._pyramidOf(grouping),
      level,
      index,
      this._store.settledBefore(ended)
    );
    // Made in slices: meanwhile late rows may have come, or the same tile may have been made for another asker.
    this._forgetIfOutdated();
    if (
      tile.settled &&
      validFor === this._validFor &&
      this._kept.peek(key) === undefined
    ) {
      this._kept.set(key, tile);
    }
    return { ...tile, logSeq };
  }

  private _pyramidOf(grouping: Grouping): Pyramid {
    const { groupSize, group } = grouping;
    if (groupSize === 0) {
      return this._pyramid;
    }
    const key = `${groupSize}/${group}`;
    let pyramid = this._grouped.get(key);
    if (pyramid === undefined) {
      pyramid = new Pyramid(
        this._store,
        this.filter,
        GROUPED_BYTES,
        undefined,
        grouping
      );
      this._grouped.set(key, pyramid);
    }
    return pyramid;
  }

  /** Late rows and dropped rows change what was settled; both are rare. */
  private _forgetIfOutdated(): void {
    const validFor = `${this._store.lateRows}/${this._store.droppedRuns}`;
    if (validFor !== this._validFor) {
      this._validFor = validFor;
      this._kept.clear();
    }
  }
}

function bytesOf(tile: TileAnswer): number {
  return TILE_BYTES + tile.columns.laneIndex.length * BOX_BYTES;
}
