import type { Key } from '../graph/key';
import type { RunGraph, RunState } from '../local/state';
import { cachePlot } from '../visualize/cache-plot';
import type { CachePlot, TimeRange } from '../visualize/plots';
import { BlockProfiler, rangeOf } from './block-profiler';
import { epochSeconds } from './clock';
import type { CacheData } from './records';
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
 * The results of a run in the order of entering, as columns: objects are made when somebody reads them.
 */
class RunColumns {
  readonly keys: Key[] = [];
  readonly metrics: number[] = [];
  readonly cacheTimes: number[] = [];
  readonly freeTimes: number[] = [];
  /** Where the results are that are held, by key object. */
  readonly held = new Map<Key, number>();
  /** In the order of leaving. */
  readonly left: number[] = [];
  releasedCount = 0;

  constructor(readonly graph: RunGraph) {}

  leave(at: number, time: number): void {
    this.freeTimes[at] = time;
    this.left.push(at);
  }
}

/**
 * Records of every result how long the scheduler held it, and how much it counted.
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
  /** What `metric` of the records counts. */
  readonly metricName: string;
  private readonly _metric: CacheMetric;
  private readonly _results: CacheData[] = [];
  private readonly _runs = new Map<RunGraph, RunColumns>();
  /** Runs that are over and not in `_results` yet. */
  private _finished: RunColumns[] = [];

  /** @throws TypeError for a metric that is neither a function nor a known name. */
  constructor({ metric = 'bytes', metricName }: CacheProfilerOptions = {}) {
    super();
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
    this._runs.set(graph, new RunColumns(graph));
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
    const run = this._runs.get(graph)!;
    run.held.set(key, run.keys.length);
    run.keys.push(key);
    run.metrics.push(metric);
    run.cacheTimes.push(now);
    run.freeTimes.push(NaN);
    const { released } = state;
    // Most tasks release nothing, and most others all that they needed: then nobody need look which.
    const releasedNow = released.size - run.releasedCount;
    if (releasedNow > 0) {
      run.releasedCount = released.size;
      const dependencies: Key[] = [];
      state.dependencies.get(key)!.forEach(each => dependencies.push(each));
      const isAll = releasedNow === dependencies.length;
      for (const dependency of dependencies) {
        const at = run.held.get(dependency);
        if (at !== undefined && (isAll || released.has(dependency))) {
          run.held.delete(dependency);
          run.leave(at, now);
        }
      }
    }
  }

  /** A run is over. @hidden */
  override finish(graph: RunGraph): void {
    const now = epochSeconds();
    const run = this._runs.get(graph)!;
    run.held.forEach(at => run.leave(at, now));
    this._finished.push(run);
    this._runs.delete(graph);
  }

  override clear(): void {
    super.clear();
    this._results.length = 0;
    this._finished = [];
    this._runs.forEach(run => {
      run.held.clear();
      run.left.length = 0;
    });
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

  private _read({
    graph,
    keys,
    metrics,
    cacheTimes,
    freeTimes,
    left
  }: RunColumns): void {
    for (const at of left.splice(0)) {
      const key = keys[at]!;
      this._results.push({
        key,
        task: graph.get(key)!,
        metric: metrics[at]!,
        cacheTime: cacheTimes[at]!,
        freeTime: freeTimes[at]!
      });
    }
  }
}
