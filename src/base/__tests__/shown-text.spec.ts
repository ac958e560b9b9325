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
