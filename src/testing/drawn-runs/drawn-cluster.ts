/**
 * The real scheduler with drawn workers, links between them, and clients. It does what the scheduler's process does with ids, events and
 * instructions, checks every instruction, and knows what each task must become. Whoever drives the run chooses what happens next.
 */
import { VersionedIds } from '../../base/versioned-ids';
import type { SeededRandom } from '../../base/seeded-random';
import { ReportStatus, RunStatus } from '../../records/enumerations';
import type { DenseTaskIds } from '../../records/ids';
import {
  FailureReason,
  NONE,
  Scheduler,
  TaskState,
  type Amounts,
  type Assign,
  type Instruction,
  type Restriction,
  type SchedulerEvent,
  type SchedulerOptions,
  type SchedulerSetup
} from '../../scheduler';
import { DrawnTask, type DrawnSpec } from './drawn-tasks';
import {
  DrawnWorker,
  valueOf,
  WrongRun,
  type DrawnRow,
  type FromDrawnWorker,
  type ToDrawnWorker
} from './drawn-worker';

type DrawnClusterSetup = SchedulerSetup & {
  readonly options: Pick<
    SchedulerOptions,
    'allowedFailures' | 'mostReschedules'
  > &
    Partial<SchedulerOptions>;
  /** How many events are handled before the instructions are carried out, as in a turn of a busy process. */
  readonly batch: number;
  /** The state is validated after so many events. */
  readonly validateEach: number;
};

const GONE = -1;
const ids = (list: readonly number[]): DenseTaskIds =>
  Int32Array.from(list) as DenseTaskIds;

export class DrawnCluster {
  readonly scheduler: Scheduler;
  /** Those whose links are open. */
  readonly workers: DrawnWorker[] = [];
  /** Messages of workers that have left: their last words may still be read. */
  readonly lastWords: { worker: number; message: FromDrawnWorker }[] = [];
  readonly tasks: DrawnTask[] = [];
  /** Clients that are there. */
  readonly clients = new Set<number>();
  /** By client the graph that it has begun to send. */
  readonly openGraphs = new Map<number, number>();
  /** (worker, task) of which something was said that is not true any more. */
  readonly lies = new Set<string>();
  /** What happened, if anybody wants to read it. */
  readonly trace: string[] | null;
  events = 0;
  hasStalled = false;
  now = 0;
  private readonly _ids = new VersionedIds();
  private readonly _byDense: (DrawnTask | undefined)[] = [];
  private readonly _byOuter = new Map<number, DrawnTask>();
  private readonly _runIds = new Set<number>();
  private readonly _names = new Map<number, readonly string[]>();
  private readonly _resources = new Map<number, Amounts>();
  private readonly _joinedAt: number[] = [];
  private _generation = 0;
  private _nextWorker = 0;
  private _unperformed = 0;

  constructor(
    private readonly _setup: DrawnClusterSetup,
    private readonly _random: SeededRandom,
    isTraced: boolean
  ) {
    this.scheduler = new Scheduler(_setup);
    this.trace = isTraced ? [] : null;
  }

  get hasInstructions(): boolean {
    return this._unperformed > 0;
  }

  // ---- workers

  join(
    threads: number,
    names: readonly string[],
    resources: Amounts,
    retiring = false
  ): DrawnWorker {
    const worker = new DrawnWorker(this._nextWorker++, threads, resources);
    this.workers.push(worker);
    this._names.set(worker.id, names);
    this._resources.set(worker.id, resources);
    this._joinedAt.push(this.now);
    this.handle({
      type: 'workerJoined',
      at: this.now,
      worker: worker.id,
      threads,
      memoryLimit: 0,
      host: 'here',
      names,
      resources,
      retiring
    });
    return worker;
  }

  /** Its link ends. */
  end(worker: DrawnWorker, why: 'closed' | 'died' | 'hopeless'): void {
    const { tasks } = this.scheduler;
    this.workers.splice(this.workers.indexOf(worker), 1);
    for (const message of worker.outbox) {
      this.lastWords.push({ worker: worker.id, message });
    }
    for (let dense = 0; dense < tasks.capacity; dense++) {
      const task = this._byDense[dense];
      if (task === undefined) {
        continue;
      }
      if (
        tasks.state[dense] === TaskState.Memory &&
        tasks.holdersOf(dense).includes(worker.id)
      ) {
        task.isHopeless ||= why === 'hopeless';
        // What retires has been copied before.
        task.mayBeLost ||= why !== 'closed' || this._isOnlyAt(dense, worker.id);
      } else if (
        why !== 'closed' &&
        tasks.state[dense] === TaskState.Processing &&
        tasks.worker[dense] === worker.id &&
        this._hasItsInputs(dense)
      ) {
        task.isHopeless ||= why === 'hopeless';
        task.deaths++;
      }
    }
    this.handle({ type: 'workerLeft', at: this.now, worker: worker.id, why });
  }

  /** Whether no other worker that stays holds a result. */
  private _isOnlyAt(dense: number, worker: number): boolean {
    return !this.scheduler.tasks
      .holdersOf(dense)
      .some(id => id !== worker && !this.scheduler.workers.get(id)!.retiring);
  }

  pause(worker: DrawnWorker, isPaused: boolean, stalled: boolean): void {
    const common = { at: this.now, worker: worker.id };
    worker.isPaused = isPaused;
    this.handle(
      isPaused
        ? { type: 'workerPaused', ...common, stalled }
        : { type: 'workerResumed', ...common }
    );
  }

  /** @returns how many of its results no worker that stays has. */
  retire(worker: DrawnWorker): number {
    this.handle({ type: 'workerRetires', at: this.now, worker: worker.id });
    return this.scheduler.workers.get(worker.id)!.unmoved;
  }

  stay(worker: DrawnWorker): void {
    this.handle({ type: 'workerStays', at: this.now, worker: worker.id });
  }

  // ---- clients

  /**
   * @param within - the running task that submits it, or null.
   * @param users - of each task the tasks of the whole graph that use it, or null: not told.
   */
  submit(
    client: number,
    specs: readonly DrawnSpec[],
    last: boolean,
    within: DrawnTask | null,
    users: readonly number[] | null = null
  ): void {
    this.clients.add(client);
    const generation = this.openGraphs.get(client) ?? this._generation++;
    if (users !== null) {
      for (const n of specs.flatMap(spec => spec.inputs)) {
        const task = this.tasks[n];
        this._mustBe(
          task?.generation !== generation ||
            this.state(task) !== TaskState.Forgotten,
          `task ${n} was let go before all of its users had come`
        );
      }
    }
    // Gone for the scheduler is also what it has just forgotten in this turn, though the id is not free yet.
    const known = this.tasks.map(
      task => this.state(task) !== TaskState.Forgotten
    );
    const added = specs.map(spec =>
      this._add(spec, client, generation, false, known)
    );
    const firstInput = [0];
    const inputs: number[] = [];
    for (const { spec } of added) {
      inputs.push(...spec.inputs.map(n => this._denseOf(this.tasks[n]!)));
      firstInput.push(inputs.length);
    }
    const sets: Restriction[] = [];
    const restrictions = specs.map(({ restriction }) =>
      restriction === null ? 0 : sets.push(restriction)
    );
    const isSparse = this._random.chance(0.5);
    const orNull = <T>(column: T, isEmpty: boolean): T | null =>
      isEmpty && isSparse ? null : column;
    if (last) {
      this.openGraphs.delete(client);
    } else {
      this.openGraphs.set(client, generation);
    }
    this.handle({
      type: 'graphSubmitted',
      at: this.now,
      client,
      generation,
      last,
      within: within === null ? NONE : this._denseOf(within),
      taskIds: ids(added.map(task => this._denseOf(task))),
      data: orNull(
        Uint8Array.from(specs, each => Number(each.isData)),
        specs.every(each => !each.isData)
      ),
      userPriority: orNull(
        Int32Array.from(specs, each => each.priority),
        specs.every(each => each.priority === 0)
      ),
      functionIds: Uint32Array.from(added, task => task.salt % 4),
      retries: orNull(
        Uint8Array.from(specs, each => each.retries),
        specs.every(each => each.retries === 0)
      ),
      restrictions: orNull(Uint16Array.from(restrictions), sets.length === 0),
      restrictionSets: sets,
      firstInput: Uint32Array.from(firstInput),
      inputs: ids(inputs),
      wanted: Uint8Array.from(specs, each => Number(each.isWanted)),
      users: users && Uint32Array.from(users)
    });
  }

  /** Data goes to workers by another way, and is there when the scheduler hears of it. */
  place(
    client: number,
    specs: readonly DrawnSpec[],
    holders: readonly (readonly DrawnWorker[])[]
  ): void {
    this.clients.add(client);
    const added = specs.map(spec => this._add(spec, client, -1, true, []));
    const rows: number[] = [];
    const at: number[] = [];
    added.forEach((task, row) => {
      task.mayBeLost = holders[row]!.length === 0;
      for (const worker of holders[row]!) {
        worker.adopt(task.outer, task.value!);
        rows.push(row);
        at.push(worker.id);
      }
    });
    this.handle({
      type: 'dataPlaced',
      at: this.now,
      client,
      taskIds: ids(added.map(task => this._denseOf(task))),
      functionIds: Uint32Array.from(added, task => task.salt % 4),
      nbytes: Float64Array.from(added, task => 1000 * (task.salt % 5)),
      wanted: Uint8Array.from(specs, each => Number(each.isWanted)),
      holderRows: Uint32Array.from(rows),
      holderWorkers: Uint16Array.from(at)
    });
  }

  says(
    type: 'clientWants' | 'clientReleases' | 'clientCancels' | 'clientRetries',
    client: number,
    tasks: readonly DrawnTask[]
  ): void {
    const dense = tasks.map(task => this._denseOf(task)).filter(id => id >= 0);
    if (dense.length === 0) {
      return;
    }
    for (const task of tasks) {
      if (this.state(task) === TaskState.Forgotten) {
        continue; // perhaps in this turn: then the process says so to who wants it
      }
      if (type === 'clientWants') {
        this.clients.add(client);
        task.wantedBy.add(client);
      } else if (type === 'clientReleases') {
        task.unwant(client);
      } else if (type === 'clientCancels') {
        this._descendants(task).forEach(each => each.unwant(client));
      }
    }
    this.handle({ type, at: this.now, client, taskIds: ids(dense) });
  }

  leave(client: number): void {
    this.clients.delete(client);
    this.openGraphs.delete(client);
    this.tasks.forEach(task => {
      task.unwant(client);
      task.told.delete(client);
    });
    this.handle({ type: 'clientLeft', at: this.now, client });
  }

  /** @param hasBegun - all of it that has come: it told who has users. */
  refuse(client: number, hasBegun: boolean): void {
    const generation = this.openGraphs.get(client);
    this.openGraphs.delete(client);
    for (const task of this.tasks) {
      task.isRefused ||= !hasBegun && task.generation === generation;
    }
    this.handle({ type: 'graphRefused', at: this.now, client });
  }

  copies(
    isAsked: boolean,
    worker: DrawnWorker,
    tasks: readonly DrawnTask[]
  ): void {
    this.handle({
      type: isAsked ? 'copiesAsked' : 'copiesDropped',
      at: this.now,
      worker: worker.id,
      taskIds: ids(tasks.map(task => this._denseOf(task)))
    });
  }

  giveUpStall(): void {
    this.hasStalled ||= this.scheduler.isStalled;
    this.handle({ type: 'stallGivenUp', at: this.now });
  }

  // ---- links

  /** The scheduler reads a message of a worker. */
  hear(worker: number, message: FromDrawnWorker): void {
    const common = { at: this.now, worker };
    switch (message.type) {
      case 'finished': {
        const missing = message.missing.filter(
          ({ task }) => this._resolve(task) >= 0
        );
        missing.forEach(
          ({ task }) => (this._byOuter.get(task)!.mayBeLost = true)
        );
        const { rows } = message;
        return this.handle({
          type: 'tasksFinished',
          ...common,
          taskIds: ids(rows.map(row => this._resolve(row.task))),
          runIds: Uint32Array.from(rows, row => row.runId),
          status: Uint8Array.from(rows, row => row.status),
          nbytes: Float64Array.from(rows, row =>
            row.status === RunStatus.Ok ? 1000 * (row.runId % 7) : 0
          ),
          duration: Float64Array.from(
            rows,
            row => 10 ** -(1 + (row.runId % 5))
          ),
          missingInputs: ids(missing.map(({ task }) => this._resolve(task))),
          missingWorkers: Uint16Array.from(missing, ({ holder }) => holder)
        });
      }
      case 'replicas': {
        const unknown = message.added.filter(task => this._resolve(task) < 0);
        if (unknown.length > 0 && this.worker(worker) !== undefined) {
          this._tell(worker, {
            type: 'release',
            tasks: unknown,
            held: unknown.map(() => true)
          });
        }
        const known = (outers: readonly number[]): DenseTaskIds =>
          ids(outers.map(task => this._resolve(task)).filter(id => id >= 0));
        for (const outer of message.removed) {
          const task = this._byOuter.get(outer)!;
          task.mayBeLost = true;
        }
        return this.handle({
          type: 'replicasChanged',
          ...common,
          added: known(message.added),
          removed: known(message.removed)
        });
      }
      case 'takenBack': {
        const { rows } = message;
        return this.handle({
          type: 'takeBackAnswered',
          ...common,
          taskIds: ids(rows.map(row => this._resolve(row.task))),
          runIds: Uint32Array.from(rows, row => row.runId),
          taken: Uint8Array.from(rows, row => Number(row.taken))
        });
      }
      case 'seceded':
        return this.handle({
          type: 'tasksSeceded',
          ...common,
          taskIds: ids([this._resolve(message.task)]),
          runIds: Uint32Array.of(message.runId),
          duration: Float64Array.of(0.01),
          back: message.back
        });
    }
  }

  /** Carries out what the scheduler has said, and frees ids. */
  perform(): void {
    this._unperformed = 0;
    const forgotten: number[] = [];
    for (const instruction of this.scheduler.takeInstructions()) {
      this.trace?.push(`    → ${said(instruction)}`);
      if (instruction.type === 'forgotten') {
        forgotten.push(...instruction.taskIds);
      } else {
        this._perform(instruction);
      }
    }
    for (const dense of forgotten) {
      const task = this._owner(dense, 'forgotten');
      this._must(task.wantedBy.size === 0, task, 'is forgotten and wanted');
      task.isForgotten = true;
      this._byDense[dense] = undefined;
      this._ids.giveBack(dense);
    }
  }

  handle(event: SchedulerEvent): void {
    this.now += 0.0005 * (1 + this._random.below(8));
    this.trace?.push(said(event));
    const begun = this.scheduler.runsBegun;
    this.scheduler.handle(event);
    const most = 2 + this.scheduler.runsBegun - begun;
    this._mustBe(
      this.scheduler.rounds <= most,
      `${event.type} took ${this.scheduler.rounds} rounds, of ${most} that it may`
    );
    if (++this.events % this._setup.validateEach === 0) {
      this.scheduler.validateState();
    }
    if (++this._unperformed >= this._setup.batch) {
      this.perform();
    }
  }

  // ---- what must be

  state(task: DrawnTask): TaskState {
    const dense = this._denseOf(task);
    return dense === GONE
      ? TaskState.Forgotten
      : this.scheduler.tasks.state[dense]!;
  }

  worker(id: number): DrawnWorker | undefined {
    return this.workers.find(worker => worker.id === id);
  }

  taskOf(outer: number): DrawnTask {
    return this._byOuter.get(outer)!;
  }

  /** @param nowhere - whether a task may wait for a worker that it was restricted to. */
  checkOutcomes(nowhere: boolean): void {
    for (const task of this.tasks) {
      if (task.isForgotten) {
        this._must(task.wantedBy.size === 0, task, 'is wanted and gone');
        continue;
      }
      const state = this.state(task);
      if (task.wantedBy.size === 0) {
        continue;
      }
      const isAtRest = state === TaskState.Memory || state === TaskState.Erred;
      if (!isAtRest) {
        this._must(
          nowhere && this._waitsForNobody(task),
          task,
          `is wanted, and ${TaskState[state]} when nothing moves any more`
        );
        continue;
      }
      for (const client of task.wantedBy) {
        this._must(
          task.told.get(client)?.status ===
            (state === TaskState.Memory
              ? ReportStatus.Memory
              : ReportStatus.Erred),
          task,
          `client ${client} was told something else than ${TaskState[state]}`
        );
      }
    }
  }

  /** A worker that retired may go: what it holds is elsewhere too. */
  checkNothingIsOnlyAt({ id }: DrawnWorker): void {
    const { tasks } = this.scheduler;
    for (const task of this.tasks) {
      const dense = this._denseOf(task);
      this._must(
        dense === GONE ||
          !tasks.holdersOf(dense).includes(id) ||
          !this._isOnlyAt(dense, id),
        task,
        `would be lost with worker ${id}, which may go`
      );
    }
  }

  /** When nothing moves: workers hold what the scheduler thinks that they hold, and it is right. */
  checkValues(): void {
    const { tasks } = this.scheduler;
    for (const task of this.tasks) {
      const dense = this._denseOf(task);
      if (dense === GONE || tasks.state[dense] !== TaskState.Memory) {
        continue;
      }
      for (const holder of tasks.holdersOf(dense)) {
        const worker = this.worker(holder);
        if (worker === undefined) {
          throw this._wrong(task, `is held by worker ${holder}, which is gone`);
        }
        const value = worker.values.get(task.outer);
        this._must(
          value === task.value ||
            (value === undefined && this.lies.has(`${holder} ${task.outer}`)),
          task,
          `is ${value} on worker ${holder} and must be ${task.value}`
        );
      }
    }
    for (const worker of this.workers) {
      for (const outer of worker.values.keys()) {
        const dense = this._resolve(outer);
        const isKnown =
          dense !== GONE && tasks.holdersOf(dense).includes(worker.id);
        this._must(
          isKnown || this.lies.has(`${worker.id} ${outer}`),
          this.taskOf(outer),
          `worker ${worker.id} keeps it and nobody knows`
        );
      }
    }
  }

  /** After the last release. */
  checkNothingIsLeft(): void {
    const { scheduler } = this;
    const { tasks } = scheduler;
    const counts = {
      tasks: tasks.size,
      edges: tasks.edges.size,
      wants: tasks.wants.size,
      replicas: tasks.replicas.size,
      ids: this._ids.size,
      queued: scheduler.queuedCount,
      unplaced: scheduler.unplacedCount,
      instructions: scheduler.takeInstructions().length
    };
    for (const [name, count] of Object.entries(counts)) {
      this._mustBe(count === 0, `${count} ${name} are left`);
    }
    for (const worker of this.workers) {
      const record = scheduler.workers.get(worker.id)!;
      const what = `worker ${worker.id}`;
      this._mustBe(worker.isEmpty, `${what} still has something to do`);
      this._mustBe(record.takeBacksPending === 0, `${what} owes an answer`);
      this._mustBe(record.underWayCount === 0, `${what} has tasks`);
      this._mustBe(!record.goesOn, `${what} has runs given up`);
      for (const [name, { held }] of record.resources.amounts()) {
        this._mustBe(held === 0, `${held} ${name} of ${what} are held`);
      }
      this._mustBe(Math.abs(record.load) < 1e-9, `${what} has a load`);
      this._mustBe(
        Math.abs(record.storedBytes) < 1e-6,
        `${what} has stored bytes`
      );
    }
    scheduler.validateState();
  }

  // ---- inner parts

  private _add(
    spec: DrawnSpec,
    client: number,
    generation: number,
    isPlaced: boolean,
    known: readonly boolean[]
  ): DrawnTask {
    const dense = this._ids.take();
    const inputs = spec.inputs.map(n => this.tasks[n]!);
    const isOrphan = spec.inputs.some(n => known[n] === false);
    const values = inputs.map(input => input.value);
    const salt = this._random.below(2 ** 31);
    const isLost =
      isOrphan ||
      values.includes(null) ||
      [spec.raises, spec.kills, spec.reschedules].includes(Infinity);
    const task = new DrawnTask(
      this.tasks.length,
      this._ids.outer(dense),
      salt,
      client,
      generation,
      spec,
      isPlaced,
      isOrphan,
      isLost ? null : valueOf(salt, values as number[])
    );
    this._mustBe(this._byDense[dense] === undefined, 'an id has two owners');
    this._byDense[dense] = task;
    this._byOuter.set(task.outer, task);
    this.tasks.push(task);
    if (spec.isWanted) {
      task.wantedBy.add(client);
    }
    return task;
  }

  private _perform(
    instruction: Exclude<Instruction, { type: 'forgotten' }>
  ): void {
    const { type, taskIds } = instruction;
    const owners = Array.from(taskIds, dense => this._owner(dense, type));
    const { tasks } = this.scheduler;
    switch (instruction.type) {
      case 'assign':
        this._checkAssign(instruction, owners);
        return this._tell(instruction.worker, {
          type: 'assign',
          rows: owners.map((task, i) =>
            this._row(task, taskIds[i]!, instruction, i)
          )
        });
      case 'acquire':
        return this._tell(instruction.worker, {
          type: 'acquire',
          items: owners.map((task, i) => {
            const holders = tasks.holdersOf(taskIds[i]!);
            this._must(
              holders.length > 0,
              task,
              'is to be copied from nowhere'
            );
            return {
              task: task.outer,
              holder: holders[instruction.worker % holders.length]!
            };
          })
        });
      case 'release':
        owners.forEach((task, i) =>
          this._checkRelease(task, taskIds[i]!, instruction.worker)
        );
        return this._tell(instruction.worker, {
          type: 'release',
          tasks: owners.map(task => task.outer),
          held: Array.from(instruction.held, held => held === 1)
        });
      case 'takeBack':
        return this._tell(instruction.worker, {
          type: 'takeBack',
          runs: owners.map((task, i) => ({
            task: task.outer,
            runId: instruction.runIds[i]!
          }))
        });
      case 'report':
        owners.forEach((task, i) => {
          const dense = instruction.cause[i]!;
          this._report(
            task,
            instruction.client,
            instruction.status[i]!,
            dense === NONE ? null : this._owner(dense, 'a cause'),
            instruction.reason[i]!
          );
        });
    }
  }

  private _row(
    task: DrawnTask,
    dense: number,
    { worker, runIds }: Assign,
    i: number
  ): DrawnRow {
    const { tasks } = this.scheduler;
    const inputs = tasks.inputsOf(dense).map(input => {
      const holders = tasks.holdersOf(input);
      const isHere =
        tasks.state[input] !== TaskState.Memory || holders.includes(worker);
      return {
        task: this._ids.outer(input),
        holder: isHere ? worker : holders[0]!
      };
    });
    this._must(
      inputs.length === task.spec.inputs.length &&
        inputs.every(
          (input, k) => input.task === this.tasks[task.spec.inputs[k]!]!.outer
        ),
      task,
      'was given other inputs than its graph says'
    );
    return { task: task.outer, runId: runIds[i]!, inputs, work: task };
  }

  private _checkRelease(task: DrawnTask, dense: number, worker: number): void {
    this._must(
      !this.scheduler.tasks.holdersOf(dense).includes(worker) ||
        this.lies.has(`${worker} ${task.outer}`),
      task,
      'is to be dropped and counted on'
    );
  }

  private _checkAssign(
    { worker, taskIds, runIds }: Assign,
    owners: readonly DrawnTask[]
  ): void {
    const { tasks, workers } = this.scheduler;
    const record = workers.get(worker);
    owners.forEach((task, i) => {
      const dense = taskIds[i]!;
      const runId = runIds[i]!;
      this._must(
        !this._runIds.has(runId),
        task,
        `run ${runId} was there before`
      );
      this._runIds.add(runId);
      this._must(
        tasks.state[dense] === TaskState.Processing &&
          tasks.worker[dense] === worker &&
          tasks.runId[dense] === runId,
        task,
        `is sent to worker ${worker} and is not there`
      );
      for (const input of tasks.inputsOf(dense)) {
        const isThere =
          tasks.state[input] === TaskState.Memory
            ? tasks.holdersOf(input).every(id => this.worker(id))
            : tasks.state[input] === TaskState.Processing &&
              tasks.worker[input] === worker;
        this._must(isThere, task, 'has an input that never comes there');
      }
      if (this._setup.batch === 1) {
        // Otherwise others may have come, and the worker have been paused, since this was decided.
        this._must(record?.paused === false, task, 'goes to a paused worker');
        this._must(
          this._mayRunAt(task, worker, tasks.readyAt[dense]),
          task,
          `must not run at worker ${worker}`
        );
      }
    });
  }

  private _report(
    task: DrawnTask,
    client: number,
    status: number,
    cause: DrawnTask | null,
    reason: FailureReason
  ): void {
    this._mustBe(this.clients.has(client), `client ${client} has left`);
    task.told.set(client, { status, cause: cause?.number ?? NONE, reason });
    if (status === ReportStatus.Memory) {
      this._must(task.value !== null, task, 'cannot have a result');
    }
    if (status === ReportStatus.Cancelled) {
      this._must(
        cause !== null && (cause === task || this._lineage(task).has(cause)),
        task,
        'was cancelled with what it does not need'
      );
      return;
    }
    if (status !== ReportStatus.Erred) {
      this._must(cause === null, task, 'has a cause and no error');
      return;
    }
    if (cause === null) {
      throw this._wrong(task, 'has failed without a cause');
    }
    this._must(
      this._lineage(task).has(cause),
      task,
      `task ${cause.number}, which is no ancestor, is said to have failed it`
    );
    const { allowedFailures, mostReschedules } = this._setup.options;
    const whyNot = cause.whyNot(
      reason,
      allowedFailures,
      mostReschedules,
      this.hasStalled
    );
    this._must(
      whyNot === null,
      cause,
      `is said to have failed (${FailureReason[reason]}), but ${whyNot}`
    );
  }

  private _mayRunAt(
    task: DrawnTask,
    worker: number,
    placedAt = Infinity
  ): boolean {
    const { restriction } = task.spec;
    const { resources = {} } = restriction ?? {};
    const has = (id: number): boolean =>
      Object.entries(resources).every(
        ([name, amount]) => amount <= (this._resources.get(id)![name] ?? -1)
      );
    const isMeant = (id: number): boolean =>
      restriction!.workers === null ||
      restriction!.workers.some(
        named => named === id || this._names.get(id)!.includes(String(named))
      );
    return (
      restriction === null ||
      (has(worker) &&
        (isMeant(worker) ||
          // Who came after it was placed comes too late.
          (restriction.allowOther &&
            !this.workers.some(
              ({ id }) =>
                has(id) && isMeant(id) && this._joinedAt[id]! < placedAt
            ))))
    );
  }

  /** Whether it waits for a task that no worker may run. */
  private _waitsForNobody(task: DrawnTask): boolean {
    for (const each of this._lineage(task)) {
      if (
        this.state(each) === TaskState.NoWorker &&
        !this.workers.some(({ id }) => this._mayRunAt(each, id))
      ) {
        return true;
      }
    }
    return false;
  }

  private _lineage(task: DrawnTask): Set<DrawnTask> {
    const seen = new Set([task]);
    for (const member of seen) {
      member.spec.inputs.forEach(n => seen.add(this.tasks[n]!));
    }
    return seen;
  }

  /** Those that the scheduler knows by edges. */
  private _descendants(task: DrawnTask): Set<DrawnTask> {
    const seen = new Set([this._denseOf(task)]);
    for (const dense of seen) {
      this.scheduler.tasks.dependentsOf(dense).forEach(each => seen.add(each));
    }
    return new Set(Array.from(seen, dense => this._byDense[dense]!));
  }

  private _hasItsInputs(dense: number): boolean {
    const { tasks } = this.scheduler;
    return tasks
      .inputsOf(dense)
      .every(input => tasks.state[input] === TaskState.Memory);
  }

  private _tell(worker: number, message: ToDrawnWorker): void {
    const found = this.worker(worker);
    if (found !== undefined) {
      found.inbox.push(message);
    } else {
      this._mustBe(false, `worker ${worker} is gone and gets ${message.type}`);
    }
  }

  private _owner(dense: number, what: string): DrawnTask {
    const task = this._byDense[dense];
    if (task === undefined) {
      throw new WrongRun(`Id ${dense} (${what}) is nobody's.`);
    }
    return task;
  }

  private _denseOf(task: DrawnTask): number {
    return this._ids.resolve(task.outer);
  }

  private _resolve(outer: number): number {
    return this._ids.resolve(outer);
  }

  private _must(holds: boolean, task: DrawnTask, what: string): void {
    if (!holds) {
      throw this._wrong(task, what);
    }
  }

  private _mustBe(holds: boolean, what: string): void {
    if (!holds) {
      throw new WrongRun(`${what}.`);
    }
  }

  private _wrong(task: DrawnTask, what: string): WrongRun {
    const dense = this._denseOf(task);
    const story =
      dense === GONE
        ? []
        : this.scheduler
            .story(dense)
            .map(({ from, to, cause }) => `${from} → ${to} (${cause})`);
    return new WrongRun(
      `Task ${task.number} (id ${dense}): ${what}.\n${story.join('\n')}`
    );
  }
}

/** One line for the trace: columns as lists, without what is empty. */
function said(what: SchedulerEvent | Instruction): string {
  return JSON.stringify(what, (_key, value: unknown) => {
    const plain = ArrayBuffer.isView(value)
      ? Array.from(value as unknown as ArrayLike<number>)
      : value;
    return plain === null || (Array.isArray(plain) && plain.length === 0)
      ? undefined
      : plain;
  }).replaceAll('"', '');
}
