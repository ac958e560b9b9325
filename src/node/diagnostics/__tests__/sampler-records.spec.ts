import * as fc from 'fast-check';
import {
  decodedRecords,
  encodedRecord,
  RECORD_BYTES
} from '../sampler-records';

const number = fc.double({ noNaN: true });

describe('records of the sampler', () => {
  it('come back as they were, and half a record waits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ kind: number, at: number, a: number, b: number })),
        fc.integer({ min: 0, max: RECORD_BYTES - 1 }),
        (records, rest) => {
          const bytes = Buffer.concat([
            Buffer.alloc(3),
            ...records.map(encodedRecord),
            Buffer.alloc(rest, 1)
          ]);
          expect(decodedRecords(bytes.subarray(3))).toEqual(records);
        }
      )
    );
  });
});
