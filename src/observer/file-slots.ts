import { fnv1a32, SLOTS, STEP } from './function-slots';

/** So many files may have one colour: with them three dozen have one, as functions do. */
const FILES_PER_SLOT = 3;
/** A file takes the colour of one that is lighter by this factor, so that two of about one weight do not take it from each other in turns. */
const HEAVIER = 2;
/** Files whose weight is known. A notebook has one for each cell that ran. */
const MOST_FILES = 4096;

/**
 * Which colour the frames of a file have. A file weighs as many samples as its frames have, which is the area that the Profile draws of it.
 * The heavy ones have a colour; the first to come are mostly modules that are imported once. A file keeps its colour until a much heavier one
 * needs it: then it is too light to be seen much. A new file takes the colour that is lightest without the one which leaves.
 *
 *     colour 1     a 90  b 50  c 9       x comes with 20: c may leave, e may, h may not
 *     colour 2     d 60  e 2   f 4
 *     colour 3     g 15  h 12  i 11      a 90 b 50 are heavier than d 60 f 4, so e leaves
 *
 * It depends on the log alone, and not on when or what somebody asked: all panels, tabs and reloads agree.
 */
export class FileSlots {
  private readonly _weights = new Map<string, number>();
  private readonly _slots = new Map<string, number>();
  /** By slot. */
  private readonly _files: string[][] = Array.from({ length: SLOTS }, () => []);

  /** -1: none. */
  slotOf(file: string): number {
    return this._slots.get(file) ?? -1;
  }

  /** Some samples were taken: of how many frames, by file. */
  add(samples: ReadonlyMap<string, number>): void {
    for (const [file, n] of samples) {
      this._weights.set(file, this._weight(file) + n);
    }
    const waiting = [...samples.keys()]
      .filter(file => !this._slots.has(file))
      .sort((a, b) => this._weight(b) - this._weight(a) || (a < b ? -1 : 1));
    for (const file of waiting) {
      // Who had to leave may be heavy enough for another one's; it then waits behind all others. Each that leaves had half of the weight.
      const left = this._give(file);
      if (left !== '') {
        waiting.push(left);
      }
    }
    if (this._weights.size > MOST_FILES) {
      this._forgetLightest();
    }
  }

  private _weight(file: string): number {
    return this._weights.get(file) ?? 0;
  }

  /** @returns the file that leaves for it; '': none. */
  private _give(file: string): string {
    const isFull = this._slots.size === SLOTS * FILES_PER_SLOT;
    const most = this._weight(file) / HEAVIER;
    let slot = fnv1a32(file) % SLOTS;
    let best = { slot: -1, weight: Infinity, leaves: '' };
    for (let i = 0; i < SLOTS; i++) {
      const files = this._files[slot]!;
      const leaves = isFull ? this._lightestOf(files) : '';
      const weight = files.reduce(
        (sum, each) => sum + (each === leaves ? 0 : this._weight(each)),
        0
      );
      const hasRoom = isFull
        ? this._weight(leaves) <= most
        : files.length < FILES_PER_SLOT;
      if (hasRoom && weight < best.weight) {
        best = { slot, weight, leaves };
      }
      slot = (slot + STEP) % SLOTS;
    }
    if (best.slot < 0) {
      return '';
    }
    const files = this._files[best.slot]!;
    if (best.leaves !== '') {
      files.splice(files.indexOf(best.leaves), 1);
      this._slots.delete(best.leaves);
    }
    files.push(file);
    this._slots.set(file, best.slot);
    return best.leaves;
  }

  private _lightestOf(files: readonly string[]): string {
    return files.reduce((lightest, file) =>
      this._weight(file) < this._weight(lightest) ? file : lightest
    );
  }

  private _forgetLightest(): void {
    const without = [...this._weights.keys()]
      .filter(file => !this._slots.has(file))
      .sort((a, b) => this._weight(a) - this._weight(b));
    for (const file of without.slice(0, MOST_FILES / 2)) {
      this._weights.delete(file);
    }
  }
}
