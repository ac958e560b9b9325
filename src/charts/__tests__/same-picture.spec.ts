import type { Figure } from '../plotly-api';
import { looksSame } from '../same-picture';

const SIZE = { width: 500, height: 150 };
/** 400 × 100 pixels: 0 to 100 s, with 2 s of them as room, 0 to 1000 bytes. */
const MARGIN = { l: 60, r: 40, t: 10, b: 40 };
const END = 98;

type Points = readonly (readonly [t: number, bytes: number | null])[];

const figure = (points: Points, right = 100, top = 1000): Figure => ({
  data: [
    {
      type: 'scatter',
      x: points.map(([t]) => t),
      y: points.map(([, bytes]) => bytes),
      line: { color: '--sw-run-1' }
    }
  ],
  layout: {
    margin: MARGIN,
    xaxis: {
      range: [0, right],
      tickvals: [0, 50].concat(right >= 150 ? [100, 150] : []),
      ticktext: ['0', '50'].concat(right >= 150 ? ['100', '150'] : [])
    },
    yaxis: { range: [0, top], tickvals: [0, 500], ticktext: ['0', '500'] },
    shapes: []
  }
});

/** Up to a second it rises, then it is flat. */
const flatTo = (end: number, step = 0.5): Points => [
  [0, 0],
  ...Array.from(
    { length: Math.floor((end - 1) / step) + 1 },
    (_, index) => [1 + index * step, 800] as const
  )
];
const drawn = figure(flatTo(END));
const same = (next: Figure) => looksSame(drawn, next, SIZE);

describe('a figure that looks like the drawn one', () => {
  it('is one with equal values in other arrays', () => {
    expect(same(figure(flatTo(END)))).toBe(true);
  });

  it('is one whose lines go on flat into the room at the right', () => {
    expect(same(figure(flatTo(99.5), 101.5))).toBe(true);
  });

  it('is none when that room is used up', () => {
    expect(same(figure(flatTo(100.5), 102.6))).toBe(false);
  });

  it('is one whose lines go on beyond it, as where a part of the time is looked at', () => {
    const part = (end: number, at?: number): Figure => {
      const { data, layout } = figure([
        ...flatTo(end),
        ...(at === undefined ? [] : ([[at, 500]] as const)),
        [end + 1, 100]
      ]);
      return {
        data,
        layout: { ...layout, xaxis: { range: [20, 30], tickvals: [25] } }
      };
    };
    expect(looksSame(part(50), part(80), SIZE)).toBe(true);
    // The line reaches the right border only now.
    expect(looksSame(part(28), part(80), SIZE)).toBe(false);
    expect(looksSame(part(50), part(29, 29.5), SIZE)).toBe(false);
  });

  it.each([
    ['a pixel', 10, false],
    ['less', 8, true]
  ])('sees a line that rises or falls by %s', (_, bytes, isSame) => {
    for (const sign of [1, -1]) {
      const next = figure([...flatTo(98.5), [99, 800 + sign * bytes]], 101);
      expect(same(next)).toBe(isSame);
    }
  });

  it.each([
    ['in all by more than a pixel', 8, false],
    ['in all by less', 2, true]
  ])('sees parts of a stack that rise %s', (_, bytes, isSame) => {
    const parts = (more: number, stackgroup?: string): Figure => {
      const { data, layout } = figure([
        [0, 200],
        [98, 200],
        [99, 200 + more]
      ]);
      const part = { ...data[0], ...(stackgroup && { stackgroup }) };
      return { data: [part, part, part, part], layout };
    };
    expect(looksSame(parts(0, 's'), parts(bytes, 's'), SIZE)).toBe(isSame);
    // Lines of their own do not add up.
    expect(looksSame(parts(0), parts(bytes), SIZE)).toBe(true);
  });

  it('adds nothing up: each figure is held against the drawn one', () => {
    const rising = (bytes: number) =>
      figure([...flatTo(98.5), [99, 800 + bytes]], 101);
    expect(looksSame(rising(8), rising(16), SIZE)).toBe(true);
    expect(same(rising(16))).toBe(false);
  });

  it('may be made of other points of the same line', () => {
    expect(same(figure(flatTo(END, 0.1)))).toBe(true);
    expect(
      same(
        figure([
          [0, 0],
          [1, 800],
          [END, 800]
        ])
      )
    ).toBe(true);
  });

  it('has all spikes, at their places', () => {
    const spike = (at: number) =>
      figure(
        [
          ...flatTo(END),
          [at - 0.05, 800],
          [at, 300],
          [at + 0.05, 800]
        ].toSorted(([a], [b]) => Number(a) - Number(b)) as unknown as Points
      );
    expect(same(spike(40))).toBe(false);
    expect(looksSame(spike(40), drawn, SIZE)).toBe(false);
    expect(looksSame(spike(40), spike(40.1), SIZE)).toBe(true);
    expect(looksSame(spike(40), spike(42), SIZE)).toBe(false);
  });

  it('has all gaps, and a line that comes back after one', () => {
    const gap = flatTo(END).map(
      ([t, bytes]) => [t, t > 40 && t < 45 ? null : bytes] as const
    );
    expect(same(figure(gap))).toBe(false);
    const cut = figure([...flatTo(90), [90.5, null]]);
    expect(looksSame(cut, figure([...flatTo(90), [97, null]]), SIZE)).toBe(
      true
    );
    expect(
      looksSame(
        cut,
        figure([...flatTo(90), [90.5, null], [97, 800], [98, 800]]),
        SIZE
      )
    ).toBe(false);
    expect(looksSame(drawn, figure(flatTo(90)), SIZE)).toBe(false);
  });

  it('has the drawn axes', () => {
    expect(same(figure(flatTo(END), 100, 1009))).toBe(true);
    expect(same(figure(flatTo(END), 100, 1100))).toBe(false);
    expect(same(figure(flatTo(END), 50))).toBe(false);
    expect(same(figure(flatTo(END), 120))).toBe(false);
    expect(same(figure(flatTo(END), 200))).toBe(false);
  });

  it.each<[string, (from: Figure) => Figure]>([
    [
      'colour',
      ({ data, layout }) => ({
        data: [{ ...data[0], line: { color: '--sw-run-2' } }],
        layout
      })
    ],
    ['number of lines', ({ layout }) => ({ data: [], layout })],
    [
      'another line',
      ({ data, layout }) => ({ data: [...data, ...data], layout })
    ],
    [
      'note',
      ({ data, layout }) => ({ data, layout: { ...layout, shapes: [{}] } })
    ],
    [
      'word of a tick',
      ({ data, layout }) => ({
        data,
        layout: {
          ...layout,
          xaxis: { ...(layout['xaxis'] as object), ticktext: ['0', '50 s'] }
        }
      })
    ]
  ])('has the same %s', (_, change) => {
    expect(same(change(figure(flatTo(END))))).toBe(false);
  });

  it('has equal values where they are no lines', () => {
    const map = (z: number): Figure => ({
      data: [{ type: 'heatmap', x: ['a'], y: ['b'], z: [[z]] }],
      layout: drawn.layout
    });
    expect(looksSame(map(1), map(1), SIZE)).toBe(true);
    expect(looksSame(map(1), map(1.001), SIZE)).toBe(false);
  });

  it('is equal where nothing is known of its place', () => {
    const plain = ({ data }: Figure): Figure => ({ data, layout: {} });
    expect(looksSame(plain(drawn), plain(figure(flatTo(END))), SIZE)).toBe(
      true
    );
    expect(looksSame(plain(drawn), plain(figure(flatTo(99))), SIZE)).toBe(
      false
    );
  });
});
