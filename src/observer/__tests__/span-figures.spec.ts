import fc from 'fast-check';
import type { SpanId } from '../../records/ids';
import { membersOf, TaskOrigin } from '../../records/enumerations';
import { SpanFigures } from '../store/span-figures';

const anySpan = fc
  .constantFrom(0, 1, 14, 15, 16, 17, 40, 65_534)
  .map(id => id as SpanId);
const anyFact = fc.record({
  span: anySpan,
  origin: fc.constantFrom(...membersOf(TaskOrigin).map(([, origin]) => origin)),
  submitted: fc.nat(9),
  nbytes: fc.nat(9),
  fails: fc.boolean(),
  extent: fc.option(fc.tuple(fc.nat(9), fc.nat(9)))
});

describe('figures of spans', () => {
  it('count tasks by how their span is known, and keep the extent', () => {
    fc.assert(
      fc.property(fc.array(anyFact), facts => {
        const figures = new SpanFigures();
        for (const {
          span,
          origin,
          submitted,
          nbytes,
          fails,
          extent
        } of facts) {
          figures.addTask(span, origin, submitted);
          figures.addBytes(span, 2 * nbytes);
          figures.addBytes(span, -nbytes);
          if (fails) {
            figures.addFailed(span);
          }
          if (extent !== null) {
            figures.addExtent(span, extent[0], extent[0] + extent[1]);
          }
        }
        for (const id of [0, 1, 14, 15, 16, 17, 40, 41, 65_534, 65_535]) {
          const span = id as SpanId;
          const own = facts.filter(each => each.span === span);
          const of = (origin: number): number =>
            own.filter(each => each.origin === origin).length;
          const extents = own.flatMap(({ extent }) => extent ?? []);
          const starts = extents.filter((_, i) => i % 2 === 0);
          const stops = starts.map((start, i) => start + extents[2 * i + 1]!);
          expect(figures.tasks(span)).toBe(own.length);
          expect(figures.enqueued(span)).toBe(
            Math.min(...own.map(each => each.submitted))
          );
          expect(figures.lastEnqueued(span)).toBe(
            Math.max(...own.map(each => each.submitted))
          );
          expect(figures.nbytes(span)).toBe(
            own.reduce((sum, each) => sum + each.nbytes, 0)
          );
          expect(figures.failedUnrun(span)).toBe(
            own.filter(each => each.fails).length
          );
          expect(figures.exact(span)).toBe(of(TaskOrigin.User));
          expect(figures.inferred(span)).toBe(of(TaskOrigin.Inferred));
          expect(figures.firstStart(span)).toBe(Math.min(...starts));
          expect(figures.lastStop(span)).toBe(Math.max(...stops));
        }
      })
    );
  });

  it('know an extent of a span that has no tasks', () => {
    const figures = new SpanFigures();
    figures.addExtent(100 as SpanId, 2, 3);
    expect(figures.firstStart(100 as SpanId)).toBe(2);
    expect(figures.firstStart(99 as SpanId)).toBe(Infinity);
    expect(figures.lastStop(99 as SpanId)).toBe(-Infinity);
  });
});
