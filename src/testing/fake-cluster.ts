import type { DenseTaskId, DenseTaskIds } from '../records/ids';
import { ReportStatus } from '../records/enumerations';
import { VersionedIds } from '../base/versioned-ids';
import {
  NONE,
  Scheduler,
  TaskState,
  type Instruction,
  type Restriction,
  type SchedulerEvent,
  type SchedulerSetup
} from '../scheduler';
import {
  FakeWorker,
  type Behaviour,
  type FromFakeWorker,
  type IFakeSurroundings
} from './fake-worker';

/** A task of a random graph. */
export type NodeSpec = {
  /** Inputs: numbers of earlier tasks, counted over all submissions. */
  readonly inputs: readonly number[];
  /** How often it raises before it succeeds; Infinity: always. */
  readonly raises: number;
  readonly kills: boolean;
  readonly retries: number;
  readonly wanted: boolean;
  readonly priority: number;
  readonly restriction: Restriction | null;
};

/** One `graphSubmitted` event, or placed data. */
export type SubmissionSpec = {
  readonly type: 'graph' | 'placed';
  readonly nodes: readonly NodeSpec[];
  readonly last: boolean;
  /** Whose it is: any number. */
  readonly client?: number;
};

/** What the fake client knows of one task. */
export type FakeTask = {
  readonly number: number;
  readonly outer: number;
  readonly spec: NodeSpec;
  readonly isPlaced: boolean;
  /** It names an input that was gone when it was submitted. */
  readonly isOrphan: boolean;
  readonly generation: number;
  readonly client: number;
  /** Its graph was refused when a part of it had come. */
  isRefused: boolean;
  isWanted: boolean;
  raised: number;
  /** The last report, if any. */
  reported: ReportStatus | null;
  reportedCause: number;
};

/** With which others a fake cluster counts a task that is not placed. */
export const tallyOf = ({ number }: FakeTask): number => number % 5;

const CLIENT = 7;
const clientOf = ({ client }: SubmissionSpec): number => client ?? CLIENT;

/**
 * A scheduler with fake workers and a fake client. Nothing happens by itself: the driver calls one step after the other. The state is
 * validated after each event.
 */
export class FakeCluster implements IFakeSurroundings {
  readonly scheduler: Scheduler;
  readonly workers = new Map<number, FakeWorker>();
  /** Every task ever submitted, by number. */
  readonly tasks: FakeTask[] = [];
  private _byOuter = new Map<number, FakeTask>();
  private _ids = new VersionedIds();
  private _nextWorker = 0;
  private _generation = 0;
  private _now = 0;
  private _unperformed = 0;
  /** How many results were reported as lost. */
  lostReports = 0;
  /** By worker, those that have left too. */
  readonly places = new Map<number, string>();
  readonly resources = new Map<number, Record<string, number>>();

  /** @param _batch - how many events are handled before the instructions are carried out, as in a turn of a busy process. */
  constructor(
    setup: SchedulerSetup,
    private readonly _batch = 1
  ) {
    this.scheduler = new Scheduler(setup);
  }

  // ---- the cluster's events

  /** @param place - what it answers to besides its number and `here`: that of the worker whose place it takes. */
  join(
    threads: number,
    place = `place-${this._nextWorker}`,
    resources: Record<string, number> = {}
  ): FakeWorker {
    const worker = new FakeWorker(this._nextWorker++, threads, this);
    this.places.set(worker.id, place);
    this.resources.set(worker.id, resources);
    this.workers.set(worker.id, worker);
    this._handle({
      type: 'workerJoined',
      at: this._now,
      worker: worker.id,
      threads,
      memoryLimit: 0,
      host: 'here',
      names: ['here', place],
      resources
    });
    return worker;
  }

  end(worker: FakeWorker, why: 'closed' | 'died'): void {
    this.workers.delete(worker.id);
    this._handle({
      type: 'workerLeft',
      at: this._now,
      worker: worker.id,
      why
    });
  }

  pause(worker: FakeWorker, isPaused: boolean): void {
    const at = this._now;
    this._handle(
      isPaused
        ? { type: 'workerPaused', at, worker: worker.id, stalled: false }
        : { type: 'workerResumed', at, worker: worker.id }
    );
  }

  /** Says it once, or once more; @returns how many results it alone holds. */
  retire(worker: FakeWorker, seconds = 0): number {
    this._now += seconds;
    this._handle({ type: 'workerRetires', at: this._now, worker: worker.id });
    return this.scheduler.workers.get(worker.id)!.unmoved;
  }

  stay(worker: FakeWorker): void {
    this._handle({ type: 'workerStays', at: this._now, worker: worker.id });
  }

  // ---- the client's events

  submit(submission: SubmissionSpec): void {
    if (submission.type === 'placed') {
      this._place(submission);
      return;
    }
    const { nodes, last } = submission;
    const first = this.tasks.length;
    const added = nodes.map(spec =>
      this._add(spec, false, first, clientOf(submission))
    );
    const sets = nodes.flatMap(n => (n.restriction ? [n.restriction] : []));
    const firstInput = [0];
    const inputs: number[] = [];
    for (const task of added) {
      inputs.push(...task.spec.inputs.map(n => this._dense(this.tasks[n]!)));
      firstInput.push(inputs.length);
    }
    this._handle({
      type: 'graphSubmitted',
      at: this._now,
      client: clientOf(submission),
      generation: this._generation,
      last,
      taskIds: Int32Array.from(added, task =>
        this._dense(task)
      ) as DenseTaskIds,
      data: null,
      userPriority: Int32Array.from(nodes, node => node.priority),
      functionIds: Uint32Array.from(nodes, (_, i) => i % 3),
      tallies: Uint16Array.from(added, tallyOf),
      retries: Uint8Array.from(nodes, node => node.retries),
      restrictions: Uint16Array.from(nodes, node =>
        node.restriction ? sets.indexOf(node.restriction) + 1 : 0
      ),
      restrictionSets: sets,
      firstInput: Uint32Array.from(firstInput),
      inputs: Int32Array.from(inputs) as DenseTaskIds,
      wanted: Uint8Array.from(nodes, node => Number(node.wanted))
    });
    if (last) {
      this._generation++;
    }
  }

  /** There is no room for what is still to come of the present graph. */
  refuse(): void {
    const present = this.tasks.filter(
      task => task.generation === this._generation
    );
    present.forEach(task => (task.isRefused = true));
    this._handle({
      type: 'graphRefused',
      at: this._now,
      client: present[0]?.client ?? CLIENT
    });
  }

  /** The client has gone: it wants nothing any more. */
  leave(client: number): void {
    for (const task of this.tasks) {
      task.isWanted &&= task.client !== client;
    }
    this._handle({ type: 'clientLeft', at: this._now, client });
  }

  release(task: FakeTask): void {
    task.isWanted = false;
    this._clientSays('clientReleases', task);
  }

  cancel(task: FakeTask): void {
    this._clientSays('clientCancels', task);
  }

  retry(task: FakeTask): void {
    this._clientSays('clientRetries', task);
  }

  // ---- progress

  /** Everything that could happen next at the workers and on the links. */
  steps(): (() => void)[] {
    const steps: (() => void)[] = [];
    if (this._unperformed > 0) {
      steps.push(() => this._performAll());
    }
    for (const worker of this.workers.values()) {
      if (worker.outbox.length > 0) {
        steps.push(() => this._hear(worker, worker.outbox.shift()!));
      }
      steps.push(...worker.steps());
    }
    return steps;
  }

  /** Takes steps, oldest possibility first, until there are none. */
  drain(maxSteps = 100_000): void {
    for (let n = 0; n < maxSteps; n++) {
      const steps = this.steps();
      if (steps.length === 0) {
        return;
      }
      steps[n % steps.length]!();
    }
    throw new Error(`The cluster is not at rest after ${maxSteps} steps.`);
  }

  /** What runs hold at a worker, as the worker itself knows it: those that it has begun. */
  heldAt(worker: FakeWorker): Map<string, number> {
    const held = new Map<string, number>();
    for (const run of worker.runs.filter(({ isRunning }) => isRunning)) {
      const need = this._byOuter.get(run.task)!.spec.restriction?.resources;
      for (const [name, amount] of Object.entries(need ?? {})) {
        held.set(name, (held.get(name) ?? 0) + amount);
      }
    }
    return held;
  }

  state(task: FakeTask): TaskState {
    const dense = this._ids.resolve(task.outer);
    return dense === NONE
      ? TaskState.Forgotten
      : this.scheduler.tasks.state[dense]!;
  }

  /** The task that the scheduler knows by this number, or has just forgotten. */
  taskAt(dense: DenseTaskId): FakeTask {
    return this._byOuter.get(this._ids.outer(dense))!;
  }

  /** The task and all its ancestors. */
  lineage(task: FakeTask): FakeTask[] {
    const seen = new Set([task]);
    for (const member of seen) {
      member.spec.inputs.forEach(n => seen.add(this.tasks[n]!));
    }
    return [...seen];
  }

  // ---- IFakeSurroundings

  peer(worker: number): FakeWorker | undefined {
    return this.workers.get(worker);
  }

  behaviour(outer: number): Behaviour {
    const task = this._byOuter.get(outer)!;
    if (task.spec.kills) {
      return 'kill';
    }
    if (task.raised < task.spec.raises) {
      task.raised++;
      return 'raise';
    }
    return 'ok';
  }

  died(worker: FakeWorker): void {
    this.end(worker, 'died');
    this.join(worker.threads, undefined, this.resources.get(worker.id));
  }

  // ---- inner parts

  /** @param first - the number of the first task of the same submission. */
  private _add(
    spec: NodeSpec,
    isPlaced: boolean,
    first: number,
    client: number
  ): FakeTask {
    const isOrphan = spec.inputs.some(
      n => n < first && this.state(this.tasks[n]!) === TaskState.Forgotten
    );
    const dense = this._ids.take();
    const task: FakeTask = {
      number: this.tasks.length,
      outer: this._ids.outer(dense),
      spec,
      isPlaced,
      isOrphan,
      generation: isPlaced ? -1 : this._generation,
      client,
      isRefused: false,
      isWanted: spec.wanted,
      raised: 0,
      reported: null,
      reportedCause: NONE
    };
    this.tasks.push(task);
    this._byOuter.set(task.outer, task);
    return task;
  }

  private _place(submission: SubmissionSpec): void {
    const { nodes } = submission;
    const holders = [...this.workers.values()];
    const added = nodes.map(spec =>
      this._add(spec, true, this.tasks.length, clientOf(submission))
    );
    added.forEach((task, i) =>
      holders[i % holders.length]?.store.add(task.outer)
    );
    this._handle({
      type: 'dataPlaced',
      at: this._now,
      client: clientOf(submission),
      taskIds: Int32Array.from(added, task =>
        this._dense(task)
      ) as DenseTaskIds,
      functionIds: new Uint32Array(nodes.length),
      nbytes: new Float64Array(nodes.length).fill(1e6),
      wanted: Uint8Array.from(nodes, node => Number(node.wanted)),
      holderRows: Uint32Array.from(
        holders.length > 0 ? nodes : [],
        (_, i) => i
      ),
      holderWorkers: Uint16Array.from(
        holders.length > 0 ? nodes : [],
        (_, i) => holders[i % holders.length]!.id
      )
    });
  }

  private _dense(task: FakeTask): number {
    return this._ids.resolve(task.outer);
  }

  private _clientSays(
    type: 'clientReleases' | 'clientCancels' | 'clientRetries',
    task: FakeTask
  ): void {
    const dense = this._dense(task);
    if (dense !== NONE) {
      this._handle({
        type,
        at: this._now,
        client: task.client,
        taskIds: Int32Array.of(dense) as DenseTaskIds
      });
    }
  }

  private _hear(worker: FakeWorker, message: FromFakeWorker): void {
    const common = { at: this._now, worker: worker.id };
    const known = (outers: number[]): DenseTaskIds =>
      Int32Array.from(
        outers.map(o => this._ids.resolve(o)).filter(id => id !== NONE)
      ) as DenseTaskIds;
    switch (message.type) {
      case 'finished': {
        this._secede(worker.id, message.task, message.runId);
        const task = this._ids.resolve(message.task);
        const missing = message.missing.filter(
          m => this._ids.resolve(m.task) !== NONE
        );
        // Also of a forgotten task: its run may hold resources.
        const rows = [task];
        return this._handle({
          type: 'tasksFinished',
          ...common,
          taskIds: Int32Array.from(rows) as DenseTaskIds,
          runIds: Uint32Array.from(rows, () => message.runId),
          status: Uint8Array.from(rows, () => message.status),
          nbytes: Float64Array.from(rows, () => 1000 * (message.runId % 7)),
          duration: Float64Array.from(
            rows,
            () => 10 ** -((message.runId % 5) + 1)
          ),
          missingInputs: Int32Array.from(missing, m =>
            this._ids.resolve(m.task)
          ) as DenseTaskIds,
          missingWorkers: Uint16Array.from(missing, m => m.holder)
        });
      }
      case 'replicas': {
        // The release has told this worker of a forgotten task already, unless the copy came later.
        for (const outer of message.added) {
          if (this._ids.resolve(outer) === NONE) {
            worker.inbox.push({ type: 'release', tasks: [outer] });
          }
        }
        return this._handle({
          type: 'replicasChanged',
          ...common,
          added: known(message.added),
          removed: known(message.removed)
        });
      }
      case 'takenBack': {
        const dense = this._ids.resolve(message.task);
        return this._handle({
          type: 'takeBackAnswered',
          ...common,
          taskIds: Int32Array.of(dense) as DenseTaskIds,
          runIds: Uint32Array.of(message.runId),
          taken: Uint8Array.of(Number(message.taken))
        });
      }
    }
  }

  /** Some runs have left their thread to others before they end, and some of these have one again. */
  private _secede(worker: number, outer: number, runId: number): void {
    for (const back of [false, true].slice(0, runId % 3)) {
      const task = this._ids.resolve(outer);
      this._handle({
        type: 'tasksSeceded',
        at: this._now,
        worker,
        taskIds: Int32Array.of(task) as DenseTaskIds,
        runIds: Uint32Array.of(runId),
        duration: Float64Array.of(0.01),
        back
      });
    }
  }

  private _handle(event: SchedulerEvent): void {
    this._now += 0.001;
    this.scheduler.handle(event);
    this.scheduler.validateState();
    if (++this._unperformed >= this._batch) {
      this._performAll();
    }
  }

  private _performAll(): void {
    this._unperformed = 0;
    this.scheduler.takeInstructions().forEach(i => this._perform(i));
  }

  private _perform(instruction: Instruction): void {
    const outer = (dense: number): number => this._ids.outer(dense);
    switch (instruction.type) {
      case 'assign': {
        const runs = [...instruction.taskIds].map((task, i) => ({
          task: outer(task),
          runId: instruction.runIds[i]!,
          inputs: this.scheduler.tasks.inputsOf(task).map(input => ({
            task: outer(input),
            holder: this._holder(input, instruction.worker)
          }))
        }));
        this._inbox(instruction.worker).push({ type: 'assign', runs });
        return;
      }
      case 'acquire':
        this._inbox(instruction.worker).push({
          type: 'acquire',
          tasks: [...instruction.taskIds].map(task => ({
            task: outer(task),
            holder: this.scheduler.tasks.holdersOf(task)[0]!
          }))
        });
        return;
      case 'release':
        this._inbox(instruction.worker).push({
          type: 'release',
          tasks: [...instruction.taskIds].map(outer)
        });
        return;
      case 'takeBack':
        this._inbox(instruction.worker).push({
          type: 'takeBack',
          runs: [...instruction.taskIds].map((task, i) => ({
            task: outer(task),
            runId: instruction.runIds[i]!
          }))
        });
        return;
      case 'report':
        instruction.taskIds.forEach((dense, i) => {
          const task = this._byOuter.get(outer(dense))!;
          task.reported = instruction.status[i]!;
          task.reportedCause = instruction.cause[i]!;
          this.lostReports += task.reported === ReportStatus.Lost ? 1 : 0;
          if (task.reported === ReportStatus.Cancelled) {
            task.isWanted = false;
          }
        });
        return;
      case 'forgotten':
        instruction.taskIds.forEach(dense => this._ids.giveBack(dense));
    }
  }

  private _inbox(worker: number): FakeWorker['inbox'] {
    const found = this.workers.get(worker);
    if (found === undefined) {
      throw new Error(`An instruction for worker ${worker}, which is gone.`);
    }
    return found.inbox;
  }

  private _holder(input: number, worker: number): number {
    const { state, worker: place } = this.scheduler.tasks;
    if (state[input] === TaskState.Processing) {
      if (place[input] !== worker) {
        throw new Error('An input is being made at another worker.');
      }
      return worker;
    }
    const holders = this.scheduler.tasks.holdersOf(input);
    return holders.includes(worker) ? worker : holders[0]!;
  }
}
