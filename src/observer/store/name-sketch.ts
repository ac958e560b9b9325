import { fmix32 } from '../../base/fmix32';
import { placeInOrder } from '../../base/place-in-order';
import { fnv1a32 } from '../function-slots';

/** Of a larger set the smallest. */
export const MOST_HASHES = 512;
/** There are so many hashes. */
const HASHES = 2 ** 32;

const itself = (hash: number): number => hash;

/**
 * A set of names in a few numbers: its smallest hashes, of a set that is not very large all. They are the same in whatever order its names
 * come. Up to the largest that is kept of either, two sets know exactly which names they have in common. The hashes are mixed: those of FNV
 * are close to each other for names that differ in their last characters, so that of *task-1*, *task-2* and so on all would be kept, or none.
 */
export class NameSketch {
  /** Ascending, each once. */
  private readonly _hashes: number[] = [];

  get hashes(): readonly number[] {
    return this._hashes;
  }

  add(name: string): void {
    const hash = fmix32(fnv1a32(name));
    // (behind those that are no larger)
    const at = placeInOrder(this._hashes, hash, itself);
    if (at < MOST_HASHES && this._hashes[at - 1] !== hash) {
      this._hashes.splice(at, 0, hash);
      this._hashes.length = Math.min(this._hashes.length, MOST_HASHES);
    }
  }

  /** Of all names, the share that would be kept: those of the smallest hashes. */
  get keptShare(): number {
    return this._hashes.length < MOST_HASHES
      ? 1
      : (this._hashes.at(-1)! + 1) / HASHES;
  }

  /** No more than this many names are in the set. */
  get most(): number {
    return this._hashes.length < MOST_HASHES ? this._hashes.length : Infinity;
  }
}

/**
 * How many names are in both: a guess where one has more than are kept, from those that both would have kept. Null: one of the two has none of
 * these, so that nothing is known.
 */
export function sharedNames(a: NameSketch, b: NameSketch): number | null {
  const share = Math.min(a.keptShare, b.keptShare);
  const isKnown = [a, b].every(
    ({ hashes: [least = Infinity] }) => least < HASHES * share
  );
  if (!isKnown) {
    return null;
  }
  const shared = countShared(a.hashes, b.hashes);
  return Math.min(Math.round(shared / share), a.most, b.most);
}

/** Of two ascending lists. */
function countShared(a: readonly number[], b: readonly number[]): number {
  let count = 0;
  let at = 0;
  for (const hash of a) {
    while (at < b.length && b[at]! < hash) {
      at++;
    }
    count += Number(b[at] === hash);
  }
  return count;
}
