/** The pure scheduler with workers that finish at once: no sockets, no Python. What `scheduler-core.ts` and `scheduler-intake.ts` measure. */
import type { DenseTaskIds } from '../src/records/ids';
import { VersionedIds } from '../src/base/versioned-ids';
import { Scheduler, type Instruction } from '../src/scheduler';
import { threadCpuSeconds } from './thread-seconds';

/** Inputs of each task, by place; a task comes after its inputs. */
export type Graph = readonly (readonly number[])[];

/** Tasks in one `graphSubmitted`, and finishes in one `tasksFinished`, as the links bring them. */
const SUBMIT_TASKS = 8192;
const FINISH_TASKS = 64;
const TASK_SECONDS = 10e-6;

/** A scheduler that lives over all rounds, as in a session. */
export class ZeroWorkers {
  private readonly _scheduler = new Scheduler();
  private readonly _ids = new VersionedIds();
  private readonly _pending: { tasks: number[]; runs: number[] }[] = [];
  private _generation = 0;
  private _seconds = 0;
  private _last = -1;

  constructor(workers: number) {
    for (let worker = 0; worker < workers; worker++) {
      this._pending.push({ tasks: [], runs: [] });
      this._scheduler.handle({
        type: 'workerJoined',
        at: 0,
        worker,
        threads: 1,
        memoryLimit: 0,
        host: 'here'
      });
    }
  }

  /** Whether its graph is there. */
  get isLoaded(): boolean {
    return this._scheduler.tasks.size > 0;
  }

  /** Seconds of CPU of this thread, spent in the scheduler: wall time would be the neighbours', too. Its last task is wanted. */
  submit(graph: Graph): number {
    this._seconds = 0;
    const ids = Int32Array.from(graph, () => this._ids.take()) as DenseTaskIds;
    this._last = ids[ids.length - 1]!;
    for (let at = 0; at < ids.length; at += SUBMIT_TASKS) {
      this._submit(graph, ids, at, Math.min(ids.length, at + SUBMIT_TASKS));
    }
    return this._seconds;
  }

  /** The same from submission to release. */
  run(graph: Graph): number {
    this.submit(graph);
    while (this._pending.some(({ tasks }) => tasks.length > 0)) {
      this._pending.forEach((_, worker) => this._finish(worker));
    }
    this._handle({
      type: 'clientReleases',
      at: 0,
      client: 0,
      taskIds: Int32Array.of(this._last) as DenseTaskIds
    });
    if (this._scheduler.tasks.size !== 0) {
      throw new Error('Tasks are left.');
    }
    return this._seconds;
  }

  private _submit(
    graph: Graph,
    ids: DenseTaskIds,
    from: number,
    to: number
  ): void {
    const rows = graph.slice(from, to);
    const firstInput = new Uint32Array(rows.length + 1);
    rows.forEach((inputs, i) => {
      firstInput[i + 1] = firstInput[i]! + inputs.length;
    });
    const isLast = to === graph.length;
    const wanted = new Uint8Array(rows.length);
    if (isLast) {
      wanted[rows.length - 1] = 1;
    }
    this._handle({
      type: 'graphSubmitted',
      at: 0,
      client: 0,
      generation: isLast ? this._generation++ : this._generation,
      last: isLast,
      taskIds: ids.subarray(from, to),
      data: null,
      userPriority: new Int32Array(rows.length),
      functionIds: new Uint32Array(rows.length),
      retries: new Uint8Array(rows.length),
      restrictions: new Uint16Array(rows.length),
      restrictionSets: [],
      firstInput,
      inputs: Int32Array.from(
        rows.flat(),
        place => ids[place]!
      ) as DenseTaskIds,
      wanted
    });
  }

  private _finish(worker: number): void {
    const { tasks, runs } = this._pending[worker]!;
    const count = Math.min(FINISH_TASKS, tasks.length);
    if (count > 0) {
      this._handle({
        type: 'tasksFinished',
        at: 0,
        worker,
        taskIds: Int32Array.from(tasks.splice(0, count)) as DenseTaskIds,
        runIds: Uint32Array.from(runs.splice(0, count)),
        status: new Uint8Array(count),
        nbytes: new Float64Array(count).fill(28),
        duration: new Float64Array(count).fill(TASK_SECONDS),
        missingInputs: new Int32Array(0) as DenseTaskIds,
        missingWorkers: new Uint16Array(0)
      });
    }
  }

  private _handle(event: Parameters<Scheduler['handle']>[0]): void {
    const before = threadCpuSeconds();
    this._scheduler.handle(event);
    const instructions = this._scheduler.takeInstructions();
    this._seconds += threadCpuSeconds() - before;
    instructions.forEach(instruction => this._perform(instruction));
  }

  private _perform(instruction: Instruction): void {
    if (instruction.type === 'assign') {
      this._pending[instruction.worker]!.tasks.push(...instruction.taskIds);
      this._pending[instruction.worker]!.runs.push(...instruction.runIds);
    } else if (instruction.type === 'forgotten') {
      instruction.taskIds.forEach(id => this._ids.giveBack(id));
    }
  }
}
