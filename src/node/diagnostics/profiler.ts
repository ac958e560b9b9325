import type { Key } from '../graph/key';
import type { EmptyState, RunGraph, RunState } from '../local/state';
import type { TaskPlot, TimeRange } from '../visualize/plots';
import { taskPlot } from '../visualize/task-plot';
import { BlockProfiler } from './block-profiler';
import { epochSeconds } from './clock';
import type { TaskData } from './records';

/** A task that was handed out; complete once it has an end. */
type OpenRecord = {
  readonly key: Key;
  readonly startTime: number;
  endTime: number;
  workerId: number | null;
};

/**
 * Records of every task when it ran, and where.
 *
 * ```ts
 * const profiler = new Profiler();
 * profiler.run(() => getSync(graph, 'total'));
 * profiler.results[0];     // { key: 'x', task: Task, startTime: 1764…, endTime: 1764…, workerId: null }
 * profiler.visualize({ filename: 'profile.html' });
 * ```
 *
 * `results` grows when a run ends, in the order in which tasks were handed out. Tasks that failed, or were still running when another one
 * failed, have no record; data has none either.
 */
export class Profiler extends BlockProfiler {
  readonly results: TaskData[] = [];
  /** Of runs in progress, in the order of handing out. A key is one object from `pretask` to `posttask`. */
  private readonly _runs = new Map<RunGraph, Map<Key, OpenRecord>>();

  override start(graph: RunGraph): void {
    this._runs.set(graph, new Map());
  }

  override pretask(key: Key, graph: RunGraph): void {
    this._runs.get(graph)!.set(key, {
      key,
      startTime: epochSeconds(),
      endTime: NaN,
      workerId: null
    });
  }

  override posttask(
    key: Key,
    _result: unknown,
    graph: RunGraph,
    _state: RunState,
    workerId: number | null
  ): void {
    const record = this._runs.get(graph)!.get(key)!;
    record.endTime = epochSeconds();
    record.workerId = workerId;
  }

  override finish(graph: RunGraph, _state: RunState | EmptyState): void {
    for (const record of this._runs.get(graph)!.values()) {
      if (!Number.isNaN(record.endTime)) {
        this.results.push({ ...record, task: graph.get(record.key)! });
      }
    }
    this._runs.delete(graph);
  }

  override clear(): void {
    super.clear();
    this.results.length = 0;
  }

  plot(origin: number, labelSize: number): TaskPlot {
    return taskPlot(this.results, origin, labelSize);
  }

  protected recordedRange(): TimeRange | null {
    return this.results.length === 0
      ? null
      : {
          start: this.results.reduce(
            (first, { startTime }) => Math.min(first, startTime),
            Infinity
          ),
          end: this.results.reduce(
            (last, { endTime }) => Math.max(last, endTime),
            -Infinity
          )
        };
  }
}
