/** Colours of one dozen. */
export const SLOTS = 12;
/** The third dozen is the last with a colour of its own. */
const ROUNDS = 3;
/** The first two dozen go to the functions that appear first; the third is kept for functions that turn out to matter. */
const FIRST_COME = 24;
/** From this share of all thread time a function matters: below it, its bar is a line. */
const NOTABLE_SHARE = 0.005;
/** A late function takes the slot of one that is lighter by this factor, so that two of about one weight do not take it from each other in turns. */
const HEAVIER = 2;
/** Late functions whose weight is known. */
const MOST_LATE = 4096;
/** 5 and 12 have no common divisor: stepping by 5 visits every slot. */
export const STEP = 5;

type Slot = { readonly slot: number; readonly round: number };
/** Of all others: grey, with the label "other". */
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
 *
 * Late functions get the third dozen by their seconds: the first that have a notable share of the thread time, each until one needs it that
 * has much more. That, too, depends on the log alone, and not on when or what somebody asked.
 */
export class FunctionSlots {
  private readonly _slots = new Map<string, Slot>();
  /** Seconds of late functions, in any unit; of no more than {@link MOST_LATE}. */
  private readonly _weights = new Map<string, number>();
  /** Whether slots of the third dozen have been given: then only who has got heavier may get one. */
  private _hasGiven = false;

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
    if (!this.hasLateOnes) {
      this.assign(name);
    }
  }

  /** The slots of first comers are taken: whoever comes is late. */
  get hasLateOnes(): boolean {
    return this._slots.size >= FIRST_COME;
  }

  /**
   * Functions ran for longer.
   *
   * @param more - by name: by how much; those of first comers do not count.
   * @param whole - the thread time of all functions, in the same unit.
   */
  weigh(more: ReadonlyMap<string, number>, whole: number): void {
    const late = [...more.keys()].filter(name => !this._isFirstComer(name));
    for (const name of late) {
      this._weights.set(name, this._weight(name) + more.get(name)!);
    }
    if (this.hasLateOnes) {
      // The largest first: many small functions must not turn the one that matters grey.
      const waiting = this._hasGiven ? late : [...this._weights.keys()];
      this._hasGiven = true;
      waiting
        .filter(name => this._weight(name) >= NOTABLE_SHARE * whole)
        .sort((a, b) => this._weight(b) - this._weight(a) || (a < b ? -1 : 1))
        .forEach(name => this._give(name));
    }
    if (this._weights.size > MOST_LATE) {
      this._forgetLightest();
    }
  }

  /** The slot of a name, else "other". */
  of(name: string): Slot {
    return this._slots.get(name) ?? OTHER_SLOT;
  }

  private _weight(name: string): number {
    return this._weights.get(name) ?? 0;
  }

  private _isFirstComer(name: string): boolean {
    const slot = this._slots.get(name);
    return slot !== undefined && slot.round < FIRST_COME / SLOTS;
  }

  private _give(name: string): void {
    if (this._slots.has(name)) {
      return;
    }
    if (this._slots.size === ROUNDS * SLOTS) {
      const lightest = [...this._slots.keys()]
        .slice(FIRST_COME)
        .reduce((a, b) => (this._weight(b) < this._weight(a) ? b : a));
      if (this._weight(lightest) > this._weight(name) / HEAVIER) {
        return;
      }
      this._slots.delete(lightest);
    }
    this.assign(name);
  }

  private _forgetLightest(): void {
    const without = [...this._weights.keys()]
      .filter(name => !this._slots.has(name))
      .sort((a, b) => this._weight(a) - this._weight(b));
    for (const name of without.slice(0, MOST_LATE / 2)) {
      this._weights.delete(name);
    }
  }
}
