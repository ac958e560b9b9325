/** By how much the second of two runs held more than the first. */
import fc from 'fast-check';
import { english } from '../../../testing/translators';
import type { MemoryResult } from '../../../wire/panel-link';
import { differenceFigure } from '../figure';
import { differenceOf, differenceText } from '../rows';

const MiB = 2 ** 20;
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

type Run = MemoryResult['runs'][number];

const run = (number: number, over: Partial<Run>): Run => ({
  run: number,
  label: `run ${number}`,
  measure: 'process',
  intervalSeconds: 1,
  start: 100 * number,
  stopped: 100 * number + 50,
  t: [],
  bytes: [],
  samples: 2,
  first: 1,
  last: 1,
  peak: 1,
  peakAt: 1,
  mean: 1,
  area: 1,
  ...over
});

/** A run's samples, by seconds since its start. */
const sampled = (
  number: number,
  samples: readonly (readonly [t: number, bytes: number | null])[],
  over: Partial<Run> = {}
) =>
  run(number, {
    t: samples.map(([t]) => 100 * number + t),
    bytes: samples.map(([, bytes]) => bytes),
    ...over
  });

const of = (...runs: Run[]): MemoryResult => ({
  view: 'memory',
  measure: 'process',
  series: [],
  limits: null,
  runs,
  now: null
});
const between = (
  result: MemoryResult,
  hidden: ReadonlySet<string> = new Set()
) => differenceOf(result, english, hidden);

const low = sampled(1, [
  [0, 10],
  [4, 10],
  [6, 10]
]);
const high = sampled(2, [
  [0, 10],
  [2, 30],
  [4, 0],
  [9, 0]
]);

describe('the difference of two runs', () => {
  it('is the second less the first, from the start of each, as long as both go on', () => {
    expect(between(of(low, high))).toEqual({
      label: 'run 2 − run 1',
      of: 'run 2',
      t: [0, 2, 2 + 4 / 3, 4, 6],
      bytes: [0, 20, 0, -10, -10]
    });
    const drawn = between(of(low, high));
    expect(plain(differenceText(drawn as never, english))).toBe(
      'from −10 B at +4.0 s to +20 B at +2.0 s'
    );
  });

  it('is zero of a run and itself, and turned round of two in the other order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(20), fc.nat(9)), { minLength: 2 }),
        fc.array(fc.tuple(fc.nat(20), fc.nat(9)), { minLength: 2 }),
        (one, other) => {
          const [a, b] = [one, other].map((samples, number) =>
            sampled(
              number,
              [...new Map(samples)].sort(([t], [later]) => t - later)
            )
          ) as [Run, Run];
          const there = between(of(a, b));
          const back = between(of(b, a));
          const same = between(of(a, { ...a, run: 7 }));
          if (
            typeof there === 'string' ||
            typeof back === 'string' ||
            typeof same === 'string'
          ) {
            throw new Error('Two runs have a difference.');
          }
          expect(same.bytes.every(value => value === 0)).toBe(true);
          expect(back.t).toEqual(there.t.map(t => expect.closeTo(t, 9)));
          expect(back.bytes).toEqual(
            there.bytes.map(value => expect.closeTo(-value!, 9))
          );
          // It changes its sign at a zero, so that both sides are drawn to the line.
          there.bytes.forEach((value, index) => {
            expect(value! * (there.bytes[index + 1] ?? 0)).toBeGreaterThan(
              -1e-9
            );
          });
        }
      )
    );
  });

  it('is of means where there are too many samples to draw each', () => {
    const bins = {
      seconds: 2,
      from: [100, 102],
      low: [1, 1],
      high: [9, 9],
      mean: [4, 5]
    };
    const thinned = sampled(
      1,
      [
        [0, 1],
        [1, 9],
        [3, 1]
      ],
      { bins }
    );
    const other = sampled(2, [
      [0, 10],
      [4, 10]
    ]);
    expect(between(of(thinned, other))).toMatchObject({
      t: [1, 3],
      bytes: [6, 5]
    });
  });

  it('is not known where one of them is not', () => {
    const gap = sampled(2, [
      [0, 1],
      [1, null],
      [2, null],
      [6, 1]
    ]);
    const drawn = between(of(low, gap));
    expect(drawn).toMatchObject({ bytes: expect.arrayContaining([null]) });
    const none = between(of(low, sampled(2, [])));
    expect(none).toMatchObject({ t: [] });
    expect(differenceText(none as never, english)).toBe('');
  });

  it.each<[string, Run[], string[]]>([
    ['there are fewer', [low], []],
    ['show these alone', [low, high, run(3, {})], []],
    ['show these alone', [low, high], ['run 1']],
    ['different measures', [low, { ...high, measure: 'managed' }], []]
  ])('says why there is none: %s', (why, runs, hidden) => {
    expect(between(of(...runs), new Set(hidden))).toContain(why);
  });

  it('is of the two of three that are shown', () => {
    expect(
      between(of(low, run(3, {}), high), new Set(['run 3']))
    ).toMatchObject({ label: 'run 2 − run 1' });
  });

  it('is drawn above and below zero, each side with a look of its own', () => {
    const { data, layout } = differenceFigure(
      { t: [0, 1, 2, 3], bytes: [0, 4 * MiB, null, -2 * MiB] },
      { width: 876 }
    );
    expect(data).toMatchObject([
      {
        y: [0, 4 * MiB, null, 0],
        fill: 'tozeroy',
        fillcolor: '--sw-slower',
        fillpattern: { shape: '/' }
      },
      { y: [0, 0, null, -2 * MiB], fillcolor: '--sw-faster' }
    ]);
    expect(data[1]).not.toHaveProperty('fillpattern');
    const { xaxis, yaxis } = layout as Record<
      'xaxis' | 'yaxis',
      { range: number[]; ticktext: string[] }
    >;
    expect(yaxis.range).toEqual([-2.1 * MiB, 4.2 * MiB]);
    expect(yaxis.ticktext.map(plain)).toEqual([
      '−2 MiB',
      '0',
      '+2 MiB',
      '+4 MiB'
    ]);
    expect(xaxis.range).toEqual([0, expect.closeTo(3.06, 9)]);
    const none = differenceFigure({ t: [], bytes: [] }, { width: 876 });
    expect(none.layout).toMatchObject({ yaxis: { range: [-1, 1] } });
    const part = differenceFigure(
      { t: [0, 9], bytes: [0, 1] },
      { width: 876, range: [2, 3] }
    );
    expect(part.layout).toMatchObject({ xaxis: { range: [2, 3] } });
  });
});
