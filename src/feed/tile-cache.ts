/**
 * Tiles of the task stream that the page has; the least recently used are thrown away first. Settled ones stay right unless rows come late;
 * each is shown until a newer one comes, so that nothing flickers while the run goes on. One cache per page; a *scope* (log and filter)
 * keeps tiles of different watches apart, and lets equal watches share them.
 */
import { BoundedMap } from '../base/bounded-map';
import type { TileData } from './feed-types';

/** 23 bytes a box (the columns of `TileData`), and some 200 for the objects around it. */
const BYTES_PER_BOX = 23;
const BYTES_PER_TILE = 200;

/** How many scopes are remembered; tiles of a scope that was forgotten are asked for again. */
const SCOPES_KEPT = 256;

/** A 4 K wide view at 8 lanes is some 16 tiles; 48 MiB hold a few hundred full ones. */
const DEFAULT_TILE_BYTES = 48 * 2 ** 20;

export class TileCache {
  private readonly _tiles: BoundedMap<string, TileData>;
  private readonly _scopes = new BoundedMap<
    string,
    { readonly number: number }
  >(SCOPES_KEPT);
  private _scopeCount = 0;

  constructor(budgetBytes: number = DEFAULT_TILE_BYTES) {
    this._tiles = new BoundedMap(budgetBytes, sizeOf);
  }

  /** The number that stands for a scope: a long filter is no part of each tile's key. */
  scope(name: string): number {
    let scope = this._scopes.get(name);
    if (scope === undefined) {
      scope = { number: ++this._scopeCount };
      this._scopes.set(name, scope);
    }
    return scope.number;
  }

  get(scope: number, level: number, index: number): TileData | null {
    return this._tiles.get(keyOf(scope, level, index)) ?? null;
  }

  /** Keep a tile unless a newer one is here: answers to two requests can overtake one another. */
  put(scope: number, tile: TileData): void {
    const key = keyOf(scope, tile.level, tile.index);
    const had = this._tiles.peek(key);
    if (had !== undefined) {
      const isNewer =
        tile.logSeq > had.logSeq ||
        (tile.logSeq === had.logSeq && (tile.settled || !had.settled));
      if (!isNewer) {
        return;
      }
    }
    this._tiles.set(key, tile);
  }

  setBudget(bytes: number): void {
    this._tiles.holdAtMost(bytes);
  }

  get size(): number {
    return this._tiles.size;
  }

  get bytes(): number {
    return this._tiles.cost;
  }

  clear(): void {
    this._tiles.clear();
  }
}

function keyOf(scope: number, level: number, index: number): string {
  return `${level}/${index}/${scope}`;
}

function sizeOf(tile: TileData): number {
  return BYTES_PER_TILE + tile.laneIndex.length * BYTES_PER_BOX;
}
