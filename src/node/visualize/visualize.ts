import { writeFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SHOWN } from '../graph/shown';
import { figureOf, type Picture, wholeView } from './figure';
import { htmlPage } from './html';
import { openInBrowser } from './open-browser';
import { checkedOptions, type VisualizeOptions } from './options';
import type { IPlottable, Plot, TimeRange } from './plots';
import type { PlotlyFigure } from './plotly-figure';
import { summaryOf } from './summary';
import { checkedPath } from './written-path';

/**
 * A figure of plotly: `data`, `layout` and `config` are plain objects that `Plotly.newPlot` takes.
 *
 * Notebooks with a JavaScript kernel (Deno's, IJavascript) show it as the value of a cell.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { writeFileSync } from 'node:fs';
 * import { Figure, getSync, Profiler, task } from 'spanwise';
 *
 * const profiler = new Profiler();
 * profiler.run(() => getSync({ a: task(Math.sqrt, 16) }, 'a'));
 * const figure: Figure = profiler.visualize({ title: 'One root' });
 * writeFileSync('figure.html', figure.toHtml()); // opens without network
 * writeFileSync('figure.json', JSON.stringify(figure)); // for Plotly.newPlot
 * console.log(figure); // → Figure { One root: 1 task on 1 worker in …s, 100 % of the time busy }
 * ```
 */
export class Figure implements PlotlyFigure {
  /** Traces. */
  readonly data: PlotlyFigure['data'];
  /** Title, axes, legends. */
  readonly layout: PlotlyFigure['layout'];
  /** How it answers to wheel and mouse. */
  readonly config: PlotlyFigure['config'];
  private readonly _picture: Picture;

  private constructor(picture: Picture) {
    const { data, layout, config } = figureOf(picture, wholeView(picture));
    this.data = data;
    this.layout = layout;
    this.config = config;
    this._picture = picture;
  }

  /** Draws the whole of a picture. @internal */
  static of(picture: Picture): Figure {
    return new Figure(picture);
  }

  /** @returns an HTML document that works without network, with all details of all zooms */
  toHtml(): string {
    return htmlPage(this._picture);
  }

  /** The plain objects, which plotly takes in any language. */
  toJSON(): PlotlyFigure {
    return { data: this.data, layout: this.layout, config: this.config };
  }

  /** What consoles print: the objects themselves are thousands of lines. @internal */
  [SHOWN](): string {
    return `Figure { ${this._text()} }`;
  }

  /** Deno's kernel asks for the forms that Jupyter understands by this symbol … */
  [Symbol.for('Jupyter.display')](): Record<string, unknown> {
    return this._displayForms();
  }

  /** … and IJavascript by this name. @internal */
  _toMime(): Record<string, unknown> {
    return this._displayForms();
  }

  private _text(): string {
    return `${this._picture.options.title}: ${summaryOf(this._picture.plots)}`;
  }

  /** The best one first; a front end takes the first that it can show. */
  private _displayForms(): Record<string, unknown> {
    const height = (this.layout['height'] as number) + 60;
    // In a frame of its own, the document's content policy and styles are its own too.
    const srcdoc = this.toHtml().replace(/&/g, '&amp;').replace(/"/g, '&quot;');
    return {
      'application/vnd.plotly.v1+json': this.toJSON(),
      'text/html': `<iframe sandbox="allow-scripts allow-downloads" style="width: 100%; height: ${height}px; border: 0" srcdoc="${srcdoc}"></iframe>`,
      'text/plain': this._text()
    };
  }
}

/**
 * Draws what profilers recorded, one below the other, with one time axis for all.
 *
 * @param profilers - one or several, in the order of the plots
 * @returns the figure; with `filename` it is also written as one HTML file that works offline
 * @throws TypeError for an unknown option, naming it, and for what is no profiler
 * @throws Error before anything is drawn, where `filename` cannot be written to: its folder is not there, or may not be written in
 *
 * @group Pictures
 * @example
 * ```ts
 * import { addCallbacks, CacheProfiler, getSync, Profiler, ref, task, visualize } from 'spanwise';
 *
 * const graph = {
 *   rows: task((n: number) => new Float64Array(n), 100_000),
 *   total: task((rows: Float64Array) => rows.reduce((a, b) => a + b), ref('rows'))
 * };
 * const profilers = [new Profiler(), new CacheProfiler()];
 * addCallbacks(profilers, () => getSync(graph, 'total'));
 * const figure = visualize(profilers, { filename: 'profile.html', title: 'Sum' });
 * console.log(figure); // → Figure { Sum: 2 tasks on 1 worker in …s, … · results of at most 0.8 MB held at once }
 * ```
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
  const given = filename === undefined ? undefined : checkedPath(filename);
  const { start, end } = timeRange(list);
  const plots = list.map(profiler =>
    profiler.plot(start, figureOptions.labelSize)
  );
  const figure = Figure.of({
    plots,
    end: rightEnd(plots, end - start),
    options: figureOptions
  });
  if (given !== undefined || show === true) {
    const path =
      given ?? join(mkdtempSync(join(tmpdir(), 'spanwise-')), 'profile.html');
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

/** Nothing recorded: 0 to 10, resources 0 to 1 at least, as in Dask. */
function rightEnd(plots: readonly Plot[], seconds: number): number {
  const isOfResources = plots.every(plot => plot.kind === 'resources');
  if (isOfResources) {
    return Math.max(1, seconds);
  }
  return seconds > 0 ? seconds : 10;
}
