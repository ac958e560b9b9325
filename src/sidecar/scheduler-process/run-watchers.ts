/** Tells clients when their tasks begin and end at the workers. In the scheduler process. */
import type { AcceptedLink } from '../../link/door';
import type { ClientTaskId, DenseTaskId } from '../../records/ids';
import type { Message } from '../../wire/schema';
import { NO_TASK, type TaskRows } from './task-rows';

/** Stands for the duration of a run that goes on. */
const GOES_ON = -1;

type Running = Message<'worker', 'up', 'measured'>['tables']['running'];
type Finished = Message<'worker', 'up', 'finished'>['tables']['runs'];
/** The task of a row; {@link NO_TASK}: none that is to be told of. */
type TaskOf = (row: number) => DenseTaskId;

/** Columns of `ran`. */
type Runs = {
  readonly id: ClientTaskId[];
  readonly worker: number[];
  readonly thread: number[];
  readonly start: number[];
  readonly duration: number[];
};

/** The clients that want to know of the runs of tasks whose results they wait for. Nothing is done while there are none. */
export class RunWatchers {
  private readonly _links = new Map<number, AcceptedLink<'client'>>();

  constructor(private readonly _rows: TaskRows) {}

  get isEmpty(): boolean {
    return this._links.size === 0;
  }

  watch(client: number, link: AcceptedLink<'client'>, on: boolean): void {
    if (on) {
      this._links.set(client, link);
    } else {
      this._links.delete(client);
    }
  }

  clientLeft(client: number): void {
    this._links.delete(client);
  }

  /** Runs that have gone on for a while, as the worker sees when it looks at its threads. */
  began(
    worker: number,
    { rows, thread, started }: Running,
    taskOf: TaskOf
  ): void {
    this._tell(worker, rows, taskOf, thread, started, () => GOES_ON);
  }

  /** Runs by which tasks end; to be called before the results are reported. */
  ended(
    worker: number,
    { rows, thread, start, duration }: Finished,
    taskOf: TaskOf
  ): void {
    this._tell(worker, rows, taskOf, thread, start, row => duration[row]!);
  }

  private _tell(
    worker: number,
    rows: number,
    taskOf: TaskOf,
    thread: ArrayLike<number>,
    start: ArrayLike<number>,
    durationOf: (row: number) => number
  ): void {
    for (const [client, link] of this._links) {
      const runs: Runs = {
        id: [],
        worker: [],
        thread: [],
        start: [],
        duration: []
      };
      for (let row = 0; row < rows; row++) {
        const task = taskOf(row);
        if (task === NO_TASK) {
          continue;
        }
        this._rows.forEachWanted(task, client, id => {
          runs.id.push(id);
          runs.worker.push(worker);
          runs.thread.push(thread[row]!);
          runs.start.push(start[row]!);
          runs.duration.push(durationOf(row));
        });
      }
      if (runs.id.length > 0) {
        link.send('ran', {}, { runs });
      }
    }
  }
}
