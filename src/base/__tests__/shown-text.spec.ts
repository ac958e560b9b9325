import * as fc from 'fast-check';
import examples from '../../testing/hidden-characters.json';
import { markupText } from '../markup-text';
import { shownText } from '../shown-text';

describe('a text of a user as it is shown', () => {
  it.each(examples.map(({ what, text, shown }) => [what, text, shown]))(
    'has %s',
    (_what, text, shown) => {
      expect(shownText(text!)).toBe(shown);
      expect(shownText(shown!)).toBe(shown);
    }
  );

  it('has nothing that Unicode ignores, standing alone', () => {
    const ignored = /\p{Default_Ignorable_Code_Point}/u;
    const left: string[] = [];
    for (let code = 0; code < 0x110000; code++) {
      const alone = String.fromCodePoint(code);
      if (ignored.test(alone) && shownText(alone) === alone) {
        left.push(code.toString(16));
      }
    }
    expect(left).toEqual([]);
  });

  it('has nothing more to write out', () => {
    // What is hidden or left because of its neighbours, and those.
    const unit = fc.constantFrom(
      ...'a1#\u20e3\u2764\u2192\u845b\u0645\u1820\r\n\u200c\u200d\ufe00\ufe0e\ufe0f\u180b\u061c\u1160',
      ...['\u{1f469}', '\u{1f3f4}', '\u{e0067}', '\u{e007f}', '\u{e0100}']
    );
    fc.assert(
      fc.property(fc.string({ unit }), text => {
        expect(shownText(shownText(text))).toBe(shownText(text));
      }),
      { numRuns: 1000 }
    );
  });

  it('has nothing that turns the order of what stands around it, in markup neither', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
        expect(shownText(text)).not.toMatch(turns);
        expect(markupText(text)).not.toMatch(turns);
        expect(shownText(shownText(text))).toBe(shownText(text));
      })
    );
  });
});
