import { type Key, KeyMap } from '../graph/key';
import { STAMPED } from '../local/stamped-callback';
import type { RunGraph, RunState } from '../local/state';
import type { TaskPlot, TimeRange } from '../visualize/plots';
import { taskPlot } from '../visualize/task-plot';
import { BlockProfiler, rangeOf } from './block-profiler';
import { epochSeconds, epochSecondsAt } from './clock';
import type { TaskData } from './records';
import { RunsUnderWay } from './runs-under-way';

/**
 * The tasks of a run as columns, one set in the order of handing out, one in the order of finishing. The run only writes them; reading puts
 * the two together.
 *
 * ```
 *   keys     a  b  c
 *   doneKeys b  a           starts  1  1     ends  2  3            c failed, or was under way when another one did
 * ```
 */
class RunColumns {
  readonly keys: Key[] = [];
  readonly doneKeys: Key[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly workerIds: (number | null)[] = [];
  /** The times of the task that is reported next; NaN if it ran nowhere. */
  nextStart = NaN;
  nextEnd = NaN;

  constructor(readonly graph: RunGraph) {}

  /** Also forgets the tasks that have begun. */
  clear(): void {
    this.keys.length = 0;
    this.starts.length = 0;
    this.doneKeys.length = 0;
    this.ends.length = 0;
    this.workerIds.length = 0;
  }

  /** The records of the finished tasks, in the order of handing out. */
  records(): TaskData[] {
    const records: TaskData[] = [];
    const places = this._placesOfDone();
    this.keys.forEach((key, at) => {
      const place = places(key, at);
      if (place !== undefined) {
        records.push({
          key,
          task: this.graph.get(key)!,
          startTime: this.starts[place]!,
          endTime: this.ends[place]!,
          workerId: this.workerIds[place]!
        });
      }
    });
    return records;
  }

  /** Finds a task among those that finished. Where tasks run one at a time both orders are the same, and nothing is looked up. */
  private _placesOfDone(): (key: Key, at: number) => number | undefined {
    if (this.doneKeys.every((key, at) => key === this.keys[at])) {
      return (_, at) => (at < this.doneKeys.length ? at : undefined);
    }
    const places = new KeyMap(this.doneKeys.map((key, at) => [key, at]));
    return key => places.get(key);
  }
}

/**
 * Records when and where each task ran. A task is timed where it runs, so waiting and transport are no part of it.
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
  private readonly _runs = new RunsUnderWay<RunColumns>();
  /** Runs that are over and not in `_results` yet. */
  private _finished: RunColumns[] = [];

  /** All records; the same list every time. */
  get results(): readonly TaskData[] {
    for (const run of this._finished) {
      for (const record of run.records()) {
        this._results.push(record);
      }
    }
    this._finished = [];
    return this._results;
  }

  /** A run begins. @hidden */
  override start(graph: RunGraph): void {
    this._runs.begin(graph, new RunColumns(graph));
  }

  /** A task begins. @hidden */
  override pretask(key: Key, graph: RunGraph): void {
    this._runs.of(graph).keys.push(key);
  }

  /** A task has run. @internal */
  [STAMPED](graph: RunGraph, startMs: number, stopMs: number): void {
    const run = this._runs.of(graph);
    run.nextStart = epochSecondsAt(startMs);
    run.nextEnd = epochSecondsAt(stopMs);
  }

  /** A task is over. @hidden */
  override posttask(
    key: Key,
    _result: unknown,
    graph: RunGraph,
    _state: RunState,
    workerId: number | null
  ): void {
    const run = this._runs.of(graph);
    if (Number.isNaN(run.nextStart)) {
      // An alias of a value that is here: it takes no time.
      run.nextStart = run.nextEnd = epochSeconds();
    }
    run.doneKeys.push(key);
    run.starts.push(run.nextStart);
    run.ends.push(run.nextEnd);
    run.workerIds.push(workerId);
    run.nextStart = NaN;
  }

  /** A run is over. @hidden */
  override finish(graph: RunGraph): void {
    this._finished.push(this._runs.end(graph));
  }

  override clear(): void {
    super.clear();
    this._finished = [];
    this._results.length = 0;
    this._runs.forEach(run => run.clear());
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
