/**
 * The data of a picture: columns that are small, plain and independent of zoom, size and theme. They travel inside the HTML file, where the
 * same code draws them again after every zoom. All times are seconds since the figure's time 0.
 */

/**
 * A plot of rectangles: one per task, on the row of its worker. All lists but `labels` and `rows` have one entry per task.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { visualize, type TaskPlot } from 'spanwise';
 *
 * const plot: TaskPlot = {
 *   kind: 'tasks',
 *   keys: ['load', 'train'],
 *   labels: ['load()', 'train(_)'],
 *   label: [0, 1],
 *   rows: [{ workerId: 1, lanes: 1 }],
 *   row: [0, 0],
 *   lane: [0, 0],
 *   lanes: [1, 1],
 *   start: [0, 1.5],
 *   duration: [1.5, 4]
 * };
 * const figure = visualize({ timeRange: { start: 0, end: 5.5 }, plot: () => plot });
 * console.log(figure.toHtml().includes('Profile Results')); // → true
 * ```
 */
export type TaskPlot = {
  /** Which plot this is. */
  readonly kind: 'tasks';
  /** As the pointer shows them; tasks are sorted by start. */
  readonly keys: readonly string[];
  /** Places in `labels`. */
  readonly label: readonly number[];
  /** Places in `rows`. */
  readonly row: readonly number[];
  /** Of the lanes of its row, for tasks that overlap; from 0. */
  readonly lane: readonly number[];
  /** How many lanes share the row's height while it runs; 1 where nothing overlaps. */
  readonly lanes: readonly number[];
  /** Seconds since the figure's time 0. */
  readonly start: readonly number[];
  /** Seconds. */
  readonly duration: readonly number[];
  /** Distinct texts; `label` points into them. */
  readonly labels: readonly string[];
  /** One per worker, row 0 at the bottom. */
  readonly rows: readonly WorkerRow[];
};

/**
 * A row of a {@link TaskPlot}: a worker.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { getThreads, Profiler, task, type WorkerRow } from 'spanwise';
 *
 * const profiler = new Profiler();
 * await profiler.run(() => getThreads({ a: task(() => 1) }, 'a'));
 * const describe = ({ workerId, lanes }: WorkerRow) => `thread ${workerId}: ${lanes} at once`;
 * console.log(profiler.plot(profiler.startTime ?? 0, 60).rows.map(describe)); // → [ 'thread …: 1 at once' ]
 * ```
 */
export type WorkerRow = {
  /** As in {@link TaskData}. */
  readonly workerId: number | null;
  /** The most tasks that it had at once. */
  readonly lanes: number;
};

/**
 * A plot of two lines over one time: CPU and memory. All lists have one entry per sample.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { getSync, Profiler, task, visualize, type IPlottable, type ResourcePlot } from 'spanwise';
 *
 * // Measured elsewhere, shown below the tasks: seconds since the epoch, per cent, MB.
 * const measured = [[1764000000, 95, 600], [1764000001, 180, 640]] as const;
 * const elsewhere: IPlottable = {
 *   timeRange: { start: 1764000000, end: 1764000001 },
 *   plot: (origin): ResourcePlot => ({
 *     kind: 'resources',
 *     time: measured.map(([time]) => time - origin),
 *     cpuPercent: measured.map(([, cpu]) => cpu),
 *     memoryMb: measured.map(([, , memory]) => memory)
 *   })
 * };
 * const profiler = new Profiler();
 * profiler.run(() => getSync({ a: task(Math.sqrt, 16) }, 'a'));
 * console.log(visualize([profiler, elsewhere]).data.length > 2); // → true
 * ```
 */
export type ResourcePlot = {
  /** Which plot this is. */
  readonly kind: 'resources';
  /** Seconds since the figure's time 0, ascending. */
  readonly time: readonly number[];
  /** Per cent of one core. */
  readonly cpuPercent: readonly number[];
  /** MB (10⁶ bytes). */
  readonly memoryMb: readonly number[];
};

/**
 * A plot of what is held: when each thing came and went and how much it counts, drawn as one line per label. All lists but `labels` have one
 * entry per thing.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { visualize, type CachePlot } from 'spanwise';
 *
 * // Open connections: from second 0 to 4, and from 1 to 3.
 * const plot: CachePlot = {
 *   kind: 'cache',
 *   metricName: 'connections',
 *   labels: ['db.example'],
 *   label: [0, 0],
 *   entered: [0, 1],
 *   left: [4, 3],
 *   metric: [1, 1]
 * };
 * const figure = visualize({ timeRange: { start: 0, end: 4 }, plot: () => plot });
 * console.log(JSON.stringify(figure.layout).includes('Cache Size (connections)')); // → true
 * ```
 */
export type CachePlot = {
  /** Which plot this is. */
  readonly kind: 'cache';
  /** What is counted: the axis's title. */
  readonly metricName: string;
  /** Places in `labels`. */
  readonly label: readonly number[];
  /** Seconds since the figure's time 0. */
  readonly entered: readonly number[];
  /** Seconds since the figure's time 0. */
  readonly left: readonly number[];
  /** How much it counts. */
  readonly metric: readonly number[];
  /** Distinct texts. */
  readonly labels: readonly string[];
};

/**
 * What one profiler contributes to a picture.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { CacheProfiler, Profiler, ResourceProfiler, type Plot } from 'spanwise';
 *
 * const plots: Plot[] = [new Profiler(), new ResourceProfiler(), new CacheProfiler()].map(profiler => profiler.plot(0, 60));
 * console.log(plots.map(({ kind }) => kind)); // → [ 'tasks', 'resources', 'cache' ]
 * ```
 */
export type Plot = TaskPlot | ResourcePlot | CachePlot;

/**
 * A stretch of time, seconds since the epoch.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { getSync, Profiler, task, type TimeRange } from 'spanwise';
 *
 * const profiler = new Profiler();
 * profiler.run(() => getSync({ a: task(Math.sqrt, 16) }, 'a'));
 * const seconds = ({ start, end }: TimeRange) => end - start;
 * console.log(profiler.timeRange !== null && seconds(profiler.timeRange) >= 0); // → true
 * ```
 */
export type TimeRange = {
  /** When it began. */
  readonly start: number;
  /** When it ended. */
  readonly end: number;
};

/**
 * What {@link visualize} can draw: the profilers, and whatever has a time range and a plot.
 *
 * @group Pictures
 * @example
 * ```ts
 * import { CacheProfiler, getSync, Profiler, task, visualize, type IPlottable } from 'spanwise';
 *
 * const profilers: (IPlottable & (Profiler | CacheProfiler))[] = [new Profiler(), new CacheProfiler()];
 * for (const profiler of profilers) {
 *   profiler.run(() => getSync({ a: task(Math.sqrt, 16) }, 'a'));
 * }
 * console.log(visualize(profilers).toHtml().startsWith('<!doctype html>')); // → true
 * ```
 */
export interface IPlottable {
  /** The block that was profiled, or first to last record; null if there is neither. */
  readonly timeRange: TimeRange | null;
  /**
   * What to draw.
   *
   * @param origin - the figure's time 0, seconds since the epoch
   * @param labelSize - about how many characters a label has
   */
  plot(origin: number, labelSize: number): Plot;
}

/** Tenths of a microsecond: finer than the clock, and short when written out. */
export function roundedSeconds(seconds: number): number {
  return Math.round(seconds * 1e7) / 1e7;
}

/** Collects texts, each once. */
export class TextTable {
  readonly texts: string[] = [];
  private readonly _places = new Map<string, number>();

  /** @returns the text's place in `texts` */
  add(text: string): number {
    let place = this._places.get(text);
    if (place === undefined) {
      place = this.texts.push(text) - 1;
      this._places.set(text, place);
    }
    return place;
  }
}
