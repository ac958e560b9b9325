import {
  grownColumn,
  tightCapacity,
  widenedColumn
} from '../base/growable-columns';
import { NONE_U32 } from '../records/enumerations';
import { EMPTY_LIST, ValueLists } from '../base/value-lists';
import { EdgeTable, NO_INPUTS, NONE } from './edge-table';
import { RunTable } from './run-table';
import { TaskState } from './task-state';

/** Bits of the column `flags`. */
export enum TaskFlag {
  /** Placed by a client: it cannot be computed. */
  Placed = 1,
  /** The worker has been asked to give its present run back. */
  TakeBackAsked = 2,
  /** The worker has refused to give its present run back: do not ask again. */
  TakeBackRefused = 4,
  /** Its graph is still coming in, and nobody knows which of its tasks later parts use. */
  Open = 8,
  /** An input was not known any more when the task came: it cannot run. */
  Orphan = 16,
  /** It has been in memory before: its next run only makes up for a loss. */
  Again = 32,
  /** Data and no work, see `GraphSubmitted`. */
  Data = 64,
  /** There was no room for the rest of its graph: it cannot run. */
  Refused = 128,
  /** Its present run goes on beside the worker's threads, see `TasksSeceded`. */
  Seceded = 256,
  /** It could run at its worker, or does. */
  Runnable = 512,
  /** `Queued`: its worker lacks some of its inputs, see `WorkerRecord.fetchQueue`. */
  Lacks = 1024,
  /** Two bits: how often it has been given back, see `countTakenBack`. */
  TakenBackOnce = 2048,
  TakenBackTwice = 4096,
  /** Its present run holds what the task needs of its worker's resources. */
  Holds = 8192,
  /** Its present run has ended, or will not begin: its worker has said so. */
  Over = 16384,
  /** Later parts of its graph will use it, see `GraphSubmitted.users`. */
  Expected = 32768
}

/** What a forgotten row still tells: whether there ever was a result. */
export const ENDED_FLAGS = TaskFlag.Again | TaskFlag.Placed;

const MOST_NARROW = 2 ** 16 - 1;
const MOST_NARROW_INDEX = 2 ** 15 - 1;

/**
 * Everything the scheduler knows of tasks: one row per task id, one typed array per field; no object per task. 80 bytes a task and 16 an
 * edge. Columns are replaced when the table grows: do not keep one across a call of {@link TaskTable.ensure}. Those with two types are
 * narrow until a number comes that they cannot hold: few clusters have a result of 4 GiB, or a task of 65,536 inputs.
 */
export class TaskTable {
  /** {@link TaskState} */
  state = new Uint8Array(0);
  /** {@link TaskFlag} bits. */
  flags = new Uint16Array(0);
  /** The order of running, smaller first: user priority, then generation, then static order, in one number. */
  rank = new Float64Array(0);
  /** The client that submitted it. */
  client = new Uint16Array(0);
  /** With which others it is counted, see `Tallies`. */
  tally = new Uint16Array(0);
  /** Its function's row in `FunctionDurations`. */
  functionRow: Uint16Array | Uint32Array = new Uint16Array(0);
  /** The first of its rows in {@link TaskTable.edges}, or NO_INPUTS. */
  firstInput = new Int32Array(0);
  /** Head of the list of its dependents in {@link TaskTable.edges}. */
  firstDependent = new Int32Array(0);
  /** Inputs not in memory. Kept while the task holds its inputs. */
  waitingOn: Uint16Array | Uint32Array = new Uint16Array(0);
  /** Dependents that hold this task as an input (Waiting … Processing). */
  waiters: Uint16Array | Uint32Array = new Uint16Array(0);
  /** Head of the list of clients that want the result. */
  firstWant = new Int32Array(0);
  /** Head of the list of workers that hold the result; not empty exactly in `Memory`. */
  firstReplica = new Int32Array(0);
  /** `Processing`: where. `Queued`: the worker in whose queue it lies, or NONE for the common queue. */
  worker = new Int32Array(0);
  /** `Processing`: the present run. Otherwise the last one. */
  runId = new Uint32Array(0);
  /** `Processing`: its row in {@link TaskTable.runs}. */
  runRow = new Int32Array(0);
  /** When its last input came into memory, or, without inputs, when it began to wait, or when a worker came that may run it, if none was there; in seconds. */
  readyAt = new Float64Array(0);
  /**
   * When it last became unfinished, in seconds: by its submission, a retry, the loss of its result. The log of runs moves it on to the
   * end of a run that failed or was lost, so that what each run waited is counted once.
   */
  unfinishedSince = new Float64Array(0);
  /** Size of the result in bytes; the last known one while it is not in memory. */
  nbytes: Uint32Array | Float64Array = new Uint32Array(0);
  retries = new Uint8Array(0);
  /** How many workers died while it could have been running. */
  suspicious = new Uint16Array(0);
  /** How often it has asked to be run anew, see `SchedulerOptions.mostReschedules`. */
  reschedules = new Uint16Array(0);
  /** `Erred`: the task that failed first, itself or an ancestor. */
  cause = new Int32Array(0);
  /** `Erred`: `FailureReason` of the cause. */
  reason = new Uint8Array(0);
  /** Index into the scheduler's restrictions, or NONE. */
  restriction: Int16Array | Int32Array = new Int16Array(0);

  readonly edges = new EdgeTable(this);
  readonly runs = new RunTable();
  readonly wants = new ValueLists();
  readonly replicas = new ValueLists();
  private _size = 0;

  /** The number of tasks that are not forgotten. */
  get size(): number {
    return this._size;
  }

  /** Ids are below this. */
  get capacity(): number {
    return this.state.length;
  }

  /** Makes room for the task ids below `extent`. */
  ensure(extent: number): void {
    if (extent <= this.capacity) {
      return;
    }
    const capacity = tightCapacity(this.capacity, extent);
    this.state = grownColumn(this.state, capacity);
    this.flags = grownColumn(this.flags, capacity);
    this.rank = grownColumn(this.rank, capacity);
    this.client = grownColumn(this.client, capacity);
    this.tally = grownColumn(this.tally, capacity);
    this.functionRow = grownColumn(this.functionRow, capacity);
    this.firstInput = grownColumn(this.firstInput, capacity);
    this.firstDependent = grownColumn(this.firstDependent, capacity, NONE);
    this.waitingOn = grownColumn(this.waitingOn, capacity);
    this.waiters = grownColumn(this.waiters, capacity);
    this.firstWant = grownColumn(this.firstWant, capacity, EMPTY_LIST);
    this.firstReplica = grownColumn(this.firstReplica, capacity, EMPTY_LIST);
    this.worker = grownColumn(this.worker, capacity, NONE);
    this.runId = grownColumn(this.runId, capacity);
    this.runRow = grownColumn(this.runRow, capacity);
    this.readyAt = grownColumn(this.readyAt, capacity);
    this.unfinishedSince = grownColumn(this.unfinishedSince, capacity);
    this.nbytes = grownColumn(this.nbytes, capacity);
    this.retries = grownColumn(this.retries, capacity);
    this.suspicious = grownColumn(this.suspicious, capacity);
    this.reschedules = grownColumn(this.reschedules, capacity);
    this.cause = grownColumn(this.cause, capacity, NONE);
    this.reason = grownColumn(this.reason, capacity);
    this.restriction = grownColumn(this.restriction, capacity, NONE);
  }

  /** Puts a task into a free row, `Released`, without edges. */
  add(
    task: number,
    rank: number,
    client: number,
    functionRow: number,
    flags: number,
    tally = 0
  ): void {
    this.state[task] = TaskState.Released;
    this.flags[task] = flags;
    this.rank[task] = rank;
    this.client[task] = client;
    this.tally[task] = tally;
    if (functionRow > MOST_NARROW && this.functionRow.BYTES_PER_ELEMENT === 2) {
      this.functionRow = widenedColumn(this.functionRow, Uint32Array);
    }
    this.functionRow[task] = functionRow;
    this.reason[task] = 0;
    this._size++;
  }

  /** Makes rows for the inputs of a new task. Each of them must then be set. @returns the first. */
  reserveInputs(task: number, count: number): number {
    if (count > MOST_NARROW && this.waitingOn.BYTES_PER_ELEMENT === 2) {
      this.waitingOn = widenedColumn(this.waitingOn, Uint32Array);
    }
    const first = this.edges.take(count);
    this.firstInput[task] = first;
    return first;
  }

  /** Sets an input of a task, in one of its reserved rows, and puts the task in front of the input's dependents. */
  setInput(task: number, edge: number, input: number): void {
    const edges = this.edges;
    const next = this.firstDependent[input]!;
    edges.input[edge] = input;
    edges.dependent[edge] = task;
    edges.nextDependent[edge] = next;
    edges.previousDependent[edge] = NONE;
    if (next !== NONE) {
      edges.previousDependent[next] = edge;
    }
    this.firstDependent[input] = edge;
  }

  /** One more of its dependents holds a task as an input. */
  addWaiter(task: number): void {
    if (
      this.waiters[task] === MOST_NARROW &&
      this.waiters.BYTES_PER_ELEMENT === 2
    ) {
      this.waiters = widenedColumn(this.waiters, Uint32Array);
    }
    this.waiters[task]!++;
  }

  /** Sets the size of a task's result. */
  setBytes(task: number, bytes: number): void {
    if (bytes >>> 0 !== bytes && this.nbytes.BYTES_PER_ELEMENT === 4) {
      this.nbytes = widenedColumn(this.nbytes, Float64Array);
    }
    this.nbytes[task] = bytes;
  }

  /** Sets the index of a task's restriction. */
  restrict(task: number, restriction: number): void {
    if (
      restriction > MOST_NARROW_INDEX &&
      this.restriction.BYTES_PER_ELEMENT === 2
    ) {
      this.restriction = widenedColumn(this.restriction, Int32Array);
    }
    this.restriction[task] = restriction;
  }

  /** Takes an edge out of its input's list of dependents; it stays in the list of inputs. */
  detachDependent(edge: number): void {
    const { input, nextDependent, previousDependent } = this.edges;
    const next = nextDependent[edge]!;
    const previous = previousDependent[edge]!;
    if (next !== NONE) {
      previousDependent[next] = previous;
    }
    if (previous !== NONE) {
      nextDependent[previous] = next;
    } else {
      this.firstDependent[input[edge]!] = next;
    }
  }

  /** Empties a row; its lists must be empty already. */
  clear(task: number): void {
    this.state[task] = TaskState.Forgotten;
    // Who follows the task asks how it ended, until the row is used again: also for its `reason`.
    this.flags[task]! &= ENDED_FLAGS;
    this.firstInput[task] = NO_INPUTS;
    this.waitingOn[task] = 0;
    this.nbytes[task] = 0;
    this.retries[task] = 0;
    this.suspicious[task] = 0;
    this.reschedules[task] = 0;
    this.cause[task] = NONE;
    this.restriction[task] = NONE;
    this.worker[task] = NONE;
    this._size--;
  }

  /** Whether a task has no inputs, and any worker may run it. */
  isRoot(task: number): boolean {
    return (
      this.firstInput[task] === NO_INPUTS && this.restriction[task] === NONE
    );
  }

  /** Whether a task is processing by this run, and at this worker: none has a say in what another runs. −1: no task. */
  isRunOf(worker: number, task: number, run: number): boolean {
    return (
      task >= 0 &&
      this.state[task] === TaskState.Processing &&
      this.runId[task] === run &&
      this.worker[task] === worker
    );
  }

  /** The run of a processing task that its worker has, or will; NONE_U32: it has ended, or will not begin. */
  runAtWorker(task: number): number {
    return this.hasFlag(task, TaskFlag.Over) ? NONE_U32 : this.runId[task]!;
  }

  /** Whether a task's run goes on beside its worker's threads. */
  hasSeceded(task: number): boolean {
    return this.hasFlag(task, TaskFlag.Seceded);
  }

  /** The task that was sent next to the worker of a processing one, or NONE. */
  nextProcessing(task: number): number {
    return this.runs.next[this.runRow[task]!]!;
  }

  /** How many inputs of a processing task are in memory, and not at its worker. */
  lackingOf(task: number): number {
    return this.runs.lacking[this.runRow[task]!]!;
  }

  /** Whether the result is needed: by a client, by a dependent that is to run, or by one that is still to come. */
  isNeeded(task: number): boolean {
    return (
      this.firstWant[task] !== EMPTY_LIST ||
      this.waiters[task]! > 0 ||
      this.hasFlag(task, TaskFlag.Expected)
    );
  }

  /**
   * Whether a task starts only once its graph is complete: if the graph does not say who has `users`, nobody knows before which of its inputs
   * later tasks use too (they would be dropped and made again). A task that needs nothing of its graph may start: its result is wanted, and
   * kept in any case.
   */
  waitsForItsGraph(task: number): boolean {
    if (!this.hasFlag(task, TaskFlag.Open)) {
      return false;
    }
    const { input, dependent } = this.edges;
    for (let e = this.firstInput[task]!; dependent[e] === task; e++) {
      if (this.hasFlag(input[e]!, TaskFlag.Open)) {
        return true;
      }
    }
    return false;
  }

  /** Whether there has been a result, also of a task that was forgotten and whose row nobody has taken yet. */
  hadResult(task: number): boolean {
    return (this.flags[task]! & ENDED_FLAGS) !== 0;
  }

  /** Notes that a worker has given a task back: that is counted up to 3. */
  countTakenBack(task: number): void {
    if (!this.wasOftenTakenBack(task)) {
      this.flags[task]! += TaskFlag.TakenBackOnce;
    }
  }

  /** Whether a task has been given back three times: else it could go to and fro between two guesses. */
  wasOftenTakenBack(task: number): boolean {
    const often = TaskFlag.TakenBackOnce | TaskFlag.TakenBackTwice;
    return (this.flags[task]! & often) === often;
  }

  /** Whether it waits for more of its graph to come: of one that tells `users`, until its own part is whole. */
  isComing(task: number): boolean {
    return this.hasFlag(task, TaskFlag.Open);
  }

  hasFlag(task: number, flag: TaskFlag): boolean {
    return (this.flags[task]! & flag) !== 0;
  }

  /** The inputs of a task in the order of its submission. For tests, stories and the shell; inner loops walk the edges. */
  inputsOf(task: number): number[] {
    const inputs: number[] = [];
    const { input, dependent } = this.edges;
    for (let e = this.firstInput[task]!; dependent[e] === task; e++) {
      inputs.push(input[e]!);
    }
    return inputs;
  }

  /** The dependents of a task, in no particular order. */
  dependentsOf(task: number): number[] {
    const dependents: number[] = [];
    const { dependent, nextDependent } = this.edges;
    for (
      let e = this.firstDependent[task]!;
      e !== NONE;
      e = nextDependent[e]!
    ) {
      dependents.push(dependent[e]!);
    }
    return dependents;
  }

  /** The workers that hold a task's result. */
  holdersOf(task: number): number[] {
    return this.replicas.toArray(this.firstReplica[task]!);
  }
}
