import type { DenseTaskIds } from '../records/ids';
import { RunStatus } from '../records/enumerations';
import {
  type Instruction,
  Scheduler,
  type SchedulerEvent,
  type SchedulerSetup
} from '../scheduler';
import type { SimulatedGraph } from './graph';
import type { Order, Report, SimulatedCluster } from './orders';
import type { ISimulatedScheduler } from './simulation';

type Copied = Extract<Report, { type: 'copied' }>;

const noTasks = new Int32Array(0) as DenseTaskIds;

/** The scheduler of `src/scheduler`. Its task ids are the graph's numbers. */
export class SpanwiseCore implements ISimulatedScheduler {
  /** Workers send what they have measured five times a second. */
  readonly interval = 0.2;
  readonly scheduler: Scheduler;
  private _graph!: SimulatedGraph;
  /** Transfers since that was done last. */
  private _transfers: Copied[] = [];

  /**
   * @param _isValidated - whether every invariant is checked after each event; slow.
   * @param _partLength - of how many tasks the messages are in which the graph comes; Infinity: of all. As the client does, parts are those of a walk
   *   from the results down, and say how many users each task has.
   */
  constructor(
    setup: SchedulerSetup = {},
    private readonly _isValidated = false,
    private readonly _partLength = Infinity
  ) {
    this.scheduler = new Scheduler(setup);
  }

  begin(graph: SimulatedGraph, cluster: SimulatedCluster): Order[] {
    this._graph = graph;
    const { workers, threads } = cluster;
    for (let worker = 0; worker < workers; worker++) {
      this._handle({
        type: 'workerJoined',
        at: 0,
        worker,
        threads,
        memoryLimit: 0,
        host: 'simulated'
      });
    }
    const order =
      this._partLength < graph.wanted.length
        ? walkedDown(graph)
        : Int32Array.from(graph.wanted, (_, i) => i);
    const users = usersOf(graph);
    for (let from = 0; from < order.length; from += this._partLength) {
      const end = Math.min(order.length, from + this._partLength);
      this._submit(graph, order.subarray(from, end), users, end);
    }
    return this._orders();
  }

  private _submit(
    graph: SimulatedGraph,
    part: Int32Array,
    users: Uint32Array,
    end: number
  ): void {
    const inputs: number[] = [];
    const firstInput = [0];
    for (const task of part) {
      inputs.push(
        ...graph.inputs.subarray(
          graph.firstInput[task],
          graph.firstInput[task + 1]
        )
      );
      firstInput.push(inputs.length);
    }
    const isWhole = part.length === graph.wanted.length;
    this._handle({
      type: 'graphSubmitted',
      at: 0,
      client: 0,
      generation: 0,
      last: end === graph.wanted.length,
      taskIds: part as DenseTaskIds,
      userPriority: null,
      functionIds: Uint32Array.from(part, task => graph.functionIds[task]!),
      retries: null,
      restrictions: null,
      restrictionSets: [],
      firstInput: Uint32Array.from(firstInput),
      inputs: Int32Array.from(inputs) as DenseTaskIds,
      data: null,
      wanted: Uint8Array.from(part, task => graph.wanted[task]!),
      users: isWhole ? null : Uint32Array.from(part, task => users[task]!)
    });
  }

  hear(at: number, reports: readonly Report[]): Order[] {
    for (const report of reports) {
      this._handle(this._eventOf(at, report));
      if (report.type === 'copied') {
        this._transfers.push(report);
      }
    }
    if (reports.length === 0) {
      this._handle({
        type: 'transfersMeasured',
        at,
        bytes: Float64Array.from(this._transfers, ({ bytes }) => bytes),
        seconds: Float64Array.from(this._transfers, ({ seconds }) => seconds)
      });
      this._transfers = [];
    }
    return this._orders();
  }

  private _eventOf(at: number, report: Report): SchedulerEvent {
    const { worker } = report;
    switch (report.type) {
      case 'finished':
        return {
          type: 'tasksFinished',
          at,
          worker,
          taskIds: Int32Array.of(report.task) as DenseTaskIds,
          runIds: Uint32Array.of(report.run),
          status: Uint8Array.of(RunStatus.Ok),
          nbytes: this._graph.nbytes.slice(report.task, report.task + 1),
          duration: this._graph.seconds.slice(report.task, report.task + 1),
          missingInputs: noTasks,
          missingWorkers: new Uint16Array(0)
        };
      case 'copied':
        return {
          type: 'replicasChanged',
          at,
          worker,
          added: Int32Array.from(report.tasks) as DenseTaskIds,
          removed: noTasks
        };
      case 'answered':
        return {
          type: 'takeBackAnswered',
          at,
          worker,
          taskIds: Int32Array.of(report.task) as DenseTaskIds,
          runIds: Uint32Array.of(report.run),
          taken: Uint8Array.of(Number(report.taken))
        };
    }
  }

  private _handle(event: SchedulerEvent): void {
    this.scheduler.handle(event);
    if (this._isValidated) {
      this.scheduler.validateState();
    }
  }

  private _orders(): Order[] {
    return this.scheduler
      .takeInstructions()
      .flatMap(instruction => this._orderOf(instruction));
  }

  private _orderOf(instruction: Instruction): Order[] {
    const { tasks } = this.scheduler;
    switch (instruction.type) {
      case 'assign': {
        const { worker, priorities } = instruction;
        const runs = runsOf(instruction).map(({ task, run }, i) => ({
          task,
          run,
          priority: priorities?.[i] ?? tasks.rank[task]!,
          inputs: tasks.inputsOf(task).map(input => ({
            task: input,
            holder: holderFor(tasks.holdersOf(input), worker)
          }))
        }));
        return [{ type: 'run', worker, runs }];
      }
      case 'release':
        return [
          {
            type: 'drop',
            worker: instruction.worker,
            tasks: [...instruction.taskIds]
          }
        ];
      case 'takeBack':
        return [
          {
            type: 'giveBack',
            worker: instruction.worker,
            runs: runsOf(instruction)
          }
        ];
      case 'acquire':
        throw new Error('No worker of a simulation retires.');
      case 'report':
      case 'forgotten':
        return [];
    }
  }
}

function runsOf({
  taskIds,
  runIds
}: {
  taskIds: DenseTaskIds;
  runIds: Uint32Array;
}): { task: number; run: number }[] {
  return Array.from(taskIds, (task, i) => ({ task, run: runIds[i]! }));
}

/** Without a holder, the worker itself makes it. */
function holderFor(holders: readonly number[], worker: number): number {
  return holders.includes(worker) ? worker : (holders[0] ?? worker);
}

/** By task, how many use it. */
function usersOf({ wanted, inputs }: SimulatedGraph): Uint32Array {
  const users = new Uint32Array(wanted.length);
  inputs.forEach(input => users[input]!++);
  return users;
}

/** Inputs before users, as one comes to them from the results, depth first. */
function walkedDown({
  wanted,
  firstInput,
  inputs
}: SimulatedGraph): Int32Array {
  const order = new Int32Array(wanted.length);
  const next = firstInput.slice(0, -1);
  const isKnown = new Uint8Array(wanted.length);
  let length = 0;
  for (let result = 0; result < wanted.length; result++) {
    const path = wanted[result] === 1 ? [result] : [];
    for (let task = path.at(-1); task !== undefined; task = path.at(-1)) {
      isKnown[task] = 1;
      const place = next[task]!++;
      if (place === firstInput[task + 1]) {
        order[length++] = path.pop()!;
      } else if (isKnown[inputs[place]!] === 0) {
        path.push(inputs[place]!);
      }
    }
  }
  return order;
}
