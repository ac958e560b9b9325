import { placeInOrder } from '../../base/place-in-order';
import { MOST_FUNCTION_HASHES } from '../../wire/panel-link';
import { fnv1a32 } from '../function-slots';

const itself = (hash: number): number => hash;

/**
 * A set of names in a few numbers: its smallest hashes, of a set that is not very large all. They are the same in whatever order its names
 * come. Up to the largest that is kept of either, two sets know exactly which names they have in common.
 */
export class NameSketch {
  /** Ascending, each once. */
  private readonly _hashes: number[] = [];

  get hashes(): readonly number[] {
    return this._hashes;
  }

  add(name: string): void {
    const hash = fnv1a32(name);
    // (behind those that are no larger)
    const at = placeInOrder(this._hashes, hash, itself);
    if (at < MOST_FUNCTION_HASHES && this._hashes[at - 1] !== hash) {
      this._hashes.splice(at, 0, hash);
      this._hashes.length = Math.min(this._hashes.length, MOST_FUNCTION_HASHES);
    }
  }
}
