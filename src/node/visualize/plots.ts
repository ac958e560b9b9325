/**
 * What a picture is drawn from: columns that are small, plain and independent of zoom, size and theme. They travel inside the HTML file,
 * where the same code draws them anew after every zoom. All times are seconds since the figure's time 0.
 */

/** Rectangles: one per task, on the row of its worker. */
export type TaskPlot = {
  readonly kind: 'tasks';
  /** Per task; tasks are sorted by start. */
  readonly keys: readonly string[];
  readonly label: readonly number[];
  readonly row: readonly number[];
  /** Of the lanes of its row, for tasks that overlap. */
  readonly lane: readonly number[];
  /** How many lanes share the row's height while it runs; 1 where nothing overlaps. */
  readonly lanes: readonly number[];
  readonly start: readonly number[];
  readonly duration: readonly number[];
  /** Distinct texts; `label` points into them. */
  readonly labels: readonly string[];
  /** One per worker, row 0 at the bottom. */
  readonly rows: readonly WorkerRow[];
};

export type WorkerRow = {
  readonly workerId: number | null;
  /** The most tasks that it had at once. */
  readonly lanes: number;
};

/** Two lines over one time. */
export type ResourcePlot = {
  readonly kind: 'resources';
  readonly time: readonly number[];
  readonly cpuPercent: readonly number[];
  readonly memoryMb: readonly number[];
};

/** Per result when it was held and how much it counts; drawn as one line per label. */
export type CachePlot = {
  readonly kind: 'cache';
  readonly metricName: string;
  readonly label: readonly number[];
  readonly entered: readonly number[];
  readonly left: readonly number[];
  readonly metric: readonly number[];
  readonly labels: readonly string[];
};

export type Plot = TaskPlot | ResourcePlot | CachePlot;

/** Seconds since the epoch. */
export type TimeRange = { readonly start: number; readonly end: number };

/** What `visualize` needs of a profiler. */
export interface IPlottable {
  /** The block that was profiled, or first to last record; null if there is neither. */
  readonly timeRange: TimeRange | null;
  /** @param origin - the figure's time 0, seconds since the epoch */
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
