import fc from 'fast-check';

import {
  CELLS_PER_TILE,
  coarserTile,
  levelFor,
  tilesFor,
  tileSeconds
} from '../tile-plan';
import {
  clamped,
  fit,
  followed,
  panned,
  secondsAt,
  xOf,
  zoomedAt
} from '../viewport';

const run = { from: 0, to: 29.6 };
const views = fc
  .tuple(
    fc.double({ min: -10, max: 40, noNaN: true }),
    fc.double({ min: 1e-4, max: 60, noNaN: true })
  )
  .map(([from, width]) => ({ from, to: from + width }));

describe('the view of the run', () => {
  it('shows the whole run with a little room', () => {
    const view = fit(run);
    expect(view.from).toBeLessThanOrEqual(0);
    expect(view.from).toBeGreaterThan(-0.5);
    expect(view.to).toBeGreaterThan(29.6);
    expect(view.to).toBeLessThan(31);
  });

  it('keeps what is under the pointer there while zooming', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.05, max: 0.95, noNaN: true }),
        fc.double({ min: 1.01, max: 8, noNaN: true }),
        (share, factor) => {
          const view = { from: 5, to: 25 };
          const at = view.from + share * 20;
          const next = zoomedAt(view, at, factor, run);
          expect(xOf(next, 1000, at)).toBeCloseTo(share * 1000, 6);
          expect(next.to - next.from).toBeCloseTo(20 / factor, 9);
        }
      )
    );
  });

  it('goes there and back', () => {
    fc.assert(
      fc.property(
        views,
        fc.double({ min: 0, max: 1000, noNaN: true }),
        (view, x) => {
          expect(xOf(view, 1000, secondsAt(view, 1000, x))).toBeCloseTo(x, 5);
        }
      )
    );
  });

  it('never loses the run out of sight, whatever the user does', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.record({
              kind: fc.constant('pan'),
              by: fc.double({ min: -100, max: 100, noNaN: true })
            }),
            fc.record({
              kind: fc.constant('zoom'),
              by: fc.double({ min: 0.1, max: 10, noNaN: true })
            })
          ),
          { maxLength: 30 }
        ),
        moves => {
          let view = fit(run);
          for (const { kind, by } of moves) {
            view =
              kind === 'pan'
                ? panned(view, by, run)
                : zoomedAt(view, (view.from + view.to) / 2, by, run);
            expect(view.to).toBeGreaterThan(view.from);
            expect(view.from).toBeLessThan(run.to);
            expect(view.to).toBeGreaterThan(run.from);
          }
        }
      )
    );
  });

  it('is unchanged by clamping when it shows the run', () => {
    const view = { from: 3, to: 9 };
    expect(clamped(view, run)).toEqual(view);
  });

  it('follows the newest edge without changing its width', () => {
    const view = followed({ from: 0, to: 5 }, run);
    expect(view.to - view.from).toBeCloseTo(5, 9);
    // The room right of it is as many pixels as in the whole run.
    expect(xOf(view, 1000, run.to)).toBeCloseTo(xOf(fit(run), 1000, run.to), 6);
    expect(followed({ from: 0, to: 100 }, run)).toEqual(fit(run));
  });
});

describe('a view that moves', () => {
  /** Of a second to a week; a view of some of it, down to the shortest. */
  const moving = fc
    .tuple(
      fc.double({ min: 1, max: 6e5, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 18, noNaN: true })
    )
    .map(([seconds, share, halvings]) => {
      const extent = { from: 0, to: seconds };
      const at = share * seconds;
      const close = Math.max(2e-6, seconds / 2 ** halvings);
      return {
        extent,
        view: clamped({ from: at - close / 2, to: at + close / 2 }, extent)
      };
    });
  const shares = fc.array(fc.double({ min: -0.2, max: 0.2, noNaN: true }), {
    maxLength: 40
  });

  it('keeps its width exactly, as the scale of its bitmaps must', () => {
    fc.assert(
      fc.property(moving, shares, ({ extent, view }, moves) => {
        const width = view.to - view.from;
        let panning = view;
        for (const share of moves) {
          panning = panned(panning, share * width, extent);
          expect(panning.to - panning.from).toBe(width);
          // (a drag counts from where it began)
          const dragged = clamped(
            { from: view.from + share * width, to: view.to + share * width },
            extent
          );
          expect(dragged.to - dragged.from).toBe(width);
        }
      })
    );
  });

  it('moves as far as it is moved, to a part of a pixel', () => {
    fc.assert(
      fc.property(moving, shares, ({ extent, view }, moves) => {
        const width = view.to - view.from;
        for (const share of moves) {
          const to = view.from + share * width;
          const { from } = panned(view, share * width, extent);
          // (not beyond the run)
          if (to + width * 0.9 > 0 && to < extent.to - width * 0.1) {
            expect(Math.abs(from - to) / width).toBeLessThan(0.5 / 1000);
          }
        }
      })
    );
  });
});

describe('which tiles a view needs', () => {
  it('takes the level whose cells are about a pixel', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
        fc.integer({ min: 200, max: 5000 }),
        (seconds, pixels) => {
          const level = levelFor({ from: 0, to: seconds }, pixels);
          const pixelsPerCell = (2 ** level * 1e-6 * pixels) / seconds;
          if (level > 0) {
            expect(pixelsPerCell).toBeGreaterThanOrEqual(0.7);
            expect(pixelsPerCell).toBeLessThanOrEqual(1.42);
          } else {
            expect(pixelsPerCell).toBeGreaterThanOrEqual(0.7);
          }
        }
      )
    );
  });

  it('covers the part of the view where the run is, and nothing else', () => {
    fc.assert(
      fc.property(views, fc.integer({ min: 6, max: 18 }), (view, level) => {
        const { first, count } = tilesFor(view, level, run);
        const seconds = tileSeconds(level);
        if (view.to > run.from && view.from < run.to) {
          expect(first * seconds).toBeLessThanOrEqual(
            Math.max(view.from, run.from) + 1e-9
          );
          expect((first + count) * seconds).toBeGreaterThanOrEqual(
            Math.min(view.to, run.to) - 1e-9
          );
        }
        expect(first).toBeGreaterThanOrEqual(0);
        expect(count).toBeGreaterThanOrEqual(0);
      })
    );
  });

  it('finds a tile within a coarser one', () => {
    // Tile 7 of a level is the last quarter of tile 1, two levels up.
    expect(coarserTile(3, 7, 2)).toEqual({
      level: 5,
      index: 1,
      fromCell: 384,
      toCell: CELLS_PER_TILE
    });
  });
});
