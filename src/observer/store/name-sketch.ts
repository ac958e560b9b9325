import { fnv1a32 } from '../function-slots';

/** Of sets that are no larger it is exact, whether they have a name in common. */
const KEPT = 32;

/**
 * A set of names in a few numbers: its smallest hashes. Two sets that have much in common have some of them in common, however large they are,
 * and those of a set are the same in whatever order its names come.
 */
export class NameSketch {
  /** Ascending, each once. */
  private readonly _hashes: number[] = [];

  get hashes(): readonly number[] {
    return this._hashes;
  }

  add(name: string): void {
    const hash = fnv1a32(name);
    const above = this._hashes.findIndex(each => each >= hash);
    const at = above < 0 ? this._hashes.length : above;
    if (at < KEPT && this._hashes[at] !== hash) {
      this._hashes.splice(at, 0, hash);
      this._hashes.length = Math.min(this._hashes.length, KEPT);
    }
  }
}
