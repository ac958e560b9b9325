import type { Key } from '../graph/key';
import type { RunGraph, RunState } from '../local/state';
import { cachePlot } from '../visualize/cache-plot';
import type { CachePlot, TimeRange } from '../visualize/plots';
import { BlockProfiler } from './block-profiler';
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

type HeldResult = {
  readonly key: Key;
  readonly metric: number;
  readonly cacheTime: number;
};

/** A run in progress: what it holds, by key object. */
type HeldResults = Map<Key, HeldResult>;

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
  readonly results: CacheData[] = [];
  readonly metricName: string;
  private readonly _metric: CacheMetric;
  private readonly _runs = new Map<RunGraph, HeldResults>();

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

  override start(graph: RunGraph): void {
    this._runs.set(graph, new Map());
  }

  override posttask(
    key: Key,
    result: unknown,
    graph: RunGraph,
    state: RunState
  ): void {
    const cacheTime = epochSeconds();
    const held = this._runs.get(graph)!;
    held.set(key, { key, metric: this._metric(result), cacheTime });
    const { released } = state;
    state.dependencies.get(key)!.forEach(dependency => {
      const result = held.get(dependency);
      if (result !== undefined && released.has(dependency)) {
        held.delete(dependency);
        this._record(result, graph, cacheTime);
      }
    });
  }

  override finish(graph: RunGraph): void {
    const now = epochSeconds();
    this._runs.get(graph)!.forEach(result => this._record(result, graph, now));
    this._runs.delete(graph);
  }

  override clear(): void {
    super.clear();
    this.results.length = 0;
    this._runs.forEach(held => held.clear());
  }

  plot(origin: number, labelSize: number): CachePlot {
    return cachePlot(this.results, this.metricName, origin, labelSize);
  }

  protected recordedRange(): TimeRange | null {
    return this.results.length === 0
      ? null
      : {
          start: this.results.reduce(
            (first, { cacheTime }) => Math.min(first, cacheTime),
            Infinity
          ),
          end: this.results.reduce(
            (last, { freeTime }) => Math.max(last, freeTime),
            -Infinity
          )
        };
  }

  private _record(
    { key, metric, cacheTime }: HeldResult,
    graph: RunGraph,
    freeTime: number
  ): void {
    this.results.push({
      key,
      task: graph.get(key)!,
      metric,
      cacheTime,
      freeTime
    });
  }
}
