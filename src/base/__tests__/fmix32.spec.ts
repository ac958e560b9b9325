import { fmix32 } from '../fmix32';

/** MurmurHash3 of nothing is its finaliser of the seed: the numbers that its description has for these seeds. */
it('is what MurmurHash3 ends with', () => {
  expect([0, 1, 0xffffffff].map(fmix32)).toEqual([0, 0x514e28b7, 0x81f16f39]);
});

it('turns about half of the bits for each bit of a number', () => {
  for (let bit = 0; bit < 32; bit++) {
    let turned = 0;
    for (let number = 0; number < 1000; number++) {
      const pair = [number, number ^ (1 << bit)].map(fmix32);
      turned += bitsOf((pair[0]! ^ pair[1]!) >>> 0);
    }
    expect(turned / 1000 / 32).toBeGreaterThan(0.47);
    expect(turned / 1000 / 32).toBeLessThan(0.53);
  }
});

function bitsOf(number: number): number {
  return number.toString(2).replaceAll('0', '').length;
}
