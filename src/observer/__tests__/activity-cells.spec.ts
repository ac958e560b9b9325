import fc from 'fast-check';
import { NONE_U32 } from '../../records/enumerations';
import type { SpanId } from '../../records/ids';
import { ActivityCells } from '../store/activity-cells';

describe('cells of activities', () => {
  const anyPair = fc.record({
    span: fc.constantFrom(0, 1, 2, 7, 65_535),
    // So many that pairs fall together in what is remembered of the latest: 37 of span 0 and 0 of span 1, say.
    fn: fc.oneof(fc.nat(600), fc.constantFrom(37, 256, NONE_U32))
  });

  it('are one for each pair, however pairs take turns', () => {
    fc.assert(
      fc.property(fc.array(anyPair, { maxLength: 300 }), pairs => {
        const met: string[] = [];
        const cells = new ActivityCells((span, fn) => {
          met.push(`${span} ${fn}`);
        });
        const known = new Map<string, number>();
        for (const { span, fn } of pairs) {
          const name = `${span} ${fn}`;
          const cell = cells.cell(span as SpanId, fn);
          expect(cell).toBe(known.get(name) ?? known.size);
          expect([cells.span(cell), cells.function(cell)]).toEqual([span, fn]);
          known.set(name, cell);
        }
        expect(met).toEqual([...known.keys()]);
        expect(cells.length).toBe(known.size);
        // Also when all spans have become one, and others come after that.
        cells.fold(new Uint16Array(65_536));
        for (const { span, fn } of pairs) {
          const cell = cells.cell(span as SpanId, fn);
          expect([cells.span(cell), cells.function(cell)]).toEqual([span, fn]);
        }
      }),
      { examples: [[[0, 1, 0].map(span => ({ span, fn: span ? 0 : 37 }))]] }
    );
  });
});
