import { cachePlot } from '../cache-plot';
import { figureOf, type Picture, wholeView } from '../figure';
import { DEFAULT_OPTIONS, type FigureOptions } from '../options';
import type { Plot } from '../plots';
import { resourcePlot } from '../resource-plot';
import { taskPlot } from '../task-plot';
import { THEMES } from '../theme';
import { cacheRecord, taskRecord } from './records';

const tasks = [
  taskRecord(0, 71, 0, 4, "('x', 0)"),
  taskRecord(1, 72, 1, 3, '<b>&amp;</b>'),
  taskRecord(0, 71, 4, 9)
];
const samples = [
  { time: 1000, mem: 50, cpu: 0 },
  { time: 1005, mem: 400, cpu: 190 },
  { time: 1010, mem: 60, cpu: 20 }
];
const held = [cacheRecord(0, 4, 9, 5), cacheRecord(1, 3, 10, 2)];

function picture(
  plots: readonly Plot[],
  options: Partial<FigureOptions> = {}
): Picture {
  return { plots, end: 10, options: { ...DEFAULT_OPTIONS, ...options } };
}

type Dict = Record<string, unknown>;

function drawn(plots: readonly Plot[], options: Partial<FigureOptions> = {}) {
  const whole = picture(plots, options);
  const { data, layout } = figureOf(whole, wholeView(whole));
  return {
    data: data as readonly Dict[],
    bars: data.filter(trace => trace['base'] !== undefined) as Dict[],
    lines: data.filter(trace => trace['type'] === 'scatter') as Dict[],
    layout: layout as Record<string, Dict>
  };
}

const taskPlotOf = (records = tasks) => taskPlot(records, 1000, 60);
const cache = cachePlot(held, 'bytes', 1000, 60);
const resources = resourcePlot(samples, 1000);

describe('§4.1 the figure of tasks', () => {
  const { bars, layout } = drawn([taskPlotOf()]);

  it('§4.1: one rectangle per task, from start to end, centred on its row', () => {
    const rects = bars.flatMap(bar =>
      (bar['base'] as number[]).map((base, index) => [
        base,
        (bar['x'] as number[])[index],
        (bar['y'] as number[])[index]
      ])
    );
    expect(rects.sort()).toEqual([
      [0, 4, 0],
      [1, 2, 1],
      [4, 5, 0]
    ]);
    expect(layout['yaxis']).toMatchObject({
      title: { text: 'Worker ID' },
      range: [-0.5, 1.5],
      ticktext: ['0', '1']
    });
  });

  it('§4.1: x is the time since the block was entered', () => {
    expect(layout['xaxis']).toMatchObject({
      title: { text: 'Time (s)' },
      range: [0, 10],
      anchor: 'y'
    });
    expect(layout['title']).toMatchObject({ text: 'Profile Results' });
    expect(layout['title']!['subtitle']).toMatchObject({
      text: '3 tasks on 2 workers in 9.00 s, 61 % of the time busy'
    });
  });

  it('§4.1: the pointer shows key and label, users’ text as text', () => {
    const texts = bars.flatMap(bar => bar['customdata'] as string[][]);
    expect(texts.map(([key, label]) => [key, label]).sort()).toEqual([
      ['&lt;b&gt;&amp;amp;&lt;/b&gt;', 'mul(_, *)'],
      ["('x', 0)", 'add(_, *)'],
      ['x4', 'add(_, *)']
    ]);
    expect(bars[0]!['hovertemplate']).toMatch(
      /^<b>Key:<\/b> %\{customdata\[0\]\}<br><b>Task:<\/b> %\{customdata\[1\]\}<br>/
    );
  });

  it('§4.1: equal labels have one colour, and every rectangle a grey outline', () => {
    const colours = new Map<string, Set<string>>();
    for (const { marker, customdata } of bars) {
      const { color, line } = marker as {
        color: string[];
        line: { color: string; width: number[] };
      };
      expect(line).toEqual({
        color: THEMES.light.outline,
        width: color.map(() => 1)
      });
      (customdata as string[][]).forEach(([, label], at) => {
        const known = colours.get(label!) ?? new Set();
        colours.set(label!, known.add(color[at]!));
      });
    }
    expect([...colours.keys()].sort()).toEqual(['add(_, *)', 'mul(_, *)']);
    const [one, other] = [...colours.values()].map(set => [...set]);
    expect([one!.length, other!.length]).toEqual([1, 1]);
    expect(one).not.toEqual(other);
  });

  it('§4.1: without tasks eight empty rows, and no error', () => {
    const empty = drawn([taskPlotOf([])]);
    expect(empty.bars).toEqual([]);
    expect(empty.layout['yaxis']).toMatchObject({
      range: [-0.5, 7.5],
      ticktext: ['0', '1', '2', '3', '4', '5', '6', '7']
    });
  });

  it('§4.1: many rows are numbered as far as there is room', () => {
    const records = Array.from({ length: 64 }, (_, worker) =>
      taskRecord(0, worker, 0, 64 - worker)
    );
    const ticks = drawn([taskPlotOf(records)]).layout['yaxis']![
      'ticktext'
    ] as string[];
    expect(ticks[0]).toBe('0');
    expect(ticks.length).toBeGreaterThan(5);
    expect(ticks.length).toBeLessThan(20);
  });
});

describe('§4.2 the figure of resources', () => {
  it('§4.2: % CPU on the left axis, memory on the right one', () => {
    const { lines, layout } = drawn([resources]);
    expect(lines).toMatchObject([
      {
        name: '% CPU',
        yaxis: 'y',
        y: [0, 190, 20],
        line: { color: '#440154' }
      },
      {
        name: 'Memory',
        yaxis: 'y2',
        y: [50, 400, 60],
        line: { color: '#29788e' }
      }
    ]);
    expect(layout['yaxis']).toMatchObject({
      title: { text: '% CPU' },
      range: [0, 190]
    });
    expect(layout['yaxis2']).toMatchObject({
      title: { text: 'Memory (MB)' },
      side: 'right',
      overlaying: 'y',
      range: [50, 400]
    });
  });

  it('§4.2: without samples 0 to 100 on both axes; at least 100 high', () => {
    const empty = drawn([resourcePlot([], 1000)]).layout;
    expect(empty['yaxis']).toMatchObject({ range: [0, 100] });
    expect(empty['yaxis2']).toMatchObject({ range: [0, 100] });
    const one = drawn([
      resourcePlot([{ time: 1001, mem: 0, cpu: 0 }], 1000)
    ]).layout;
    expect(one['yaxis']).toMatchObject({ range: [0, 100] });
    expect(one['yaxis2']).toMatchObject({ range: [0, 100] });
  });
});

describe('§4.3 the figure of the cache', () => {
  it('§4.3: a line of steps per label, named by it', () => {
    const { lines, layout } = drawn([cache]);
    expect(lines).toMatchObject([
      { name: 'add(_, *)', x: [0, 4, 9], y: [0, 5, 0] },
      { name: 'mul(_, *)', x: [0, 3, 10], y: [0, 2, 0] }
    ]);
    expect(lines[0]).toMatchObject({ line: { shape: 'hv' } });
    expect(lines[0]!['hovertemplate']).toMatch(
      /^<b>Task:<\/b> add\(_, \*\)<br>/
    );
    expect(layout['yaxis']).toMatchObject({
      title: { text: 'Cache Size (bytes)' }
    });
  });

  it('§4.3: empty, it goes from 0 to 10', () => {
    const { lines, layout } = drawn([cachePlot([], 'count', 1000, 60)]);
    expect(lines).toEqual([]);
    expect(layout['yaxis']).toMatchObject({ range: [0, 10] });
  });

  it('of very many labels the small ones share a line', () => {
    const many = Array.from({ length: 60 }, (_, fn) =>
      cacheRecord(fn, 1, 2, fn + 1)
    );
    const plot = cachePlot(many, 'count', 1000, 60);
    const { lines } = drawn([plot]);
    expect(lines).toHaveLength(40);
    expect(lines.at(-1)).toMatchObject({
      name: '21 other labels',
      x: [0, 1, 2],
      y: [0, (21 * 22) / 2, 0]
    });
  });
});

describe('§4.4 several profilers', () => {
  const { data, layout, bars, lines } = drawn([taskPlotOf(), resources, cache]);

  it('§4.4: lie one below the other on one x axis, labelled at the bottom only', () => {
    expect(new Set(data.map(trace => trace['xaxis'] ?? 'x'))).toEqual(
      new Set(['x'])
    );
    expect(layout['xaxis']).toMatchObject({ anchor: 'y5' });
    const domains = ['yaxis', 'yaxis3', 'yaxis5'].map(
      axis => layout[axis]!['domain'] as [number, number]
    );
    expect(domains[0]![1]).toBeCloseTo(1);
    expect(domains[2]![0]).toBe(0);
    expect(domains[0]![0]).toBeGreaterThan(domains[1]![1]);
    expect(domains[1]![0]).toBeGreaterThan(domains[2]![1]);
    expect(layout['height']).toBe(270 + 240 + 270);
  });

  it('§4.4, §4.5: one colour per label in all plots', () => {
    const colourOf = new Map(
      lines
        .slice(2)
        .map(line => [line['name'], (line['line'] as Dict)['color']])
    );
    for (const bar of bars) {
      const colours = (bar['marker'] as Dict)['color'] as string[];
      const labels = (bar['customdata'] as string[][]).map(
        ([, label]) => label
      );
      labels.forEach((label, index) =>
        expect(colours[index]).toBe(colourOf.get(label))
      );
    }
  });

  it('§4.4: left and right there is room for the axes of all', () => {
    const { l, r } = layout['margin'] as unknown as { l: number; r: number };
    expect(l).toBeGreaterThanOrEqual(75);
    expect(r).toBeGreaterThanOrEqual(75);
  });

  it('§4, §4.1, §4.2, §4.3: the wheel zooms and the mouse moves, along the time only', () => {
    const axes = Object.keys(layout).filter(name => name.startsWith('yaxis'));
    expect(axes.sort()).toEqual(['yaxis', 'yaxis3', 'yaxis4', 'yaxis5']);
    axes.forEach(name => expect(layout[name]!['fixedrange']).toBe(true));
    expect(layout['xaxis']).not.toHaveProperty('fixedrange');
    expect(layout['dragmode']).toBe('pan');
    const whole = picture([taskPlotOf()]);
    expect(figureOf(whole, wholeView(whole)).config).toMatchObject({
      scrollZoom: true,
      doubleClick: 'reset'
    });
  });

  it('§4: one plot is 800 pixels wide and 300 high', () => {
    const alone = drawn([taskPlotOf()]).layout;
    expect([alone['width'], alone['height']]).toEqual([800, 300]);
  });

  it('§4: title, width, height, palette and label size can be chosen', () => {
    const own = drawn([taskPlotOf()], {
      title: '<i>mine</i>',
      width: 1000,
      height: 500,
      palette: ['#123456', '#654321'],
      labelSize: 8
    });
    expect(own.layout['title']).toMatchObject({
      text: '&lt;i&gt;mine&lt;/i&gt;'
    });
    expect(own.layout['width']).toBe(1000);
    expect(own.layout['height']).toBe(500);
    const colours = own.bars.flatMap(
      bar => (bar['marker'] as Dict)['color'] as string[]
    );
    expect(new Set(colours)).toEqual(new Set(['#123456', '#654321']));
  });

  it('keeps dark colours visible on a dark background', () => {
    const whole = picture([resources]);
    const { data: dark } = figureOf(whole, wholeView(whole, 800, 'dark'));
    const line = dark.find(trace => trace['name'] === '% CPU') as Dict;
    expect((line['line'] as Dict)['color']).not.toBe('#440154');
  });
});
