/**
 * Tiles of the task stream that are here, least recently used thrown away first. Settled ones stay right unless rows come late; each is
 * shown until a newer one comes, so that nothing flickers while the run goes on. One cache per page; a *scope* (log and filter) keeps
 * tiles of different watches apart, and lets equal watches share them.
 */
import type { TileData } from './feed-types';

/** 23 bytes a box (the columns of `TileData`), and some 200 for the objects around it. */
const BYTES_PER_BOX = 23;
const BYTES_PER_TILE = 200;

/** A 4 K wide view at 8 lanes is some 16 tiles; 48 MiB hold a few hundred full ones. */
export const DEFAULT_TILE_BYTES = 48 * 2 ** 20;

export class TileCache {
  constructor(private _budgetBytes: number = DEFAULT_TILE_BYTES) {}

  get(scope: string, level: number, index: number): TileData | null {
    const key = keyOf(scope, level, index);
    const tile = this._tiles.get(key);
    if (tile === undefined) {
      return null;
    }
    // A Map keeps the order of insertion: what is put back is the most recent.
    this._tiles.delete(key);
    this._tiles.set(key, tile);
    return tile;
  }

  /** Keep a tile unless a newer one is here: answers to two requests can overtake one another. */
  put(scope: string, tile: TileData): void {
    const key = keyOf(scope, tile.level, tile.index);
    const had = this._tiles.get(key);
    if (had !== undefined) {
      const isNewer =
        tile.logSeq > had.logSeq ||
        (tile.logSeq === had.logSeq && (tile.settled || !had.settled));
      if (!isNewer) {
        return;
      }
      this._bytes -= sizeOf(had);
      this._tiles.delete(key);
    }
    this._tiles.set(key, tile);
    this._bytes += sizeOf(tile);
    this._shrink();
  }

  setBudget(bytes: number): void {
    this._budgetBytes = bytes;
    this._shrink();
  }

  get size(): number {
    return this._tiles.size;
  }

  get bytes(): number {
    return this._bytes;
  }

  clear(): void {
    this._tiles.clear();
    this._bytes = 0;
  }

  private _shrink(): void {
    for (const [key, tile] of this._tiles) {
      if (this._bytes <= this._budgetBytes) {
        return;
      }
      this._tiles.delete(key);
      this._bytes -= sizeOf(tile);
    }
  }

  private readonly _tiles = new Map<string, TileData>();
  private _bytes = 0;
}

function keyOf(scope: string, level: number, index: number): string {
  return `${level}/${index}/${scope}`;
}

function sizeOf(tile: TileData): number {
  return BYTES_PER_TILE + tile.lane.length * BYTES_PER_BOX;
}
