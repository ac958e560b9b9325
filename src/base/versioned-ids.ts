import { grownColumn, tightCapacity } from './growable-columns';
import { Int32Queue } from './int-queue';

/** Bits of an outer id that hold the dense id; the rest count its owners. */
const DENSE_BITS = 22;
const DENSE_MASK = (1 << DENSE_BITS) - 1;
const VERSIONS = 1 << (32 - DENSE_BITS);
/** Beside the version of a dense id: it has an owner. */
const TAKEN = 1 << 15;

const NONE = -1;

/** The largest number of ids that can be handed out at a time: 4,194,304. */
export const MAX_DENSE_IDS = 1 << DENSE_BITS;

/**
 * Dense ids that are reused, and outer ids (u32) that tell one owner of a dense id from the next.
 *
 * ```
 *   outer id   ┌ version: 10 bits ┬ dense id: 22 bits ┐        dense id 7, third owner  →  (2 << 22) | 7
 * ```
 *
 * Tables are indexed by the dense id. Other processes may still mean an earlier owner, so they are given the outer id: {@link
 * VersionedIds.resolve} recognises late messages. Dense ids are reused oldest first, so the version of one comes round only after 1024
 * × (ids at rest) takes; a message cannot be under way for that long.
 */
export class VersionedIds<
  Dense extends number = number,
  Outer extends number = number
> {
  /** With {@link TAKEN}. */
  private _versions = new Uint16Array(16);
  private _free = new Int32Queue();
  private _extent = 0;

  /** @param limit - how many may be handed out at a time; {@link MAX_DENSE_IDS} at most. */
  constructor(readonly limit = MAX_DENSE_IDS) {}

  /** One more than the largest dense id ever handed out: the length that columns indexed by it need. */
  get extent(): number {
    return this._extent;
  }

  /** How many ids are handed out now. */
  get size(): number {
    return this._extent - this._free.length;
  }

  /** How many more can be handed out. */
  get room(): number {
    return this.limit - this.size;
  }

  /** A dense id, or −1 when all are taken. */
  take(): Dense {
    let id: number;
    if (this._free.length > 0) {
      id = this._free.shift();
    } else if (this._extent === this.limit) {
      return NONE as Dense;
    } else {
      id = this._extent++;
      if (id === this._versions.length) {
        const capacity = tightCapacity(this._versions.length, id + 1);
        this._versions = grownColumn(this._versions, capacity);
      }
    }
    this._versions[id]! |= TAKEN;
    return id as Dense;
  }

  /** Ends the present owner's time; its outer id resolves to −1 from now on. */
  giveBack(id: Dense): void {
    this._versions[id] = (this._versions[id]! + 1) % VERSIONS;
    this._free.push(id);
  }

  /** The outer id (u32) of the present owner of a dense id. */
  outer(id: Dense): Outer {
    // The bit beside the version is shifted out.
    return (((this._versions[id]! << DENSE_BITS) | id) >>> 0) as Outer;
  }

  /** The dense id that an outer id stands for, or −1 when its owner is gone or never was. */
  resolve(outer: Outer): Dense {
    const id = outer & DENSE_MASK;
    const isTaken =
      id < this._extent &&
      this._versions[id] === (TAKEN | (outer >>> DENSE_BITS));
    return (isTaken ? id : NONE) as Dense;
  }
}
