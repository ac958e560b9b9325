/** Colours of one dozen. */
export const SLOTS = 12;
/** The third dozen is the last with a colour of its own. */
const ROUNDS = 3;
/** The first two dozen go to the functions that appear first; the third is kept for functions that turn out to matter. */
const FIRST_COME = 24;
/** From this share of all thread time a function matters: below it, its bar is a line. */
const NOTABLE_SHARE = 0.005;
/** 5 and 12 have no common divisor: stepping by 5 visits every slot. */
export const STEP = 5;

export type Slot = { readonly slot: number; readonly round: number };
/** From the 37th function on: grey, with the label "other". */
export const OTHER_SLOT: Slot = { slot: -1, round: 0 };

const encoder = new TextEncoder();

/** FNV-1a, 32 bit, over the UTF-8 bytes. */
export function fnv1a32(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 0;
}

/**
 * Which colour a function has. A name prefers the slot of its hash, so that it looks the same in most clusters; the first to come keeps a
 * contested one and the other steps on by 5. One table per log: all panels, tabs and reloads agree.
 *
 *     "inc" → 7           slot 7, round 0
 *     "add" → 7 (taken)   slot 0, round 0        (7 + 5) mod 12
 */
export class FunctionSlots {
  private readonly _slots = new Map<string, Slot>();

  /** The slot of a name; a name that is new takes one. */
  assign(name: string): Slot {
    const known = this._slots.get(name);
    if (known !== undefined) {
      return known;
    }
    const round = Math.floor(this._slots.size / SLOTS);
    if (round >= ROUNDS) {
      return OTHER_SLOT;
    }
    const taken = new Set<number>();
    for (const slot of this._slots.values()) {
      if (slot.round === round) {
        taken.add(slot.slot);
      }
    }
    let slot = fnv1a32(name) % SLOTS;
    while (taken.has(slot)) {
      slot = (slot + STEP) % SLOTS;
    }
    const assigned = { slot, round };
    this._slots.set(name, assigned);
    return assigned;
  }

  /** A name appears in the log: it takes a slot while there are slots for first comers. */
  meet(name: string): void {
    if (this._slots.size < FIRST_COME) {
      this.assign(name);
    }
  }

  has(name: string): boolean {
    return this._slots.has(name);
  }

  /** The slots of first comers are taken, and late ones may get one of the others. */
  get hasLateOnes(): boolean {
    const { size } = this._slots;
    return size >= FIRST_COME && size < ROUNDS * SLOTS;
  }

  /**
   * Late functions with a notable share of the thread time take a slot of the third dozen now, the largest first, and keep it: many small
   * functions must not turn the one that matters grey.
   */
  meetLate(shares: ReadonlyMap<string, number>): void {
    [...shares]
      .filter(([, share]) => share >= NOTABLE_SHARE)
      .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
      .forEach(([name]) => this.assign(name));
  }

  /** The slot of a name, else "other". */
  of(name: string): Slot {
    return this._slots.get(name) ?? OTHER_SLOT;
  }
}
