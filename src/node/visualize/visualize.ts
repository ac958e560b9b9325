import { writeFileSync } from 'node:fs';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { figureOf, type Picture, wholeView } from './figure';
import { htmlPage } from './html';
import { openInBrowser } from './open-browser';
import { checkedOptions, type VisualizeOptions } from './options';
import type { IPlottable, Plot, TimeRange } from './plots';
import type { Layout, PlotlyFigure, Trace } from './plotly-figure';

/**
 * A figure of plotly: `data`, `layout` and `config` are plain objects that `Plotly.newPlot` takes. A notebook with a JavaScript kernel shows it
 * as the value of a cell.
 */
export class Figure implements PlotlyFigure {
  readonly data: readonly Trace[];
  readonly layout: Layout;
  readonly config: PlotlyFigure['config'];
  private readonly _picture: Picture;

  constructor(picture: Picture) {
    const { data, layout, config } = figureOf(picture, wholeView(picture));
    this.data = data;
    this.layout = layout;
    this.config = config;
    this._picture = picture;
  }

  /** @returns an HTML document that works without network, with all details of all zooms */
  toHtml(): string {
    return htmlPage(this._picture);
  }

  toJSON(): PlotlyFigure {
    return { data: this.data, layout: this.layout, config: this.config };
  }

  /** The forms that Jupyter understands, the best first; Deno's kernel asks for them by this symbol. */
  [Symbol.for('Jupyter.display')](): Record<string, unknown> {
    const height = (this.layout['height'] as number) + 60;
    // In a frame of its own, the document's content policy and styles are its own too.
    const srcdoc = this.toHtml().replace(/&/g, '&amp;').replace(/"/g, '&quot;');
    return {
      'application/vnd.plotly.v1+json': this.toJSON(),
      'text/html': `<iframe sandbox="allow-scripts allow-downloads" style="width: 100%; height: ${height}px; border: 0" srcdoc="${srcdoc}"></iframe>`
    };
  }
}

/**
 * Draws what profilers recorded, one below the other, with one time axis for all.
 *
 * ```ts
 * using profiler = new Profiler();
 * getSync(graph, 'total');
 * visualize([profiler], { filename: 'profile.html' });
 * ```
 *
 * @param profilers - one or several, in the order of the plots
 * @returns the figure; with `filename` it is also written as one HTML file that works offline
 * @throws TypeError for an unknown option, naming it, and for what is no profiler
 */
export function visualize(
  profilers: IPlottable | readonly IPlottable[],
  options: VisualizeOptions = {}
): Figure {
  const { filename, show, ...figureOptions } = checkedOptions(options);
  const list = Array.isArray(profilers)
    ? (profilers as readonly IPlottable[])
    : [profilers as IPlottable];
  if (list.length === 0) {
    throw new TypeError('visualize needs at least one profiler.');
  }
  list.forEach(checkPlottable);
  const { start, end } = timeRange(list);
  const plots = list.map(profiler =>
    profiler.plot(start, figureOptions.labelSize)
  );
  const figure = new Figure({
    plots,
    end: rightEnd(plots, end - start),
    options: figureOptions
  });
  if (filename !== undefined || show === true) {
    const path =
      filename === undefined
        ? join(mkdtempSync(join(tmpdir(), 'spanwise-')), 'profile.html')
        : filename instanceof URL
          ? fileURLToPath(filename)
          : filename;
    writeFileSync(path, figure.toHtml());
    if (show === true) {
      openInBrowser(path);
    }
  }
  return figure;
}

function checkPlottable(profiler: unknown): asserts profiler is IPlottable {
  if (typeof (profiler as Partial<IPlottable> | null)?.plot !== 'function') {
    throw new TypeError(
      'visualize draws Profiler, ResourceProfiler and CacheProfiler, one or a list of them.'
    );
  }
}

/** From the earliest begin to the latest end: profilers entered one after the other are still drawn at their true times. */
function timeRange(profilers: readonly IPlottable[]): TimeRange {
  const ranges = profilers.flatMap(({ timeRange: range }) => range ?? []);
  return ranges.length === 0
    ? { start: 0, end: 0 }
    : {
        start: Math.min(...ranges.map(({ start }) => start)),
        end: Math.max(...ranges.map(({ end }) => end))
      };
}

/** Nothing recorded: 0 to 10, resources 0 to 1 at least, as upstream. */
function rightEnd(plots: readonly Plot[], seconds: number): number {
  const isOfResources = plots.every(plot => plot.kind === 'resources');
  if (isOfResources) {
    return Math.max(1, seconds);
  }
  return seconds > 0 ? seconds : 10;
}
