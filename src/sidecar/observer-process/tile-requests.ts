/** The tiles that one page waits for. In the observer process. */
import type { Grouping } from '../../observer/tiles/lane-rows';

/**
 * Tiles that may wait. A view needs a dozen, with its neighbours and the coarser ones that stand in for them three dozen; a page with
 * several Task Streams that are dragged while the observer is busy comes to a few hundred.
 */
export const MOST_TILES = 1024;

export type TileRequest = Grouping & {
  readonly watch: number;
  readonly level: number;
  readonly index: number;
};

/**
 * Newest first: a user who drags a view wants what is in it now. A tile that is asked for again while it waits stays one request. When
 * there are too many requests, the oldest are given up: a page that asks for so much has moved on from them.
 */
export class TileRequests {
  /** By tile, the oldest first. */
  private readonly _waiting = new Map<string, TileRequest>();
  /** Newest last; entries that are not in `_waiting` any more are skipped. */
  private _stack: TileRequest[] = [];

  get size(): number {
    return this._waiting.size;
  }

  /** @returns the request that was given up to make room, if there were too many. */
  add(request: TileRequest): TileRequest | undefined {
    const key = keyOf(request);
    this._waiting.delete(key);
    this._waiting.set(key, request);
    this._stack.push(request);
    if (this._stack.length > 2 * MOST_TILES) {
      this._stack = [...this._waiting.values()];
    }
    if (this._waiting.size <= MOST_TILES) {
      return undefined;
    }
    const [oldest, given] = this._waiting.entries().next().value!;
    this._waiting.delete(oldest);
    return given;
  }

  /** The next to make. */
  take(): TileRequest | undefined {
    for (;;) {
      const request = this._stack.pop();
      if (request === undefined) {
        return undefined;
      }
      const key = keyOf(request);
      if (this._waiting.get(key) === request) {
        this._waiting.delete(key);
        return request;
      }
    }
  }

  /** Drops the requests of a watch that has ended. */
  forget(watch: number): void {
    for (const [key, request] of this._waiting) {
      if (request.watch === watch) {
        this._waiting.delete(key);
      }
    }
  }

  clear(): void {
    this._waiting.clear();
    this._stack = [];
  }
}

const keyOf = (request: TileRequest): string => {
  const { watch, level, index, groupSize, group } = request;
  return `${watch}/${level}/${index}/${groupSize}/${group}`;
};
