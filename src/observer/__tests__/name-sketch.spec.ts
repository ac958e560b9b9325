/** How many names two sets have in common, of a few numbers each. */
import * as fc from 'fast-check';
import { fmix32 } from '../../base/fmix32';
import { fnv1a32 } from '../function-slots';
import { MOST_HASHES, NameSketch, sharedNames } from '../store/name-sketch';

function sketchOf(names: readonly string[]): NameSketch {
  const sketch = new NameSketch();
  names.forEach(name => sketch.add(name));
  return sketch;
}
const sketch = (names: readonly string[]) => sketchOf(names).hashes;

/** Numbered names, as programs make them: neighbours differ in the last characters. */
const numbered = fc
  .record({
    prefix: fc.constantFrom('task-', 'fit_', 'f', 'package.module.step_', 'é'),
    suffix: fc.constantFrom('', '', '()', '_of_model'),
    first: fc.nat(100_000),
    width: fc.constantFrom(0, 6)
  })
  .map(
    ({ prefix, suffix, first, width }) =>
      (from: number, count: number): string[] =>
        Array.from({ length: count }, (_, i) => {
          const number = `${first + from + i}`.padStart(width, '0');
          return `${prefix}${number}${suffix}`;
        })
  );

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
          const hashes = [...new Set(names.map(name => fmix32(fnv1a32(name))))];
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

  it('has a fair share of any numbered names, also of neighbours', () => {
    fc.assert(
      fc.property(numbered, names => {
        const all = names(0, 5000);
        const session = sketchOf(all);
        // (each name is kept with a chance of 512 / 5000: one of three in 27 % of cases)
        let found = 0;
        for (let i = 0; i < 1000; i++) {
          found += Number(
            (sharedNames(sketchOf(names(5 * i, 3)), session) ?? 0) > 0
          );
        }
        expect(found / 1000).toBeGreaterThan(0.2);
        expect(found / 1000).toBeLessThan(0.34);
      }),
      { numRuns: 30 }
    );
  });

  it('tells of how many numbered names two large sets have in common, about', () => {
    fc.assert(
      fc.property(
        numbered,
        fc.integer({ min: 600, max: 6000 }),
        fc.integer({ min: 600, max: 6000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (names, ofA, ofB, part) => {
          const exact = Math.round(part * Math.min(ofA, ofB));
          const [a, b] = [names(0, ofA), names(ofA - exact, ofB)].map(sketchOf);
          const told = sharedNames(a!, b!) ?? 0;
          // Of the names that both keep the number is as chance has it: hardly ever by more than five times its deviation.
          const share = Math.min(a!.keptShare, b!.keptShare);
          const deviation = Math.sqrt(exact / share) + 1 / share;
          expect(Math.abs(told - exact)).toBeLessThan(5 * deviation);
        }
      )
    );
  });
});
