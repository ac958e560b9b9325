import { type Key, KeyMap, KeySet, type ReadonlyKeySet } from '../graph/key';
import { visitReferences } from '../graph/references';
import type { EmptyState, RunGraph, RunState } from '../local/state';
import { fixedSet } from '../local/state-view';
import { cachePlot } from '../visualize/cache-plot';
import type { CachePlot, TimeRange } from '../visualize/plots';
import { checkOptionNames } from '../option-names';
import { BlockProfiler, rangeOf } from './block-profiler';
import { epochSeconds } from './clock';
import type { CacheData } from './records';
import { RunsUnderWay } from './runs-under-way';
import { sizeOf } from './size-of';

/**
 * How much a result counts. Called once per task, in the scheduling thread.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { CacheProfiler, getSync, task, type CacheMetric } from 'spanwise';
 *
 * const rows: CacheMetric = result => (Array.isArray(result) ? result.length : 0);
 * const profiler = new CacheProfiler({ metric: rows });
 * profiler.run(() => getSync({ a: task(() => [1, 2, 3]) }, 'a'));
 * console.log(profiler.metricName, profiler.results[0]?.metric); // → rows 3
 * ```
 */
export type CacheMetric = (result: unknown) => number;

/**
 * Options of {@link CacheProfiler}.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { CacheProfiler, type CacheProfilerOptions } from 'spanwise';
 *
 * const options: CacheProfilerOptions = { metric: 'count', metricName: 'results held' };
 * console.log(new CacheProfiler(options).metricName, new CacheProfiler().metricName); // → results held bytes
 * ```
 */
export type CacheProfilerOptions = {
  /** `'bytes'` of each result (the default), `'count'` of results, or a function of yours. */
  readonly metric?: 'bytes' | 'count' | CacheMetric;
  /** Shown in pictures; by default the metric's own name. */
  readonly metricName?: string;
};

/**
 * The results of a run in the order of entering, as columns. The run writes three of them; when a result left is worked out at reading.
 *
 * A released result leaves when the last task that needs it has finished, and the columns hold that time too:
 *
 * ```
 *   keys        a  b  c = a + b  d = 2 a        a leaves with d, b with c
 *   cacheTimes  1  2  3          4
 *   lastUses    3  2  −          −              places, as far as they have been looked for
 * ```
 */
class RunColumns {
  readonly keys: Key[] = [];
  readonly metrics: number[] = [];
  readonly cacheTimes: number[] = [];
  /** Which keys are released; null before the first task. While the run goes on, this is part of its state. */
  released: ReadonlyKeySet | null = null;
  /** When the run ended; NaN while it goes on. */
  end = NaN;

  private readonly _places = new KeyMap<number>();
  private readonly _lastUses: number[] = [];
  private readonly _told = new Set<number>();

  constructor(readonly graph: RunGraph) {}

  /** Records of the results that have left since the last call, in the order of leaving. */
  takeLeft(): CacheData[] {
    this._findLastUses();
    const left: number[] = [];
    this.keys.forEach((key, at) => {
      const isOver =
        !Number.isNaN(this.end) || this.released?.has(key) === true;
      if (isOver && !this._told.has(at)) {
        this._told.add(at);
        left.push(at);
      }
    });
    return left
      .map(at => this._recordOf(at))
      .sort((a, b) => a.freeTime - b.freeTime);
  }

  /** Also forgets the results that are held now. */
  clear(): void {
    for (const column of [
      this.keys,
      this.metrics,
      this.cacheTimes,
      this._lastUses
    ]) {
      column.length = 0;
    }
    this._places.clear();
    this._told.clear();
  }

  private _findLastUses(): void {
    for (let at = this._lastUses.length; at < this.keys.length; at++) {
      const key = this.keys[at]!;
      this._places.set(key, at);
      this._lastUses.push(-1);
      visitReferences(this.graph.get(key), dependency => {
        const place = this._places.get(dependency);
        if (place !== undefined) {
          this._lastUses[place] = at;
        }
      });
    }
  }

  private _recordOf(at: number): CacheData {
    const key = this.keys[at]!;
    const isReleased = this.released?.has(key) === true;
    const lastUse = isReleased
      ? this.cacheTimes[this._lastUses[at]!]
      : undefined;
    return {
      key,
      task: this.graph.get(key)!,
      metric: this.metrics[at]!,
      cacheTime: this.cacheTimes[at]!,
      // The metric may have thrown for the last task, which ended the run.
      freeTime: lastUse ?? this.end
    };
  }
}

/**
 * Records how long the scheduler held each result, and how much it counted.
 *
 * A result enters when its task finishes and leaves when the last task that needed it does, or with the run; `results` are in the order of
 * leaving. A task that fails never enters.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { CacheProfiler, getSync, ref, task } from 'spanwise';
 *
 * const graph = {
 *   block: task((n: number) => new Float64Array(n), 1000),
 *   sum: task((block: Float64Array) => block.reduce((a, b) => a + b), ref('block'))
 * };
 * const profiler = new CacheProfiler();
 * profiler.run(() => getSync(graph, 'sum'));
 * for (const { key, metric } of profiler.results) {
 *   console.log(`${key}: ${metric} ${profiler.metricName}`);
 * }
 * // → block: 8000 bytes
 * // → sum: 8 bytes
 * ```
 */
export class CacheProfiler extends BlockProfiler {
  /** The unit of the records' `metric`. */
  readonly metricName: string;
  private readonly _metric: CacheMetric;
  private readonly _results: CacheData[] = [];
  private readonly _runs = new RunsUnderWay<RunColumns>();
  /** Runs that are over and not in `_results` yet. */
  private _finished: RunColumns[] = [];

  /** @throws TypeError for an unknown option, and for a metric that is neither a function nor a known name. */
  constructor(options: CacheProfilerOptions = {}) {
    super();
    checkOptionNames('CacheProfiler', options, {
      metric: true,
      metricName: true
    });
    const { metric = 'bytes', metricName } = options;
    if (typeof metric === 'function') {
      this._metric = metric;
      this.metricName = metricName ?? (metric.name || 'metric');
    } else if (metric === 'bytes' || metric === 'count') {
      this._metric = metric === 'bytes' ? sizeOf : () => 1;
      this.metricName = metricName ?? metric;
    } else {
      throw new TypeError(
        "CacheProfiler: metric must be 'bytes', 'count' or a function of a result."
      );
    }
  }

  /** Records of all results that have left; the same list every time. */
  get results(): readonly CacheData[] {
    this._finished.forEach(run => this._read(run));
    this._finished = [];
    this._runs.forEach(run => this._read(run));
    return this._results;
  }

  /** A run begins. @hidden */
  override start(graph: RunGraph): void {
    this._runs.begin(graph, new RunColumns(graph));
  }

  /** A task is over. @hidden */
  override posttask(
    key: Key,
    result: unknown,
    graph: RunGraph,
    state: RunState
  ): void {
    const now = epochSeconds();
    const metric = this._metric(result);
    const run = this._runs.of(graph);
    run.keys.push(key);
    run.metrics.push(metric);
    run.cacheTimes.push(now);
    run.released = state.released;
  }

  /** A run is over. @hidden */
  override finish(graph: RunGraph, state: RunState | EmptyState): void {
    const run = this._runs.end(graph);
    run.end = epochSeconds();
    // A copy is kept, since the state itself would keep the requested values in memory.
    run.released = fixedSet((state as Partial<RunState>).released ?? noKeys);
    this._finished.push(run);
  }

  override clear(): void {
    super.clear();
    this._results.length = 0;
    this._finished = [];
    this._runs.forEach(run => run.clear());
  }

  /** What {@link visualize} draws. */
  plot(origin: number, labelSize: number): CachePlot {
    return cachePlot(this.results, this.metricName, origin, labelSize);
  }

  protected recordedRange(): TimeRange | null {
    return rangeOf(
      this.results,
      record => record.cacheTime,
      record => record.freeTime
    );
  }

  private _read(run: RunColumns): void {
    for (const record of run.takeLeft()) {
      this._results.push(record);
    }
  }
}

const noKeys: ReadonlyKeySet = new KeySet();
