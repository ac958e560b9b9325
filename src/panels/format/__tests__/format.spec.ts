import fc from 'fast-check';

import {
  byteTicks,
  countTicks,
  formatBytes,
  formatByteSeconds,
  formatChange,
  formatClock,
  formatCount,
  formatDifference,
  formatDuration,
  formatInstant,
  formatMoment,
  formatOffsetTick,
  formatPart,
  formatPercent,
  formatShare,
  formatTick,
  formatTimeRange,
  shareOf,
  labelledTicks,
  timeTicks
} from '..';

/** No-break spaces are the rule; plain ones are easier to read here. */
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('durations', () => {
  it.each([
    [0, '0 s'],
    [4e-7, '< 1 µs'],
    [1e-6, '1.00 µs'],
    [850e-6, '850 µs'],
    [999.4e-6, '999 µs'],
    [999.6e-6, '1.00 ms'],
    [0.0124, '12.4 ms'],
    [0.9994, '999 ms'],
    [0.9996, '1.00 s'],
    [9.996, '10.0 s'],
    [29.6, '29.6 s'],
    [119.4, '119 s'],
    [119.6, '2 min 00 s'],
    [217, '3 min 37 s'],
    [7199.7, '2 h 00 min'],
    [7500, '2 h 05 min'],
    [86400 * 3 + 3600 * 4, '3 d 04 h'],
    [-11.2, '−11.2 s'],
    [null, '–']
  ])('%p s is written %p', (seconds, text) => {
    expect(plain(formatDuration(seconds))).toBe(text);
  });

  it('keeps three figures right to half of the last one', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 119, noNaN: true }), seconds => {
        const [figure, unit] = plain(formatDuration(seconds)).split(' ');
        const scale = { µs: 1e-6, ms: 1e-3, s: 1 }[unit ?? ''] ?? NaN;
        const written = Number(figure) * scale;
        expect(Math.abs(written - seconds) / seconds).toBeLessThan(0.0051);
      })
    );
  });

  it('never puts a longer text before a shorter duration of the same unit', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        (a, b) => {
          const [short, long] = a < b ? [a, b] : [b, a];
          const value = (text: string) => {
            let sum = 0;
            const units: Record<string, number> = {
              µs: 1e-6,
              ms: 1e-3,
              s: 1,
              min: 60,
              h: 3600,
              d: 86400
            };
            for (const [, figure, unit] of plain(text)
              .replace('< 1 µs', '0.5 µs')
              .matchAll(/([\d.]+) (µs|ms|min|s|h|d)/g)) {
              sum += Number(figure) * (units[unit ?? ''] ?? NaN);
            }
            return sum;
          };
          expect(value(formatDuration(short))).toBeLessThanOrEqual(
            value(formatDuration(long)) * (1 + 1e-12)
          );
        }
      )
    );
  });
});

describe('bytes', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '0.98 KiB'],
    [53.6 * 2 ** 20, '53.6 MiB'],
    [7.01 * 2 ** 30, '7.01 GiB'],
    [999.6 * 2 ** 20, '0.98 GiB'],
    [-5.83 * 2 ** 30, '−5.83 GiB'],
    [null, '–']
  ])('%p is written %p', (bytes, text) => {
    expect(plain(formatBytes(bytes))).toBe(text);
  });

  it('writes areas and parts of a limit', () => {
    expect(plain(formatByteSeconds(128 * 2 ** 30))).toBe('128 GiB·s');
    const [part, whole] = formatPart(7.01 * 2 ** 30, 16 * 2 ** 30);
    expect([part, plain(whole)]).toEqual(['7.01', '16.0 GiB']);
  });

  it('stays below a thousand in every unit', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1e18, noNaN: true }), bytes => {
        const figure = Number(plain(formatBytes(bytes)).split(' ')[0]);
        expect(figure).toBeLessThan(1000);
        expect(figure).toBeGreaterThan(0);
      })
    );
  });
});

describe('counts, shares and differences', () => {
  it('groups, and shortens from a million on', () => {
    expect(formatCount(456)).toBe('456');
    expect(formatCount(12640)).toBe('12,640');
    expect(formatCount(999_999)).toBe('999,999');
    expect(plain(formatCount(1_250_000))).toBe('1.25 M');
    expect(plain(formatCount(999_900_000))).toBe('1.00 G');
  });

  it.each([
    [0, '0 %'],
    [0.0004, '< 0.1 %'],
    [0.041, '4.1 %'],
    [0.0996, '10 %'],
    [0.23, '23 %'],
    [0.9951, '> 99 %'],
    [0.9999, '> 99 %'],
    [1, '100 %'],
    [null, '–']
  ])('share %p is written %p', (share, text) => {
    expect(plain(formatShare(share))).toBe(text);
  });

  it.each([
    [0, '0 %'],
    [0.001, '< 0.01 %'],
    [3.512, '3.51 %'],
    [98.7, '98.7 %'],
    [212.4, '212 %'],
    [null, '–'],
    [NaN, '–']
  ])('per cent of a core, %p, are written %p', (percent, text) => {
    expect(plain(formatPercent(percent))).toBe(text);
  });

  it.each([
    [0, [0]],
    [0.4, [0]],
    [3, [0, 1, 2, 3]],
    [30, [0, 10, 20, 30]],
    [98, [0, 50]],
    [212, [0, 100, 200]],
    [9_001, [0, 5_000]]
  ])('up to %p there are ticks of counts at %p', (largest, ticks) => {
    expect(countTicks(largest, 3)).toEqual(ticks);
  });

  it('says "0 %" only for nothing and "100 %" only for all', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-12, max: 1 - 1e-9, noNaN: true }),
        share => {
          expect(['0 %', '100 %']).not.toContain(plain(formatShare(share)));
        }
      )
    );
    expect(shareOf(1, 0)).toBeNull();
    expect(shareOf(1, 4)).toBe(0.25);
  });

  it('signs differences', () => {
    expect(plain(formatDifference(-11.2, formatDuration))).toBe('−11.2 s');
    expect(plain(formatDifference(2, formatDuration))).toBe('+2.00 s');
    expect(plain(formatDifference(0, formatDuration))).toBe('0 s');
    expect(plain(formatChange(-11.2, 40.8))).toBe('−27 %');
    expect(plain(formatChange(1168.2, 10))).toBe('+11,682 %');
    expect(formatChange(1, 0)).toBe('');
  });
});

/** Of time axes up to some days. */
const STEPS = [
  ...[-6, -5, -4, -3, -2, -1, 0].flatMap(power =>
    [1, 2, 5].map(factor => factor * 10 ** power)
  ),
  ...[10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400],
  ...[1, 2, 3, 4, 5].map(days => days * 86400)
];

describe('points in time', () => {
  it('writes instants, ticks and ranges', () => {
    expect(plain(formatInstant(21.31))).toBe('21.310 s');
    expect(plain(formatInstant(125.25))).toBe('2 min 05.250 s');
    expect(plain(formatInstant(7325.25))).toBe('2 h 02 min 05.250 s');
    expect(
      [0, 7.5, 29.283, 59.94, 59.96, 75.26, 119.6, 689.283, 7325.25].map(
        seconds => plain(formatMoment(seconds))
      )
    ).toEqual([
      '0.00 s',
      '7.50 s',
      '29.3 s',
      '59.9 s',
      '60.0 s',
      '75.3 s',
      '2 min 00 s',
      '11 min 29 s',
      '2 h 02 min 05 s'
    ]);
    expect(plain(formatTick(5, 5))).toBe('5 s');
    expect(plain(formatTick(0.25, 0.05))).toBe('0.25 s');
    expect(plain(formatTick(150, 15))).toBe('2 min 30 s');
    expect(plain(formatTick(600, 300))).toBe('10 min');
    expect(plain(formatOffsetTick(10, 10))).toBe('+10 s');
    expect(plain(formatOffsetTick(0, 10))).toBe('0 s');
    expect(plain(formatTimeRange(14.6, 30.6))).toBe('14.6 s – 30.6 s');
    expect(plain(formatTimeRange(4.1, 21.3))).toBe('4.10 s – 21.3 s');
    expect(plain(formatTimeRange(12, 12.4))).toBe('12.0 s – 12.4 s');
    expect(plain(formatTimeRange(12.01, 12.012))).toBe('12.010 s – 12.012 s');
    expect(plain(formatTimeRange(0, 29.6))).toBe('0 s – 29.6 s');
    // The ends of a range are written as moments are.
    for (const at of [7.5, 59.94, 59.96, 75.26, 99.96, 119.94, 119.96, 689.3]) {
      expect(formatTimeRange(0, at)).toBe(`0\u00a0s – ${formatMoment(at)}`);
    }
  });

  it('says the date only when it is not today', () => {
    const at = new Date(2026, 4, 3, 9, 21, 40).getTime() / 1000;
    expect(formatClock(at, at + 60)).toBe('09:21:40');
    expect(formatClock(at, at + 86400)).toBe('2026-05-03 09:21:40');
  });

  it('puts ticks far enough apart, inside the range, with texts that differ', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e5, noNaN: true }),
        fc.double({ min: -4, max: 5, noNaN: true }).map(power => 10 ** power),
        fc.integer({ min: 100, max: 3000 }),
        (from, width, pixels) => {
          const { step, ticks } = timeTicks(from, from + width, pixels);
          const apart = (step / width) * pixels;
          const widest = Math.max(0, ...ticks.map(({ text }) => text.length));
          expect(apart).toBeGreaterThanOrEqual(
            Math.min(72, 8 + widest * 6.5) - 1e-6
          );
          if (apart < 72 - 1e-6) {
            // Only where one of the next step would stand alone, or none.
            const next = STEPS.find(each => (each / width) * pixels >= 72)!;
            const first = Math.ceil(from / next - 1e-9);
            const last = Math.floor((from + width) / next + 1e-9);
            expect(last - first).toBeLessThanOrEqual(0);
          }
          expect(ticks.length).toBeLessThanOrEqual(
            pixels / Math.min(72, apart) + 1
          );
          for (const { at } of ticks) {
            expect(at).toBeGreaterThanOrEqual(from - step * 1e-6);
            expect(at).toBeLessThanOrEqual(from + width + step * 1e-6);
          }
          const texts = new Set(ticks.map(({ text }) => text));
          expect(texts.size).toBe(ticks.length);
        }
      )
    );
  });

  it('has labels of one kind on an axis', () => {
    const texts = (from: number, to: number, pixels: number) =>
      timeTicks(from, to, pixels).ticks.map(({ text }) => plain(text));
    expect(texts(80, 119, 300)).toEqual(['80 s', '90 s', '100 s', '110 s']);
    expect(texts(80, 140, 300)).toEqual([
      '1 min 30 s',
      '1 min 45 s',
      '2 min',
      '2 min 15 s'
    ]);
    expect(texts(119, 121, 400).slice(-3)).toEqual([
      '2 min',
      '2 min 00.5 s',
      '2 min 01.0 s'
    ]);
    expect(texts(0, 119, 150)).toEqual(['0 min', '1 min']);
    expect(texts(6000, 9000, 300)).toEqual([
      '1 h 45 min',
      '2 h',
      '2 h 15 min',
      '2 h 30 min'
    ]);
    expect(texts(0, 8000, 160)).toEqual(['0 h', '1 h', '2 h']);
    expect(texts(7199, 7202, 500)).toContain('2 h 00 min 01 s');
    expect(plain(formatTick(-90, 15, 120))).toBe('−1 min 30 s');
    // What a label says of less than its largest unit is less than one of these.
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 2e4, noNaN: true }),
        fc.double({ min: -2, max: 5, noNaN: true }).map(power => 10 ** power),
        fc.integer({ min: 100, max: 3000 }),
        (from, width, pixels) => {
          const labels = texts(from, from + width, pixels);
          const most = (unit: string): number =>
            Math.max(
              0,
              ...labels.map(text =>
                Number(
                  new RegExp(`([\\d.]+) ${unit}(?= |$)`).exec(text)?.[1] ?? 0
                )
              )
            );
          if (labels.some(text => / (min|h)/.test(text))) {
            expect(most('s')).toBeLessThan(60);
          }
          if (labels.some(text => text.includes(' h'))) {
            expect(most('min')).toBeLessThan(60);
          }
        }
      )
    );
  });

  it('follows the clock from ten seconds on', () => {
    expect(timeTicks(0, 29.6, 480).step).toBe(5);
    expect(timeTicks(0, 120, 720).step).toBe(15);
    expect(timeTicks(0, 7200, 720).step).toBe(900);
    expect(timeTicks(0, 0, 720).ticks).toEqual([]);
    expect(byteTicks(16 * 2 ** 30)).toEqual(
      [0, 4, 8, 12, 16].map(g => g * 2 ** 30)
    );
    expect(byteTicks(1)).toEqual([0, 1]);
    expect(byteTicks(3)).toEqual([0, 1, 2, 3]);
  });
});

describe('labels of a time axis', () => {
  /** Letters are 7 px wide. */
  const widthOf = (text: string) => 7 * text.length;
  const labels = (from: number, to: number, pixels: number) =>
    labelledTicks(from, to, pixels, formatTick, widthOf);

  it('stand at their ticks where they have room', () => {
    expect(labels(0, 10, 600).map(({ text, x }) => [plain(text), x])).toEqual([
      ['0 s', 10.5],
      ['2 s', 120],
      ['4 s', 240],
      ['6 s', 360],
      ['8 s', 480],
      ['10 s', 586]
    ]);
  });

  it('stand further apart in a small part of a long run', () => {
    // They are 105 px wide; that of 21.300 s, moved inwards, would touch the next one.
    const shown = labels(1281.3, 1281.304, 600);
    expect(shown.map(({ text }) => plain(text))).toEqual([
      '21 min 21.301 s',
      '21 min 21.302 s',
      '21 min 21.303 s'
    ]);
  });

  it('are at least two where there is room for that, as in a small chart', () => {
    const texts = (from: number, to: number, pixels: number) =>
      timeTicks(from, to, pixels).ticks.map(({ text }) => plain(text));
    expect(texts(2, 374, 195)).toEqual(['2 min', '4 min', '6 min']);
    expect(texts(2, 374, 250)).toEqual(['2 min', '4 min', '6 min']);
    expect(texts(2, 290, 195)).toEqual(['2 min', '4 min']);
    expect(texts(70, 374, 100)).toEqual(['5 min']);
  });

  it('never touch each other or leave the axis, and are in order', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e5, noNaN: true }),
        fc.double({ min: -5, max: 5, noNaN: true }),
        fc.integer({ min: 120, max: 2000 }),
        (from, exponent, pixels) => {
          const shown = labels(from, from + 10 ** exponent, pixels);
          let free = 0;
          for (const { text, x } of shown) {
            const half = widthOf(text) / 2;
            expect(x - half).toBeGreaterThanOrEqual(free - 1e-6);
            expect(x + half).toBeLessThanOrEqual(pixels + 1e-6);
            free = x + half + 8;
          }
        }
      )
    );
  });
});
