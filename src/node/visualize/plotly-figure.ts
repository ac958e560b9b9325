/** Parts of a figure as plotly takes them: plain data. */
export type Trace = Readonly<Record<string, unknown>>;
export type Layout = Readonly<Record<string, unknown>>;

/**
 * A figure as plotly takes it: plain objects, which may be written as JSON.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { getSync, Profiler, task, type PlotlyFigure } from 'spanwise';
 *
 * const profiler = new Profiler();
 * profiler.run(() => getSync({ a: task(Math.sqrt, 16) }, 'a'));
 * const { data, layout }: PlotlyFigure = profiler.visualize({ width: 900 });
 * console.log(data.length > 0, layout['width']); // → true 900
 * ```
 */
export type PlotlyFigure = {
  /** Traces. */
  readonly data: readonly Readonly<Record<string, unknown>>[];
  /** Title, axes, legends. */
  readonly layout: Readonly<Record<string, unknown>>;
  /** How it answers to wheel and mouse. */
  readonly config: Readonly<Record<string, unknown>>;
};

/** How plotly behaves: the wheel zooms, a double click goes back, nothing is ever sent anywhere. */
export const PLOTLY_CONFIG = {
  scrollZoom: true,
  doubleClick: 'reset',
  displaylogo: false,
  showSendToCloud: false,
  showTips: false,
  modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d']
} as const;
