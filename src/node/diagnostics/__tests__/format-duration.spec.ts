import * as fc from 'fast-check';
import { formatDuration } from '../format-duration';

describe('§2 durations', () => {
  it.each([
    [0, '0.00 us'],
    [0.00014091, '140.91 us'],
    [0.001, '1.00 ms'],
    [0.6021801, '602.18 ms'],
    [1, '1.00 s'],
    [59.999, '60.00 s'],
    [600, '600.00 s'],
    [600.1, '10m 0s'],
    [7200, '120m 0s'],
    [7201, '2hr 0m'],
    [172_800, '48hr 0m'],
    [172_801, '2d 0hr'],
    [300_000, '3d 11hr']
  ])('§2: %d s is %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });

  it('§2: has one unit below ten minutes and two above', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e7, noNaN: true }), seconds => {
        expect(formatDuration(seconds)).toMatch(
          seconds > 600
            ? /^\d+(m \d+s|hr \d+m|d \d+hr)$/
            : /^\d+\.\d\d (us|ms|s)$/
        );
      })
    );
  });
});
