import fc from 'fast-check';
import { decodeText } from '../decode-text';

// Around the 24 bytes from which on the decoder takes over; 0x7f and 0x80 part ASCII from the rest.
const anyBytes = fc.array(
  fc.oneof(
    { arbitrary: fc.nat(0x7f), weight: 20 },
    fc.constantFrom(0x7f, 0x80, 0xc3, 0xa9, 0xff)
  ),
  { maxLength: 30 }
);

describe('a short text', () => {
  it('is what the decoder makes of it, whatever stands around it', () => {
    fc.assert(
      fc.property(anyBytes, anyBytes, anyBytes, (before, own, after) => {
        const bytes = Uint8Array.from([...before, ...own, ...after]);
        const end = before.length + own.length;
        expect(decodeText(bytes, before.length, end)).toBe(
          new TextDecoder().decode(Uint8Array.from(own))
        );
      })
    );
  });

  it.each([23, 24, 25])('of %s bytes is all of it', length => {
    const text = 'abcdefghijklmnopqrstuvwxyz'.slice(0, length);
    expect(decodeText(new TextEncoder().encode(text), 0, length)).toBe(text);
  });
});
