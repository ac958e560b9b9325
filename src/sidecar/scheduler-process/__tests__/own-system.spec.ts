import * as fc from 'fast-check';
import { restingSeconds } from '../own-system';

describe('a scheduler without tasks', () => {
  it('looks just behind the looks of its workers', () => {
    const times: number[] = [];
    for (let now = 57_270.3; times.length < 5;) {
      now += restingSeconds(now);
      times.push(Number(now.toFixed(6)));
    }
    expect(times).toEqual([57272.02, 57274.02, 57276.02, 57278.02, 57280.02]);
  });

  it('never waits in vain, nor longer than until the next look', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 1e8, noNaN: true }), now => {
        const seconds = restingSeconds(now);
        expect(seconds).toBeGreaterThan(0.009);
        expect(seconds).toBeLessThan(2.02);
        const looks = (now + seconds - 0.02) / 2;
        expect(Math.abs(looks - Math.round(looks))).toBeLessThan(1e-6);
      }),
      { numRuns: 2000 }
    );
  });
});
