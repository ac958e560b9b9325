import type { Key } from '../graph/key';
import type { RunGraph, RunState } from '../local/state';
import { cachePlot } from '../visualize/cache-plot';
import type { CachePlot, TimeRange } from '../visualize/plots';
import { BlockProfiler, rangeOf } from './block-profiler';
import { epochSeconds } from './clock';
import type { CacheData } from './records';
import { sizeOf } from './size-of';

/** How much a result counts. Called once per task, in the scheduling thread. */
export type CacheMetric = (result: unknown) => number;

export type CacheProfilerOptions = {
  /** `'bytes'` of each result (the default), `'count'` of results, or a function of yours. */
  readonly metric?: 'bytes' | 'count' | CacheMetric;
  /** Shown in pictures; else the metric's own name. */
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
 * ```ts
 * const profiler = new CacheProfiler({ metric: result => result.length, metricName: 'rows' });
 * profiler.run(() => getSync(graph, 'total'));
 * profiler.results[0];     // { key: 'x', task: Task, metric: 100, cacheTime: 1764…, freeTime: 1764… }
 * ```
 *
 * A result enters when its task finishes and leaves when the last task that needed it does, or with the run; `results` are in the order of
 * leaving. A task that fails never enters.
 */
export class CacheProfiler extends BlockProfiler {
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

  override start(graph: RunGraph): void {
    this._runs.set(graph, new RunColumns(graph));
  }

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
