/** How many names two sets have in common, of a few numbers each. */
import * as fc from 'fast-check';
import { fnv1a32 } from '../function-slots';
import { MOST_HASHES, NameSketch } from '../store/name-sketch';

const sketch = (names: readonly string[]): readonly number[] => {
  const of = new NameSketch();
  names.forEach(name => of.add(name));
  return of.hashes;
};

describe('the sketch of a set of names', () => {
  it('is its smallest hashes, in whatever order and however often names come', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(fc.string(), { maxLength: 100 }),
          // (more than are kept)
          fc.nat(2000).map(count => Array.from({ length: count }, String))
        ),
        fc.infiniteStream(fc.nat()),
        (names, at) => {
          const hashes = [...new Set(names.map(fnv1a32))];
          const smallest = hashes.sort((a, b) => a - b).slice(0, MOST_HASHES);
          expect(sketch(names)).toEqual(smallest);
          const mixed = names
            .map(name => [at.next().value, name] as const)
            .sort(([a], [b]) => a - b)
            .flatMap(([, name]) => [name, name]);
          expect(sketch(mixed)).toEqual(smallest);
        }
      )
    );
  });
});
