import { NONE_U32, type ReportStatus } from '../records/enumerations';
import type { DenseTaskIds } from '../records/ids';
import { Int32List } from '../base/int-list';
import type { Instruction, Report } from './instructions';
import { type FailureReason, TaskState } from './task-state';
import type { TaskTable } from './task-table';
import type { WorkerRecord } from './worker-table';

type ReportRows = {
  readonly tasks: Int32List;
  readonly status: Int32List;
  readonly cause: Int32List;
  readonly reason: Int32List;
};

/** Collects instructions, row by row, until the shell takes them as batches. */
export class InstructionBuffer {
  private _told: WorkerRecord[] = [];
  private _reports = new Map<number, ReportRows>();
  private _forgotten = new Int32List();

  constructor(private readonly _tasks: TaskTable) {}

  assign(worker: WorkerRecord, task: number, runId: number): void {
    worker.assignTasks.push(task);
    worker.assignRuns.push(runId);
    this._tell(worker);
  }

  /** @param givenUp - the run that the worker is to forget and nobody wants; NONE_U32: there is none. */
  release(
    worker: WorkerRecord,
    task: number,
    isHeld: boolean,
    givenUp: number = NONE_U32
  ): void {
    worker.releaseTasks.push(task);
    worker.releaseHeld.push(Number(isHeld));
    worker.releaseRuns.push(givenUp);
    // Of a task that is forgotten with its result nobody knows them later.
    worker.releaseBytes.push(isHeld ? this._tasks.nbytes[task]! : 0);
    this._tell(worker);
  }

  takeBack(worker: WorkerRecord, task: number, runId: number): void {
    worker.takeBackTasks.push(task);
    worker.takeBackRuns.push(runId);
    this._tell(worker);
  }

  /** As {@link takeBack}, of a run that is given up: the worker answers before it forgets the run. */
  askWhetherBegun(worker: WorkerRecord, task: number, runId: number): void {
    worker.begunTasks.push(task);
    worker.begunRuns.push(runId);
    this._tell(worker);
  }

  /** Whether a run of this worker was assigned in this batch: the worker knows nothing of it yet. */
  isUnsent({ assignRuns }: WorkerRecord, runId: number): boolean {
    // Ids of runs ascend, and wrap.
    return assignRuns.length > 0 && ((runId - assignRuns.at(0)) | 0) >= 0;
  }

  /** The tasks that this batch tells a worker to drop. */
  dropsOf({ releaseTasks }: WorkerRecord): ReadonlySet<number> {
    return new Set(releaseTasks.toArray());
  }

  acquire(worker: WorkerRecord, task: number): void {
    worker.acquireTasks.push(task);
    this._tell(worker);
  }

  report(
    client: number,
    task: number,
    status: ReportStatus,
    cause: number,
    reason: FailureReason
  ): void {
    let rows = this._reports.get(client);
    if (rows === undefined) {
      rows = {
        tasks: new Int32List(),
        status: new Int32List(),
        cause: new Int32List(),
        reason: new Int32List()
      };
      this._reports.set(client, rows);
    }
    rows.tasks.push(task);
    rows.status.push(status);
    rows.cause.push(cause);
    rows.reason.push(reason);
  }

  forgotten(task: number): void {
    this._forgotten.push(task);
  }

  /** Drops the instructions for a worker that has left. */
  dropWorker(worker: WorkerRecord): void {
    clearWorker(worker);
    this._told = this._told.filter(other => other !== worker);
  }

  dropClient(client: number): void {
    this._reports.delete(client);
  }

  /** Returns all instructions, in the order in which they are to be carried out, and empties the buffer. */
  take(prioritiesOf: (tasks: Int32List) => Float64Array | null): Instruction[] {
    const instructions: Instruction[] = [];
    const told = this._told;
    this._told = [];
    for (const worker of told) {
      if (worker.begunTasks.length > 0) {
        instructions.push(
          takeBackOf(worker.id, worker.begunTasks, worker.begunRuns)
        );
      }
      if (worker.releaseTasks.length > 0) {
        instructions.push({
          type: 'release',
          worker: worker.id,
          taskIds: tasksOf(worker.releaseTasks),
          held: worker.releaseHeld.toUint8Array(),
          runIds: worker.releaseRuns.toUint32Array(),
          nbytes: Float64Array.from(worker.releaseBytes)
        });
      }
    }
    for (const worker of told) {
      this._keepCurrentRuns(worker);
      if (worker.assignTasks.length > 0) {
        instructions.push({
          type: 'assign',
          worker: worker.id,
          taskIds: tasksOf(worker.assignTasks),
          runIds: worker.assignRuns.toUint32Array(),
          priorities: prioritiesOf(worker.assignTasks)
        });
      }
      if (worker.takeBackTasks.length > 0) {
        instructions.push(
          takeBackOf(worker.id, worker.takeBackTasks, worker.takeBackRuns)
        );
      }
      // What has been given up since is nowhere.
      const acquired = worker.acquireTasks
        .toArray()
        .filter(task => this._tasks.state[task] === TaskState.Memory);
      if (acquired.length > 0) {
        instructions.push({
          type: 'acquire',
          worker: worker.id,
          taskIds: acquired as Int32Array as DenseTaskIds
        });
      }
      clearWorker(worker);
    }
    for (const [client, rows] of this._reports) {
      if (rows.tasks.length > 0) {
        instructions.push(reportOf(client, rows));
        rows.tasks.clear();
        rows.status.clear();
        rows.cause.clear();
        rows.reason.clear();
      }
    }
    if (this._forgotten.length > 0) {
      instructions.push({
        type: 'forgotten',
        taskIds: tasksOf(this._forgotten)
      });
      this._forgotten.clear();
    }
    return instructions;
  }

  // A run that was assigned and given up within one batch must not be sent: its release precedes it.
  private _keepCurrentRuns(worker: WorkerRecord): void {
    const { state, runId } = this._tasks;
    const tasks = worker.assignTasks;
    const runs = worker.assignRuns;
    let kept = 0;
    for (let i = 0; i < tasks.length; i++) {
      const task = tasks.at(i);
      const run = runs.at(i);
      if (state[task] === TaskState.Processing && runId[task] === run >>> 0) {
        if (kept !== i) {
          tasks.set(kept, task);
          runs.set(kept, run);
        }
        kept++;
      }
    }
    tasks.truncate(kept);
    runs.truncate(kept);
  }

  private _tell(worker: WorkerRecord): void {
    if (!worker.isTold) {
      worker.isTold = true;
      this._told.push(worker);
    }
  }
}

function clearWorker(worker: WorkerRecord): void {
  worker.isTold = false;
  worker.assignTasks.clear();
  worker.assignRuns.clear();
  worker.releaseTasks.clear();
  worker.releaseHeld.clear();
  worker.releaseRuns.clear();
  worker.releaseBytes.length = 0;
  worker.takeBackTasks.clear();
  worker.takeBackRuns.clear();
  worker.begunTasks.clear();
  worker.begunRuns.clear();
  worker.acquireTasks.clear();
}

/** Within the core a task is a number: it has no other ids. */
function tasksOf(list: Int32List): DenseTaskIds {
  return list.toArray() as Int32Array as DenseTaskIds;
}

function takeBackOf(
  worker: number,
  tasks: Int32List,
  runs: Int32List
): Instruction {
  return {
    type: 'takeBack',
    worker,
    taskIds: tasksOf(tasks),
    runIds: runs.toUint32Array()
  };
}

function reportOf(client: number, rows: ReportRows): Report {
  return {
    type: 'report',
    client,
    taskIds: tasksOf(rows.tasks),
    status: rows.status.toUint8Array(),
    cause: tasksOf(rows.cause),
    reason: rows.reason.toUint8Array()
  };
}
