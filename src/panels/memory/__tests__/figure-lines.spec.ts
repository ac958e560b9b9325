/** What plotly is given for lines that are drawn by hand: places, words, and colours of the theme. */
import type { Figure } from '../../../charts/plotly-api';
import { looksSame } from '../../../charts/same-picture';
import { properties } from '../../../testing/seen-colours';
import { english } from '../../../testing/translators';
import type { LimitStep, MemoryResult } from '../../../wire/panel-link';
import {
  breakdownFigure,
  colourOfLine,
  dashOfLine,
  marksNear,
  memoryFigure,
  timeAxis
} from '../figure';
import { formatTick } from '../../format';
import type { Align, Line, LostMark } from '../rows';

const GiB = 2 ** 30;
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

type Note = Record<string, unknown> & { text: string };
type Layout = {
  readonly margin: Readonly<Record<'l' | 'r' | 't' | 'b', number>>;
  readonly shapes: readonly Record<string, unknown>[];
  readonly annotations: readonly Note[];
  readonly xaxis: Axis;
  readonly yaxis: Axis;
};
type Axis = {
  readonly range: readonly number[];
  readonly tickvals: readonly number[];
  readonly ticktext: readonly string[];
};

/** A run, unless it says otherwise. */
const line = (of: Partial<Line>): Line => ({
  key: 'run 1',
  label: 'one',
  t: [0, 1, 8],
  bytes: [1, 2, 3],
  holds: false,
  run: 1,
  place: 0,
  isRecording: false,
  peak: { t: 1, bytes: 4 * GiB, isFromBefore: false },
  bins: null,
  ...of
});
const series = (of: Partial<Line>) =>
  line({ key: 'series cluster', label: 'cluster', run: null, ...of });
const limits = {
  memoryLimit: 16 * GiB,
  target: 9 * GiB,
  spill: 11 * GiB,
  pause: 13 * GiB
};

function drawn(
  lines: readonly Line[],
  options: {
    readonly limits?: MemoryResult['limits'];
    readonly limitSteps?: readonly LimitStep[];
    readonly align?: Align;
    readonly width?: number;
    readonly height?: number;
    readonly perWorker?: boolean;
    readonly lost?: readonly LostMark[];
    readonly range?: readonly [number, number];
  } = {}
) {
  const { align = 'zero', width = 900, height, perWorker } = options;
  const { lost, range, limitSteps } = options;
  const { data, layout } = memoryFigure(lines, options.limits ?? null, align, {
    width,
    trans: english,
    ...(height === undefined ? {} : { height }),
    ...(perWorker === undefined ? {} : { perWorker }),
    ...(lost && { lost }),
    ...(limitSteps && { limitSteps }),
    ...(range && { range })
  });
  return { data, layout: layout as unknown as Layout };
}

const unmanaged = {
  label: 'unmanaged',
  colour: '--sw-unmanaged-old',
  t: [2, 3, 5],
  bytes: [GiB, null, 2 * GiB]
};
const spilled = {
  label: 'spilled',
  colour: '--sw-kind-disk',
  pattern: '-',
  t: [2, 3, 4],
  bytes: [GiB, 4 * GiB, GiB]
};

describe('the lines of memory', () => {
  it('are told apart by colour, dash and width, at least four runs and twelve others', () => {
    const runs = [0, 1, 2, 3, 4].map(place => line({ place }));
    expect(runs.map(colourOfLine)).toEqual([
      '--sw-run-1',
      '--sw-run-2',
      '--sw-run-3',
      '--sw-run-4',
      '--sw-run-1'
    ]);
    expect(new Set(runs.slice(0, 4).map(dashOfLine)).size).toBe(4);
    expect(dashOfLine(runs[4]!)).toBe(dashOfLine(runs[0]!));
    const others = Array.from({ length: 13 }, (_, place) => series({ place }));
    expect(others.map(colourOfLine)).toEqual([
      '--jp-ui-font-color2',
      ...Array.from({ length: 11 }, (_, i) => `--sw-fn-${i + 2}`),
      '--sw-fn-1'
    ]);
    expect(new Set(others.map(dashOfLine))).toEqual(new Set(['solid']));
  });

  it('are drawn from their samples, with gaps where there are none', () => {
    const one = line({ label: 'a<b', bytes: [1, null, 3] });
    const { data } = drawn([one, series({ place: 1 })]);
    expect(data).toMatchObject([
      {
        type: 'scatter',
        mode: 'lines',
        name: 'a&lt;b',
        x: one.t,
        y: one.bytes,
        connectgaps: false,
        line: { color: '--sw-run-1', dash: 'solid', width: 2 }
      },
      {
        name: 'cluster',
        line: { color: '--sw-fn-2', dash: 'solid', width: 1.5 }
      }
    ]);
  });

  it('go up and down where they were measured, and nowhere between, unless they are of a run', () => {
    const of = { t: [0, 100, 101], bytes: [1, 2, 2] };
    const [run, cluster] = drawn([
      line(of),
      series({ ...of, holds: true })
    ]).data;
    expect([run!.x, run!.y]).toEqual([of.t, of.bytes]);
    expect([cluster!.x, cluster!.y]).toEqual([
      [0, 100, 100, 101],
      [1, 1, 2, 2]
    ]);
  });

  it('have a ground below them only for the first run from zero', () => {
    const lines = [series({}), line({}), line({ place: 1 })];
    const filled = (align: Align) =>
      drawn(lines, { align }).data.map(({ fill }) => fill);
    expect(filled('zero')).toEqual([undefined, 'tozeroy', undefined]);
    expect(filled('clock')).toEqual([undefined, undefined, undefined]);
  });

  it('have every colour from the theme', () => {
    const known = [...properties('light').keys()].map(name => `--sw-${name}`);
    const colours: unknown[] = [];
    JSON.stringify(
      [
        drawn([line({}), series({})], { limits }),
        breakdownFigure([unmanaged, spilled], { width: 500 })
      ],
      (key, value: unknown) => {
        if (/color$/.test(key) && typeof value === 'string') {
          colours.push(value);
        }
        return value;
      }
    );
    const ours = colours.filter(colour => String(colour).startsWith('--sw-'));
    const others = colours.filter(
      colour => !String(colour).startsWith('--sw-')
    );
    expect(ours.length).toBeGreaterThan(8);
    expect(known).toEqual(expect.arrayContaining(ours));
    expect(new Set(others)).toEqual(
      new Set([
        'rgba(0,0,0,0)',
        // The ground below the first run.
        'rgba(110,150,200,0.14)',
        ...[1, 2].map(place => `--jp-border-color${place}`),
        ...[1, 2].map(place => `--jp-ui-font-color${place}`),
        '--jp-layout-color1'
      ])
    );
  });
});

describe('the axes of memory', () => {
  it('go from zero to the longest run, or from the first sample to the last', () => {
    const lines = [
      line({ t: [3, 4, 5] }),
      line({ t: [2, 3, 10] }),
      line({ t: [], peak: null })
    ];
    const times = (align: Align, of = lines) =>
      drawn(of, { align }).layout.xaxis;
    // A fiftieth is left free at the right.
    expect(times('zero').range).toEqual([0, expect.closeTo(10.2, 9)]);
    expect(times('clock').range).toEqual([2, expect.closeTo(10.8, 9)]);
    expect(times('zero').tickvals.slice(0, 3)).toEqual([0, 1, 2]);
    expect(times('zero').ticktext.slice(0, 3).map(plain)).toEqual([
      '0 s',
      '+1 s',
      '+2 s'
    ]);
    expect(times('clock').tickvals.slice(0, 2)).toEqual([2, 3]);
    expect(times('clock').ticktext.slice(0, 2).map(plain)).toEqual([
      '2 s',
      '3 s'
    ]);
    // Of one sample, and of none, there is a second to see.
    expect(times('clock', [line({ t: [7] })]).range).toEqual([7, 8.1]);
    expect(times('clock', []).range).toEqual([0, 1.1]);
  });

  it('have ticks as far apart as their words need', () => {
    const count = (width: number) =>
      drawn([line({ t: [0, 40] })], { width }).layout.xaxis.tickvals.length;
    // 40 s: over 824 pixels every 5 s, over 376 every 10.
    expect([count(900), count(452)]).toEqual([9, 5]);
    // The words of the limits take some of the width.
    const withLimits = drawn([line({ t: [0, 40], peak: line({}).peak })], {
      width: 690,
      limits: { ...limits, memoryLimit: 4 * GiB }
    });
    expect(count(690)).toBe(9);
    expect(withLimits.layout.xaxis.tickvals).toHaveLength(5);
  });

  it('leave air above the highest, and end at the limit where that is shown', () => {
    const top = (peak: number, options: Parameters<typeof drawn>[1] = {}) =>
      drawn(
        [
          line({ peak: { t: 1, bytes: peak * GiB, isFromBefore: false } }),
          series({ peak: null })
        ],
        options
      ).layout.yaxis.range[1]! / GiB;
    expect(top(8)).toBe(10);
    expect(top(0) * GiB).toBe(1);
    expect(top(4.7, { limits })).toBeCloseTo(4.7 * 1.25, 9);
    expect(top(4.8, { limits })).toBe(16);
    expect(top(16, { limits })).toBeCloseTo(16.8, 9);
    expect(top(8, { limits, perWorker: true })).toBe(10);
    expect(top(8, { limits, perWorker: false })).toBe(16);
    expect(top(8, { limits: { ...limits, memoryLimit: 0 } })).toBe(10);
  });

  it('count memory in binary steps without needless zeros', () => {
    const texts = (bytes: number) =>
      drawn([
        line({ peak: { t: 1, bytes, isFromBefore: false } })
      ]).layout.yaxis.ticktext.map(plain);
    expect(texts(3.2 * GiB)).toEqual(['0', '1 GiB', '2 GiB', '3 GiB', '4 GiB']);
    expect(texts(1.6 * GiB)).toEqual([
      '0',
      '512 MiB',
      '1 GiB',
      '1.50 GiB',
      '2 GiB'
    ]);
    // Nothing is spilled: no tick between two bytes.
    expect(texts(0)).toEqual(['0', '1 B']);
  });
});

describe('the limits of memory', () => {
  it('are lines over the whole width, each with its dash and its words', () => {
    const { layout } = drawn([line({ peak: null }), line({})], {
      limits: { ...limits, memoryLimit: 12 * GiB }
    });
    expect(layout.shapes).toMatchObject(
      [limits.target, limits.spill, limits.pause].map(at => ({
        type: 'line',
        xref: 'paper',
        x0: 0,
        x1: 1,
        y0: at,
        y1: at,
        layer: 'below',
        line: { color: '--sw-limit' }
      }))
    );
    const dashes = layout.shapes.map(
      ({ line }) => (line as { dash: string }).dash
    );
    expect(new Set(dashes).size).toBe(3);
    const words = layout.annotations.slice(0, 3);
    expect(words.map(({ y, text }) => [y, plain(text)])).toEqual([
      [limits.target, 'target 9.00 GiB'],
      [limits.spill, 'spill 11.0 GiB'],
      [limits.pause, 'pause 13.0 GiB']
    ]);
    // Right of the chart, where the margin is wide enough for them.
    for (const word of words) {
      expect(word).toMatchObject({
        xref: 'paper',
        x: 1,
        xanchor: 'left',
        yanchor: 'middle',
        showarrow: false,
        font: { color: '--jp-ui-font-color1' }
      });
    }
    expect(layout.margin.r).toBeGreaterThan(80);
  });

  it('go up and down with the workers, and are said as they are at the right', () => {
    const steps = [
      { from: 0.5, memoryLimit: 16 * GiB },
      { from: 1, memoryLimit: 8 * GiB },
      { from: 2, memoryLimit: 16 * GiB }
    ];
    const one = series({ t: [0, 3], bytes: [GiB, 4.8 * GiB] });
    const figure = (limitSteps = steps, range?: readonly [number, number]) =>
      drawn([{ ...one, peak: { ...one.peak!, bytes: 4.8 * GiB } }], {
        limits,
        limitSteps,
        align: 'clock',
        ...(range && { range })
      }).layout;
    const words = (layout: Layout) =>
      layout.annotations
        .filter(({ xref }) => xref === 'paper')
        .map(({ text }) => plain(text));
    const both = figure();
    expect(both.shapes).toMatchObject(
      [limits.target, limits.spill, limits.pause].map(y => ({
        type: 'path',
        // (to beyond the axis)
        path: `M0.5,${y} H1 V${y / 2} H2 V${y} H4`
      }))
    );
    expect(both.yaxis.range[1]).toBe(16 * GiB);
    expect(words(both)).toEqual([
      'target 9.00 GiB',
      'spill 11.0 GiB',
      'pause 13.0 GiB'
    ]);
    // Where they do not change they are straight lines, of that time.
    const within = figure(steps, [1.2, 1.8]);
    expect(within.shapes.map(({ type, y0 }) => [type, y0])).toEqual(
      [limits.target, limits.spill, limits.pause].map(y => ['line', y / 2])
    );
    expect(within.yaxis.range[1]).toBe(8 * GiB);
    expect(words(within)[0]).toBe('target 4.50 GiB');
    // While nobody was there, there was no limit.
    const gap = figure([
      { from: 0, memoryLimit: 16 * GiB },
      { from: 1, memoryLimit: 0 },
      { from: 2, memoryLimit: 16 * GiB }
    ]);
    expect(gap.shapes[0]).toMatchObject({
      path: `M0,${limits.target} H1 M2,${limits.target} H4`
    });
    const gone = figure([
      { from: 0, memoryLimit: 16 * GiB },
      { from: 1, memoryLimit: 0 }
    ]);
    expect(gone.shapes).toHaveLength(3);
    expect(words(gone)).toEqual([]);
    expect(figure([]).shapes).toEqual([]);
  });

  it('are the same picture while time goes on with the last of them', () => {
    const at = (to: number) =>
      drawn([series({ t: [0, to], bytes: [8 * GiB, 8 * GiB] })], {
        limits,
        limitSteps: [
          { from: 0, memoryLimit: 8 * GiB },
          { from: 10, memoryLimit: 16 * GiB }
        ],
        align: 'clock'
      }).layout.shapes;
    expect(at(104)).toEqual(at(100));
  });

  it('have no words in a narrow panel', () => {
    const notes = (width: number) => {
      const { layout } = drawn([line({})], {
        limits: { ...limits, memoryLimit: 4 * GiB },
        width
      });
      expect(layout.shapes).toHaveLength(3);
      return [layout.annotations.length, layout.margin.r > 80];
    };
    expect(notes(430)).toEqual([4, true]);
    expect(notes(429)).toEqual([1, false]);
  });

  it('are not there in the chart of single workers, nor without a limit', () => {
    for (const options of [
      { limits, perWorker: true },
      { limits: { ...limits, memoryLimit: 0 } },
      {}
    ]) {
      const { shapes, annotations, margin } = drawn(
        [line({ peak: { t: 1, bytes: 15 * GiB, isFromBefore: false } })],
        options
      ).layout;
      expect(shapes).toEqual([]);
      expect(annotations).toHaveLength(1);
      expect(margin.r).toBe(16);
    }
  });
});

describe('the words at peaks', () => {
  const run = (place: number, t: number, bytes: number) =>
    line({
      label: `run ${place}`,
      run: place + 1,
      place,
      t: [0, Math.max(10, t)],
      peak: { t, bytes: bytes * GiB, isFromBefore: false }
    });
  const notes = (lines: readonly Line[], options = {}) =>
    drawn(lines, options).layout.annotations;

  it('are of the first four runs, the highest first', () => {
    const lines = [
      series({}),
      run(0, 1, 2),
      run(1, 2, 4),
      line({ peak: null }),
      run(2, 3, 3),
      run(3, 4, 1),
      run(4, 5, 9)
    ];
    expect(
      notes(lines, { height: 600 }).map(({ text }) => plain(text))
    ).toEqual([
      'run 1: peak 4.00 GiB at +2.0 s',
      'run 2: peak 3.00 GiB at +3.0 s',
      'run 0: peak 2.00 GiB at +1.0 s',
      'run 3: peak 1.00 GiB at +4.0 s'
    ]);
    expect(
      notes([run(0, 1, 2)], { align: 'clock' }).map(({ text }) => plain(text))
    ).toEqual(['run 0: peak 2.00 GiB at 1.0 s']);
  });

  it('stand at the sample, in the colours of its line, readable on it', () => {
    const [note] = notes([run(1, 2, 4)]);
    expect(note).toMatchObject({
      x: 2,
      y: 4 * GiB,
      showarrow: true,
      arrowcolor: '--sw-run-2',
      bordercolor: '--sw-run-2',
      bgcolor: '--jp-layout-color1',
      font: { color: '--jp-ui-font-color1' }
    });
  });

  it('stand where there is more room, those below each other apart', () => {
    const places = [run(0, 5, 4), run(1, 5.2, 3), run(2, 0, 2), run(3, 9, 1)];
    expect(notes(places).map(({ xanchor }) => xanchor)).toEqual([
      'left',
      'right',
      'left',
      'right'
    ]);
    const [first, ...rest] = notes(places, { height: 600 }).map(
      ({ ax, ay }) => [ax, ay]
    );
    expect(first![0]).toBeGreaterThan(0);
    expect(rest.map(([ax]) => Math.sign(Number(ax)))).toEqual([-1, 1, -1]);
    // Negative is up.
    expect(first![1]).toBeLessThan(-15);
    let below = 0;
    for (const [, ay] of rest) {
      expect(Number(ay)).toBeGreaterThanOrEqual(below + 20);
      below = Number(ay);
    }
    // By clock the axis does not begin at 0.
    const late = (t: number) =>
      notes(
        [
          line({
            t: [100, 110],
            peak: { t, bytes: GiB, isFromBefore: false }
          })
        ],
        { align: 'clock' }
      )[0]!.xanchor;
    expect([late(104), late(107)]).toEqual(['left', 'right']);
  });

  /** Where the words stand, in pixels from the left and the lower end of the axes. */
  function boxesOf(
    lines: readonly Line[],
    height: number,
    options: { width: number; limits?: MemoryResult['limits'] }
  ) {
    const { layout } = drawn(lines, { ...options, height });
    const { margin, xaxis, yaxis } = layout;
    const plotWidth = options.width - margin.l - margin.r;
    const plotHeight = height - margin.t - margin.b;
    const boxes = layout.annotations
      .filter(({ showarrow }) => showarrow === true)
      .map(({ x, y, ax, ay, xanchor, text }) => {
        // Plotly’s 11 px letters, a pad of 2 px and a line of 1 px at each side.
        const length = text.length * 6 + 6;
        const at = (Number(x) / xaxis.range[1]!) * plotWidth + Number(ax);
        const middle = (Number(y) / yaxis.range[1]!) * plotHeight - Number(ay);
        return {
          left: xanchor === 'left' ? at : at - length,
          right: xanchor === 'left' ? at + length : at,
          bottom: middle - 9.5,
          top: middle + 9.5
        };
      });
    return { boxes, top: plotHeight + margin.t, right: plotWidth };
  }
  type Box = ReturnType<typeof boxesOf>['boxes'][number];
  const isApart = (box: Box, other: Box) =>
    box.left >= other.right ||
    other.left >= box.right ||
    box.bottom >= other.top ||
    other.bottom >= box.top;

  it.each([130, 160, 218, 400])(
    'cover neither the ticks nor each other in a chart of %i pixels',
    height => {
      const cases = [
        // As a newcomer had it: the second run is short and near 0.
        [run(0, 22, 0.98), run(1, 1, 0.22)],
        [run(0, 5, 4), run(1, 5.1, 3.9)],
        [run(0, 1, 4), run(1, 1.1, 0)],
        [run(0, 9, 4), run(1, 1, 0.1), run(2, 1.2, 0.2)]
      ];
      for (const lines of cases) {
        for (const width of [300, 412, 900]) {
          for (const of of [undefined, { ...limits, memoryLimit: 4 * GiB }]) {
            const { boxes, top } = boxesOf(lines, height, {
              width,
              ...(of && { limits: of })
            });
            // The leaders of two small ones beside each other would cross.
            const most = lines.length === 3 && width < 900 ? 1 : 0;
            expect(boxes.length).toBeGreaterThanOrEqual(lines.length - most);
            for (const [index, box] of boxes.entries()) {
              expect(box.bottom).toBeGreaterThanOrEqual(0);
              expect(box.top).toBeLessThanOrEqual(top);
              for (const other of boxes.slice(0, index)) {
                expect(isApart(box, other)).toBe(true);
              }
            }
          }
        }
      }
    }
  );

  it.each([
    ['default', 480, 100],
    ['1280 pixels wide', 300, 90],
    ['wide', 900, 218]
  ])(
    'cover neither a line nor each other in a layout that is %s, in the order of their lines',
    (_, width, height) => {
      // As a newcomer had them: a run that goes on, one that falls and ends, and the highest.
      const runs: [string, number[]][] = [
        ['small', [60, 62, 70, 75, 80, 110, 159, 156, 156, 158, 156]],
        ['middle', [239, 120, 180, 190, 180, 215, 210]],
        ['large', [250, 130, 200, 215, 230, 240, 250, 300, 310, 359, 358]]
      ];
      const lines = runs.map(([label, MiB], place) => {
        const bytes = MiB.map(value => value * 2 ** 20);
        const t = bytes.map((_value, index) => index * 0.3);
        const highest = Math.max(...bytes);
        const at = t[bytes.indexOf(highest)]!;
        const peak = { t: at, bytes: highest, isFromBefore: false };
        return line({ label, run: place, place, t, bytes, peak });
      });
      const { boxes, top, right } = boxesOf(lines, height, { width });
      const { xaxis, yaxis, margin } = drawn(lines, { width, height }).layout;
      const plotHeight = height - margin.t - margin.b;
      expect(boxes.length).toBeGreaterThan(0);
      for (const [index, box] of boxes.entries()) {
        expect(box.left).toBeGreaterThanOrEqual(0);
        expect(box.right).toBeLessThanOrEqual(right);
        expect(box.top).toBeLessThanOrEqual(top);
        for (const { t, bytes } of lines) {
          const under = t
            .map((seconds, sample) => ({
              x: (seconds / xaxis.range[1]!) * right,
              y: (bytes[sample]! / yaxis.range[1]!) * plotHeight
            }))
            .filter(
              ({ x, y }) =>
                x > box.left && x < box.right && y > box.bottom && y < box.top
            );
          expect(under).toEqual([]);
        }
        for (const other of boxes.slice(0, index)) {
          expect(
            isApart(box, other) &&
              (box.left >= other.right ||
                other.left >= box.right ||
                box.top <= other.bottom)
          ).toBe(true);
        }
      }
    }
  );

  it('are left out in a chart that has no room for all of them, but not the highest', () => {
    const lines = [0, 1, 2, 3].map(place => run(place, 1, 0.1 * place));
    for (const height of [60, 90]) {
      const { boxes, top } = boxesOf(lines, height, { width: 400 });
      expect(boxes.length).toBeLessThan(4);
      expect(notes(lines, { height, width: 400 })[0]!.text).toContain('run 3');
      for (const [index, box] of boxes.entries()) {
        expect(box.bottom).toBeGreaterThanOrEqual(0);
        expect(box.top).toBeLessThanOrEqual(top);
        expect(boxes.slice(0, index).every(other => isApart(box, other))).toBe(
          true
        );
      }
    }
  });

  it('leave out when it was where there is no room for that', () => {
    const text = (t: number, width: number) =>
      plain(notes([run(0, t, 2)], { width })[0]!.text);
    // 76 pixels are margins, a fiftieth of the axis is free at its right. These words take 201 pixels, 16 beside the peak.
    expect(text(4, 434)).toBe('run 0: peak 2.00 GiB at +4.0 s');
    expect(text(4, 432)).toBe('run 0: peak 2.00 GiB');
    expect(text(6, 446)).toBe('run 0: peak 2.00 GiB at +6.0 s');
    expect(text(6, 444)).toBe('run 0: peak 2.00 GiB');
  });

  it.each([200, 226, 260, 300, 340])(
    'cut a name between its characters (%i pixels)',
    width => {
      for (const before of ['', 'a']) {
        const label = before + '🐘'.repeat(30);
        const text = plain(
          notes([{ ...run(0, 5, 2), label }], { width })[0]!.text
        );
        expect(text).toMatch(/^(a?🐘+…: )?2\.00 GiB$/u);
      }
    }
  );

  it.each([200, 226, 260, 300, 340, 430, 900])(
    'lie within the axes in a chart %i pixels wide, whatever runs are called',
    width => {
      for (const label of ['one', 'before', 'a run with a rather long name']) {
        for (const t of [0, 2.5, 5, 5.2, 7.5, 10]) {
          const at = { ...run(0, t, 2), label };
          const { boxes, right } = boxesOf([at], 218, { width });
          expect(boxes[0]!.left).toBeGreaterThanOrEqual(0);
          expect(boxes[0]!.right).toBeLessThanOrEqual(right);
          const text = plain(notes([at], { width })[0]!.text);
          expect(text).toContain('2.00 GiB');
          // The name is left out last.
          expect(text).toContain(label.slice(0, width < 226 ? 0 : 3));
        }
      }
    }
  );

  it('say that a run began with its highest', () => {
    const before = line({
      peak: { t: 0, bytes: 3 * GiB, isFromBefore: true }
    });
    expect(plain(notes([before])[0]!.text)).toBe(
      'one: began with 3.00 GiB, its highest'
    );
  });
});

describe('memory that stays as it is', () => {
  /** Of samples each 0.8 s up to `end`, how many figures have to be drawn; from `from` on. */
  function drawings(from: number, end: number, noise = 0): number {
    let last: Figure | null = null;
    let count = 0;
    for (let samples = from / 0.8; samples * 0.8 <= end; samples += 1) {
      const t = Array.from({ length: samples }, (_, index) => index * 0.8);
      const bytes = t.map((at, index) =>
        at === 0 ? 0 : GiB * (1 + (index % 2) * noise)
      );
      const { data, layout } = drawn(
        [
          series({
            t,
            bytes,
            peak: { t: 0.8, bytes: GiB, isFromBefore: false }
          })
        ],
        { align: 'clock', width: 480 }
      );
      const next: Figure = { data, layout };
      if (
        last === null ||
        !looksSame(last, next, { width: 480, height: 180 })
      ) {
        last = next;
        count += 1;
      }
    }
    return count;
  }

  it('is drawn again when its line has used up the room at its right', () => {
    // In 5 s are 6 samples.
    expect(drawings(240, 288)).toBeLessThanOrEqual(60 / 5);
    expect(drawings(240, 288)).toBeGreaterThanOrEqual(60 / 8);
    expect(drawings(240, 288, 0.004)).toBeLessThanOrEqual(60 / 5);
    expect(drawings(1200, 1248)).toBeLessThanOrEqual(4);
    expect(drawings(24, 40)).toBeLessThanOrEqual(20 / 3 + 1);
  });

  it('is drawn with each sample while it changes', () => {
    expect(drawings(240, 250, 0.02)).toBeGreaterThanOrEqual(12);
  });
});

describe('a word of the time axis', () => {
  it.each([
    ['has room', 40, ['0\u00a0min', '5\u00a0min', '10\u00a0min']],
    ['would be cut off', 16, ['0\u00a0min', '5\u00a0min', '']]
  ])('at its end: %s', (_, right, words) => {
    const axis = timeAxis(0, 600, formatTick, 200, right);
    expect(axis).toMatchObject({
      tickvals: [0, 300, 600],
      ticktext: words,
      ticklabeloverflow: 'allow'
    });
  });
});

describe('what memory is made of', () => {
  const drawnParts = () =>
    breakdownFigure([unmanaged, spilled], { width: 876 });

  it('stands one upon the other, unknown as none', () => {
    const { data } = drawnParts();
    expect(data).toMatchObject([
      {
        type: 'scatter',
        mode: 'lines',
        name: 'unmanaged',
        // (at the same times, from each on: plotly adds up what is at one)
        x: [2, 3, 4, 5],
        y: [GiB, 0, 0, 2 * GiB],
        fillcolor: '--sw-unmanaged-old',
        line: { color: '--sw-unmanaged-old', shape: 'hv' }
      },
      {
        name: 'spilled',
        x: [2, 3, 4, 5],
        y: [GiB, 4 * GiB, GiB, GiB],
        fillpattern: { shape: '-', bgcolor: '--sw-kind-disk' }
      }
    ]);
    expect(data[0]).not.toHaveProperty('fillpattern');
    expect(data[0]!.stackgroup).toBeTruthy();
    expect(data[1]!.stackgroup).toBe(data[0]!.stackgroup);
  });

  it('adds up means where there are too many samples to draw each', () => {
    const bins = {
      seconds: 2,
      from: [0, 2, 8],
      low: [1, 1, 1],
      high: [9, 9, 9],
      mean: [4, 5, 6]
    };
    const of = (t: number[], bytes: (number | null)[]) => ({
      ...unmanaged,
      t,
      bytes,
      bins
    });
    const { data } = breakdownFigure(
      [
        of([0, 1, 2, 4, 8], [1, 9, 1, null, 9]),
        of([1, 1.5, 3, 4, 9], [9, 1, 9, null, 1])
      ],
      { width: 876 }
    );
    for (const { x, y } of data) {
      expect([x, y]).toEqual([
        [0, 2, 4, 8],
        [4, 5, 0, 6]
      ]);
    }
  });

  it('has room for the highest sum, and for all of their time', () => {
    const { xaxis, yaxis } = drawnParts().layout as unknown as Layout;
    // 0 and 4 GiB are more than 1 and 1 or 2 and 1.
    expect(yaxis.range).toEqual([0, expect.closeTo(4.2 * GiB, 0)]);
    expect(yaxis.ticktext.map(plain)).toEqual(['0', '2 GiB', '4 GiB']);
    expect(yaxis.tickvals).toEqual([0, 2 * GiB, 4 * GiB]);
    expect(xaxis.range).toEqual([2, 5.3]);
    // 3 s over 800 pixels.
    expect(xaxis.tickvals).toEqual([2, 2.5, 3, 3.5, 4, 4.5, 5]);
    expect(xaxis.ticktext.map(plain).slice(0, 2)).toEqual(['2.0 s', '2.5 s']);
    // Over 400 they are further apart; the margins are no part of that.
    const narrow = breakdownFigure([unmanaged], { width: 476 })
      .layout as unknown as Layout & { margin: { l: number } };
    expect(narrow.xaxis.tickvals).toEqual([2, 3, 4, 5]);
    expect(narrow.margin.l + narrow.margin.r).toBe(76);
    const longer = breakdownFigure(
      [{ ...unmanaged, t: [1, 2], bytes: [GiB, GiB] }, spilled],
      { width: 876 }
    ).layout as unknown as Layout;
    expect(longer.xaxis.range).toEqual([1, 4.3]);
    expect(longer.yaxis.range[1]).toBeCloseTo(5.25 * GiB, 0);
  });

  it('is an empty chart of nothing', () => {
    for (const parts of [[], [{ ...unmanaged, t: [], bytes: [] }]]) {
      const { xaxis, yaxis } = breakdownFigure(parts, { width: 500 })
        .layout as unknown as Layout;
      expect(xaxis.range).toEqual([0, 1.1]);
      expect(yaxis.range).toEqual([0, 1]);
      expect(yaxis.ticktext.map(plain)).toEqual(['0', '1 B']);
    }
  });
});

describe('what plotly does in these charts', () => {
  it('is to draw and to zoom in time: legend, card and figures are the panel’s own', () => {
    const own = { showlegend: false };
    const still = { zeroline: false, fixedrange: true };
    const { data, layout } = drawn([line({})]);
    expect(layout).toMatchObject({
      ...own,
      // The card is the panel’s: it says all lines at the time under the pointer, however far they are from it.
      hovermode: 'x',
      hoverdistance: -1,
      dragmode: 'zoom',
      xaxis: { showgrid: false, zeroline: false, fixedrange: false },
      yaxis: still
    });
    const parts = breakdownFigure([unmanaged], { width: 500 });
    expect(parts.layout).toMatchObject({
      ...own,
      hovermode: false,
      dragmode: false,
      xaxis: { ...still, showgrid: false },
      yaxis: still
    });
    for (const { hoverinfo } of [...data, ...parts.data]) {
      expect(hoverinfo).toBe('none');
    }
    for (const { font } of [layout, parts.layout] as Record<
      string,
      unknown
    >[]) {
      expect(font).toMatchObject({ family: '--jp-ui-font-family' });
    }
  });
});

describe('a worker that was lost', () => {
  const at = (t: number): LostMark => ({
    key: `lost ${t}`,
    worker: 0,
    t,
    sentence: ''
  });

  it('has a line and a ✕ at its time, within the axis', () => {
    const lost = [at(3), at(9)];
    const { layout } = drawn([line({})], { lost });
    expect(layout.shapes).toMatchObject([
      { x0: 3, x1: 3, y0: 0, y1: 1, yref: 'paper' },
      { x0: 9, x1: 9 }
    ]);
    const signs = layout.annotations.filter(({ text }) => text === '✕');
    expect(signs).toMatchObject([
      { x: 3, y: 0, yref: 'paper' },
      { x: 9, y: 0 }
    ]);
    // The last line ends at 8 s.
    expect(layout.xaxis.range[1]).toBeGreaterThan(9);
  });

  it('has its line beside those of the limits, and no ✕ out of what is looked at', () => {
    const { layout } = drawn([line({ peak: null })], {
      lost: [at(3), at(6)],
      range: [4, 8]
    });
    expect(layout.annotations).toMatchObject([{ text: '✕', x: 6 }]);
    const full = [
      line({ peak: { t: 1, bytes: 15 * GiB, isFromBefore: false } })
    ];
    expect(drawn(full, { limits, lost: [at(3)] }).layout.shapes).toHaveLength(
      4
    );
  });

  it('is told of within seven pixels of the pointer', () => {
    const lost = [at(3), at(3.1), at(6)];
    const figure = drawn([line({})], { lost, range: [0, 8] });
    const { l, r } = figure.layout.margin;
    const near = (t: number) =>
      marksNear(lost, t, figure as never, 800 + l + r).map(({ t }) => t);
    expect(near(3)).toEqual([3]);
    expect(near(3.05)).toEqual([3, 3.1]);
    expect(near(5.9)).toEqual([]);
    expect(near(5.94)).toEqual([6]);
  });
});
