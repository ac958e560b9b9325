import * as fc from 'fast-check';
import { plotlyText } from '../plotly-text';

describe('a text of a user in plotly', () => {
  it('has no markup, no entities and no places of a template', () => {
    expect(plotlyText('<b>&amp;</b> 50%')).toBe(
      '&lt;b&gt;&amp;amp;&lt;/b&gt; 50%'
    );
    expect(plotlyText('%{y:.3f}')).toBe('&#37;{y:.3f}');
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), text => {
        expect(plotlyText(text)).not.toMatch(/[<>\u0000-\u001f]|%\{/);
      })
    );
  });

  it('is cut in the middle, never within a letter', () => {
    expect(plotlyText('abcdefghij', 7)).toBe('abc…hij');
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.integer({ min: 5, max: 40 }),
        (text, longest) => {
          const shown = plotlyText(text, longest);
          // With `u` a surrogate is one that stands alone.
          expect(shown).not.toMatch(/[\ud800-\udfff]/u);
        }
      )
    );
  });
});
