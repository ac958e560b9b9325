import type { Key } from '../graph/key';
import type { RunGraph, RunState } from '../local/state';
import type { TaskPlot, TimeRange } from '../visualize/plots';
import { taskPlot } from '../visualize/task-plot';
import { BlockProfiler, rangeOf } from './block-profiler';
import { epochSeconds } from './clock';
import type { TaskData } from './records';

/**
 * The tasks of a run, in the order of handing out, as columns: a run pays for four numbers per task, and objects are made when somebody reads
 * them.
 */
class RunColumns {
  readonly keys: Key[] = [];
  readonly starts: number[] = [];
  /** NaN for what has not finished. */
  readonly ends: number[] = [];
  readonly workerIds: (number | null)[] = [];
  /** Where the tasks in progress are. A key is one object from `pretask` to `posttask`. */
  readonly open = new Map<Key, number>();

  constructor(readonly graph: RunGraph) {}
}

/**
 * Records of every task when it ran, and where.
 *
 * `results` grows when a run ends, in the order in which tasks were handed out. Tasks that failed, or were still running when another one
 * failed, have no record; data has none either.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { getSync, Profiler, ref, task } from 'spanwise';
 *
 * const graph = { a: task(Math.abs, -16), b: task(Math.sqrt, ref('a')) };
 * const profiler = new Profiler();
 * console.log(profiler.run(() => getSync(graph, 'b'))); // → 4
 * // Each is { key: 'a', task: Task, startTime: 1764…, endTime: 1764…, workerId: null }
 * console.log(profiler.results.map(({ key }) => key)); // → [ 'a', 'b' ]
 * profiler.visualize({ filename: 'profile.html' });
 * ```
 */
export class Profiler extends BlockProfiler {
  private readonly _results: TaskData[] = [];
  private readonly _runs = new Map<RunGraph, RunColumns>();
  /** Runs that are over and not in `_results` yet. */
  private _finished: RunColumns[] = [];

  /** All records; the same list every time. */
  get results(): readonly TaskData[] {
    for (const { graph, keys, starts, ends, workerIds } of this._finished) {
      keys.forEach((key, at) => {
        if (!Number.isNaN(ends[at])) {
          this._results.push({
            key,
            task: graph.get(key)!,
            startTime: starts[at]!,
            endTime: ends[at]!,
            workerId: workerIds[at]!
          });
        }
      });
    }
    this._finished = [];
    return this._results;
  }

  /** A run begins. @hidden */
  override start(graph: RunGraph): void {
    this._runs.set(graph, new RunColumns(graph));
  }

  /** A task begins. @hidden */
  override pretask(key: Key, graph: RunGraph): void {
    const run = this._runs.get(graph)!;
    run.open.set(key, run.keys.length);
    run.keys.push(key);
    run.ends.push(NaN);
    run.workerIds.push(null);
    run.starts.push(epochSeconds());
  }

  /** A task is over. @hidden */
  override posttask(
    key: Key,
    _result: unknown,
    graph: RunGraph,
    _state: RunState,
    workerId: number | null
  ): void {
    const now = epochSeconds();
    const run = this._runs.get(graph)!;
    const at = run.open.get(key)!;
    run.open.delete(key);
    run.ends[at] = now;
    run.workerIds[at] = workerId;
  }

  /** A run is over. @hidden */
  override finish(graph: RunGraph): void {
    this._finished.push(this._runs.get(graph)!);
    this._runs.delete(graph);
  }

  override clear(): void {
    super.clear();
    this._finished = [];
    this._results.length = 0;
  }

  /** What {@link visualize} draws. */
  plot(origin: number, labelSize: number): TaskPlot {
    return taskPlot(this.results, origin, labelSize);
  }

  protected recordedRange(): TimeRange | null {
    return rangeOf(
      this.results,
      record => record.startTime,
      record => record.endTime
    );
  }
}
