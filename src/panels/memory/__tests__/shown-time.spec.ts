import fc from 'fast-check';
import {
  shownTime,
  windowFor,
  type Zoom,
  zoomFrom,
  zoomSaved
} from '../shown-time';

const now = { cluster: 'c1', align: 'clock', time: 'all' } as const;
const view = { from: 10, to: 20 };
const zoom: Zoom = { ...now, range: [12, 13] };

describe('what of the time is shown', () => {
  it('is what was chosen last: the own zoom, the range of all panels, what the Task Stream shows', () => {
    const time = { from: 3, to: 5 };
    expect(shownTime(null, now, null)).toEqual({ by: 'all' });
    expect(shownTime(null, now, view)).toEqual({
      by: 'task-stream',
      range: [10, 20]
    });
    expect(shownTime(null, { ...now, time }, view)).toEqual({
      by: 'filter',
      range: [3, 5]
    });
    // How long that is, is seen by the line.
    expect(shownTime(null, { ...now, time: { last: 5 } }, view)).toEqual({
      by: 'all'
    });
    expect(shownTime(zoom, now, view)).toEqual({ by: 'zoom', range: [12, 13] });
    expect(
      shownTime({ ...zoom, time }, { ...now, time: { ...time } }, view).by
    ).toBe('zoom');
  });

  it('is of its own among runs from zero', () => {
    const zero = { ...now, align: 'zero' } as const;
    expect(shownTime(null, zero, view)).toEqual({ by: 'all' });
    expect(
      shownTime(null, { ...zero, time: { from: 1, to: 2 } }, view)
    ).toEqual({ by: 'all' });
    expect(shownTime({ ...zoom, align: 'zero' }, zero, view).by).toBe('zoom');
  });

  it.each([
    { cluster: 'c2' },
    { align: 'zero' },
    { time: { from: 1, to: 2 } }
  ] as const)('is no zoom of others: %j', other => {
    expect(shownTime(zoom, { ...now, ...other }, null).by).not.toBe('zoom');
  });
});

it('what is asked for covers what is shown, and not much more; a range that moves on a little asks for the same', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1e12, max: 1e12 }),
      fc.integer({ min: 1, max: 1e12 }),
      (begin, width) => {
        const range = [begin / 1e6, (begin + width) / 1e6] as const;
        const { from, to } = windowFor(range);
        expect(from).toBeLessThanOrEqual(range[0]);
        expect(to).toBeGreaterThanOrEqual(range[1]);
        const shown = range[1] - range[0];
        expect(to - from).toBeLessThanOrEqual(2.6 * shown + 1e-5);
      }
    )
  );
  const windows = Array.from({ length: 100 }, (_, step) =>
    JSON.stringify(windowFor([step / 10, 10 + step / 10]))
  );
  expect(new Set(windows).size).toBe(3);
});

it('a zoom survives a reload, and nothing else does in its place', () => {
  const reload = (saved: unknown) =>
    zoomFrom((JSON.parse(JSON.stringify(saved)) as { zoom?: unknown }).zoom);
  expect(reload(zoomSaved(zoom))).toEqual(zoom);
  const timed: Zoom = { ...zoom, time: { from: 1, to: 2 } };
  expect(reload(zoomSaved(timed))).toEqual(timed);
  expect(reload(zoomSaved(null))).toBeNull();
  expect(reload(zoomSaved({ ...zoom, cluster: undefined }))).toBeNull();
  for (const wrong of [
    null,
    7,
    {},
    { ...zoom, range: [3, 3] },
    { ...zoom, range: [1] },
    { ...zoom, range: ['1', 2] },
    { ...zoom, align: 'x' },
    { ...zoom, time: null },
    { ...zoom, cluster: 4 }
  ]) {
    expect(zoomFrom(wrong)).toBeNull();
  }
});
