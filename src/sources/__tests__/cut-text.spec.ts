import fc from 'fast-check';
import { cutInTheMiddle } from '../cut-text';

describe('a text', () => {
  it('is whole up to the bound; beyond, its two ends are left', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 8 }), (text, half) => {
        const most = 2 * half;
        expect(cutInTheMiddle(text, most)).toBe(
          text.length <= most
            ? text
            : `${text.slice(0, half)} … ${text.slice(text.length - half)}`
        );
      })
    );
    expect(cutInTheMiddle('abcd', 4)).toBe('abcd');
    expect(cutInTheMiddle('abcde', 4)).toBe('ab … de');
  });
});
