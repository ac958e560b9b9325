import fc from 'fast-check';
import { StoredKind } from '../../records/enumerations';
import type { SpanId } from '../../records/ids';
import { StoredSums } from '../stored-sums';

/** Two of each, so that neighbours are alike, or differ in one of the four. */
const anyChange = fc.record({
  worker: fc.nat(1),
  span: fc.nat(1).map(id => id as SpanId),
  functionId: fc.nat(1),
  kind: fc.constantFrom(StoredKind.Stored, StoredKind.Released),
  change: fc.integer({ min: -100, max: 100 })
});

describe('sums of what is stored', () => {
  it('are one for each worker, span, function and kind since they were taken', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(anyChange, { maxLength: 30 }), { maxLength: 4 }),
        batches => {
          const sums = new StoredSums();
          for (const batch of batches) {
            const expected = new Map<string, number>();
            for (const { change, ...of } of batch) {
              sums.add(of.worker, of.span, of.functionId, of.kind, change);
              const key = JSON.stringify(of);
              expected.set(key, (expected.get(key) ?? 0) + change);
            }
            const taken = sums.take().map(({ change, ...of }) => [of, change]);
            expect(taken).toEqual(
              [...expected].map(([key, change]) => [JSON.parse(key), change])
            );
            expect(sums.take()).toEqual([]);
          }
        }
      )
    );
  });
});
