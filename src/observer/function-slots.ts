/** Colours of one dozen. */
export const SLOTS = 12;
/** The third dozen is the last with a colour of its own. */
const ROUNDS = 3;
/** The first two dozen go to the functions that appear first; the third is kept for functions that turn out to matter. */
const FIRST_COME = 24;
/** From this share of all thread time a function matters: below it, its bar is a line. */
const NOTABLE_SHARE = 0.005;
/** A function takes what one has that is lighter by this factor, so that two of about one weight do not take it from each other in turns. */
const HEAVIER = 2;
/** Functions whose weight is known. */
const MOST_WEIGHTS = 4096;
/** So many logs in a row that nobody has looked at are read when a name comes; of older ones what was read when they were that many. */
const MOST_UNREAD = 100;
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
 * has much more; and those that run for long, from the beginning. Of those that share a slot the one that has much more is plain (round 0), whichever came first; the slot stays.
 *
 * The log of a notebook's next cluster begins with the table of the one before: a name has its colour before it comes. One that does not come
 * again gives its colour to a new name that finds none.
 *
 * All of that depends on the logs alone, and not on when or what somebody asked.
 */
export class FunctionSlots {
  private readonly _slots = new Map<string, Slot>();
  /** Of these, who has got one by its seconds. */
  private readonly _late = new Set<string>();
  /** Of these, who runs and has got one for that: nothing of it has ended. */
  private readonly _begun = new Set<string>();
  /** Of these, who is of the log before and has not come in this one. */
  private readonly _unseen = new Set<string>();
  /** Seconds in the log before. A name weighs as much in this one until it has run for longer. */
  private readonly _weightsBefore = new Map<string, number>();
  /** Seconds; of no more than {@link MOST_WEIGHTS} functions. */
  private readonly _weights = new Map<string, number>();
  /** Of all functions. */
  private _whole = 0;
  /** Whether slots of the third dozen have been given: then only who has got heavier may get one. */
  private _hasGiven = false;

  /** How many logs in a row before this one are to be read. */
  private _unreadBefore = 0;

  /** @param _before - of the log before; it is read when the first name comes, for that log may still be read meanwhile. */
  constructor(private _before: FunctionSlots | null = null) {
    if (_before !== null) {
      if (_before._unreadBefore >= MOST_UNREAD) {
        _before._inherit();
      }
      this._unreadBefore = _before._unreadBefore + 1;
    }
  }

  /** The slot of a name; a name that is new takes one that is free. */
  assign(name: string): Slot {
    this._inherit();
    const known = this._slots.get(name);
    if (known !== undefined) {
      this._unseen.delete(name);
      return known;
    }
    if (this._slots.size >= ROUNDS * SLOTS) {
      return OTHER_SLOT;
    }
    const rounds = Array.from({ length: SLOTS }, () => new Set<number>());
    for (const { slot, round } of this._slots.values()) {
      rounds[slot]!.add(round);
    }
    const fewest = Math.min(...rounds.map(({ size }) => size));
    const slot = steps(name).find(each => rounds[each]!.size === fewest)!;
    const round = [...Array(ROUNDS).keys()].find(
      each => !rounds[slot]!.has(each)
    )!;
    const assigned = { slot, round };
    this._slots.set(name, assigned);
    return assigned;
  }

  /** A name appears in the log: it takes a slot while there are slots for first comers. */
  meet(name: string): void {
    this._inherit();
    if (this._slots.has(name) || this._firstComers < FIRST_COME) {
      this.assign(name);
      return;
    }
    const gone = this._goneFor(name);
    if (gone !== undefined) {
      this._replace(gone, name);
    }
  }

  /**
   * A run of it is told of while it lasts, as only longer ones are: it has a colour while one is free, or a late one's that does not matter.
   * It keeps that from others which begin, until it has ended.
   */
  begin(name: string): void {
    this.meet(name);
    if (this._slots.has(name)) {
      return;
    }
    if (this._slots.size < ROUNDS * SLOTS) {
      this.assign(name);
    } else {
      const light = [...this._late].filter(
        each =>
          !this._begun.has(each) &&
          this._lateWeight(each) < NOTABLE_SHARE * this._whole
      );
      if (light.length === 0) {
        return;
      }
      const leaves = light.reduce((a, b) =>
        this._lateWeight(b) < this._lateWeight(a) ? b : a
      );
      this._late.delete(leaves);
      this._replace(leaves, name);
    }
    this._late.add(name);
    this._begun.add(name);
  }

  /**
   * Functions ran for longer.
   *
   * @param more - by name: by how many seconds.
   * @param whole - the thread time of all functions, in seconds.
   */
  weigh(more: ReadonlyMap<string, number>, whole: number): void {
    this._inherit();
    this._whole = whole;
    for (const [name, seconds] of more) {
      this._weights.set(name, (this._weights.get(name) ?? 0) + seconds);
      this._unseen.delete(name);
      this._begun.delete(name);
    }
    if (this._firstComers >= FIRST_COME) {
      // The largest first: many small functions must not turn the one that matters grey.
      const waiting = this._hasGiven ? more : this._weights;
      this._hasGiven = true;
      this._notable(waiting.keys())
        .filter(name => !this._slots.has(name))
        .forEach(name => this._give(name));
    }
    this._notable(more.keys()).forEach(name => this._makePlain(name));
    if (this._weights.size > MOST_WEIGHTS) {
      this._forgetLightest();
    }
  }

  /** The slot of a name, else "other". */
  of(name: string): Slot {
    return this._slots.get(name) ?? OTHER_SLOT;
  }

  private _inherit(): void {
    const before = this._before;
    this._before = null;
    this._unreadBefore = 0;
    if (before === null) {
      return;
    }
    // (of a log that nobody has looked at: what it would begin with)
    before._inherit();
    for (const [name, slot] of before._slots) {
      this._slots.set(name, slot);
      this._unseen.add(name);
      if (before._late.has(name)) {
        this._late.add(name);
      }
      if (!before._unseen.has(name)) {
        this._weightsBefore.set(name, before._weights.get(name) ?? 0);
      }
    }
  }

  private _weight(name: string): number {
    return Math.max(
      this._weights.get(name) ?? 0,
      this._weightsBefore.get(name) ?? 0
    );
  }

  private get _firstComers(): number {
    return this._slots.size - this._late.size;
  }

  /** Those that matter, the heaviest first. */
  private _notable(names: Iterable<string>): string[] {
    return [...names]
      .filter(name => this._weight(name) >= NOTABLE_SHARE * this._whole)
      .sort((a, b) => this._weight(b) - this._weight(a) || (a < b ? -1 : 1));
  }

  /** A first comer of the log before that has not come in this one: one whose colour is nearest to what a new name prefers, plain if it can be. */
  private _goneFor(name: string): string | undefined {
    const gone = [...this._unseen].filter(each => !this._late.has(each));
    const order = steps(name);
    const rank = (each: string): number => {
      const { slot, round } = this._slots.get(each)!;
      return order.indexOf(slot) * ROUNDS + round;
    };
    return gone.sort((a, b) => rank(a) - rank(b))[0];
  }

  /** Those that matter and came late: while there are colours, then for one that has not come, then for a much lighter one. */
  private _give(name: string): void {
    if (this._slots.size < ROUNDS * SLOTS) {
      this.assign(name);
      this._late.add(name);
      return;
    }
    const lightest = [...this._late].reduce((a, b) =>
      this._lateWeight(b) < this._lateWeight(a) ? b : a
    );
    if (this._lateWeight(lightest) <= this._weight(name) / HEAVIER) {
      this._late.delete(lightest);
      this._late.add(name);
      this._replace(lightest, name);
    }
  }

  /** Of one that has not come: none. */
  private _lateWeight(name: string): number {
    return this._unseen.has(name) ? -1 : this._weight(name);
  }

  private _replace(leaves: string, comes: string): void {
    const slot = this._slots.get(leaves)!;
    this._slots.delete(leaves);
    this._unseen.delete(leaves);
    this._begun.delete(leaves);
    this._slots.set(comes, slot);
  }

  /** It takes the place of a much lighter function of its slot that has fewer lines, which gets its own. */
  private _makePlain(name: string): void {
    const { slot, round } = this.of(name);
    if (round === 0) {
      return; // plain, or without a colour
    }
    const most = this._weight(name) / HEAVIER;
    const lighter = [...this._slots]
      .filter(
        ([other, of]) =>
          of.slot === slot && of.round < round && this._weight(other) <= most
      )
      .sort(([, a], [, b]) => a.round - b.round)[0];
    if (lighter !== undefined) {
      this._slots.set(name, lighter[1]);
      this._slots.set(lighter[0], { slot, round });
    }
  }

  private _forgetLightest(): void {
    const without = [...this._weights.keys()]
      .filter(name => !this._slots.has(name))
      .sort((a, b) => this._weight(a) - this._weight(b));
    for (const name of without.slice(0, MOST_WEIGHTS / 2)) {
      this._weights.delete(name);
    }
  }
}

/** All slots, in the order in which a name prefers them. */
function steps(name: string): number[] {
  const first = fnv1a32(name) % SLOTS;
  return Array.from({ length: SLOTS }, (_, i) => (first + i * STEP) % SLOTS);
}
