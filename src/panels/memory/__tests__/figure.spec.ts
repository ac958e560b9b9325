import { english } from '../../../testing/translators';
import { ask } from '../../../observer/__tests__/ask';
import { drawnStore } from '../../../testing/panel-harness/drawn-log';
import { firstLook } from '../../../testing/panel-harness/drawn-run';
import { breakdownFigure, memoryFigure, plotText } from '../figure';
import { memoryLines } from '../rows';

const result = ask(drawnStore(firstLook()), 'memory', { ended: true });
const GiB = 2 ** 30;

type Layout = {
  shapes: { y0: number }[];
  annotations: { text: string; y: number; yshift: number }[];
  yaxis: { range: number[]; ticktext: string[] };
  xaxis: { ticktext: string[] };
};

describe('the memory figure', () => {
  const figure = memoryFigure(
    memoryLines(result, 'zero', english),
    result.limits,
    'zero',
    { width: 900, trans: english }
  );
  const layout = figure.layout as unknown as Layout;

  it('tells runs apart by colour role and dash', () => {
    const lines = figure.data.map(
      trace => trace.line as { color: string; dash: string }
    );
    expect(lines.map(line => line.color)).toEqual(['--sw-run-1', '--sw-run-2']);
    expect(lines.map(line => line.dash)).toEqual(['solid', '7px,3px']);
  });

  it('shows limits and the peak of each run', () => {
    expect(layout.shapes).toHaveLength(3);
    expect(layout.yaxis.range[1]).toBe(16 * GiB);
    const texts = layout.annotations.map(note =>
      note.text.replaceAll('\u00a0', ' ')
    );
    expect(texts.slice(0, 3)).toEqual([
      'target 9.60 GiB',
      'spill 11.2 GiB',
      'pause 12.8 GiB'
    ]);
    expect(texts.slice(3)).toEqual([
      'before: peak 12.3 GiB at +6.3 s',
      'after: peak 6.60 GiB at +9.8 s'
    ]);
    expect(
      layout.yaxis.ticktext.map(text => text.replace('\u00a0', ' '))
    ).toEqual(['0', '4 GiB', '8 GiB', '12 GiB', '16 GiB']);
    expect(layout.xaxis.ticktext[1]).toMatch(/^\+/);
  });

  it.each([60, 120, 150, 400, 900])(
    'keeps the words of limits apart in a chart of %d pixels',
    height => {
      const { layout: drawn } = memoryFigure(
        memoryLines(result, 'zero', english),
        result.limits,
        'zero',
        { width: 900, height, trans: english }
      ) as unknown as {
        layout: Layout & { margin: { t: number; b: number } };
      };
      const { margin, yaxis, annotations } = drawn;
      const pixels = height - margin.t - margin.b;
      const at = annotations
        .slice(0, 3)
        .map(({ y, yshift }) => (y / yaxis.range[1]!) * pixels + yshift);
      expect(at[1]! - at[0]!).toBeGreaterThan(12);
      expect(at[2]! - at[1]!).toBeGreaterThan(12);
      // Where they have room they stand beside their lines.
      expect(annotations.slice(0, 3).every(({ yshift }) => !yshift)).toBe(
        height > 300
      );
    }
  );

  it('leaves the limits out when they would press the lines flat', () => {
    const small = {
      ...result,
      runs: result.runs.map(run => ({
        ...run,
        bytes: run.bytes.map(value => Number(value) / 100),
        peak: run.peak / 100
      }))
    };
    const flat = memoryFigure(
      memoryLines(small, 'zero', english),
      small.limits,
      'zero',
      { width: 900, trans: english }
    ).layout as unknown as Layout;
    expect(flat.shapes).toEqual([]);
    expect(flat.yaxis.range[1]).toBeLessThan(0.2 * GiB);
  });

  it('gives plotly the labels of users as text', () => {
    expect(plotText('<img src=x onerror=alert(1)>&amp;')).toBe(
      '&lt;img src=x onerror=alert(1)&gt;&amp;amp;'
    );
    const evil = {
      ...result,
      runs: result.runs.map(run => ({ ...run, label: '<b>x</b>' }))
    };
    const made = JSON.stringify(
      memoryFigure(memoryLines(evil, 'zero', english), null, 'zero', {
        width: 900,
        trans: english
      })
    );
    expect(made).not.toContain('<b>');
  });

  it('knows no colour of its own', () => {
    const made = JSON.stringify([
      figure,
      breakdownFigure(
        [
          {
            label: 'managed',
            colour: '--sw-kind-cpu',
            t: [0, 1],
            bytes: [1, null]
          }
        ],
        { width: 500 }
      )
    ]);
    expect(made.match(/#[0-9a-f]{3,6}\b/gi)).toBeNull();
  });

  it('is drawn without lines', () => {
    const none = memoryFigure([], null, 'clock', {
      width: 500,
      trans: english
    });
    expect(none.data).toEqual([]);
    expect(() => breakdownFigure([], { width: 500 })).not.toThrow();
  });
});
