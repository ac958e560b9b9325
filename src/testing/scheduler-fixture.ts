import { invariant } from '../base/assert';
import { arrayOf } from '../base/typed-arrays';
import type { DenseTaskId, DenseTaskIds } from '../records/ids';
import { ReportStatus, RunStatus } from '../records/enumerations';
import {
  FailureReason,
  Scheduler,
  TaskState,
  type Instruction,
  type Restriction,
  type SchedulerEvent,
  type SchedulerSetup,
  type StoryLine
} from '../scheduler';
import { drawnGraph } from './drawn-graph';

/** What may differ from a plain graph whose last task is wanted; names in one string, parted by blanks. */
type SubmitOptions = {
  /** The task that submits it. */
  readonly within?: string;
  readonly want?: string;
  readonly retries?: Record<string, number>;
  readonly priority?: Record<string, number>;
  readonly restrict?: Record<string, Restriction>;
  readonly last?: boolean;
  /** Of a part of a graph: how many tasks of the whole use each of its tasks; 0 of those that are not named. */
  readonly users?: Record<string, number>;
  readonly client?: number;
};

/** What may differ from runs of 10 ms with results of 1000 bytes that end well. */
type FinishOptions = {
  readonly status?: RunStatus;
  readonly nbytes?: number;
  readonly duration?: number;
  /** Inputs that were not where they should be: name of the input → worker. */
  readonly missing?: Record<string, number>;
  /** Tell of these runs instead of the present ones. */
  readonly runIds?: number[];
};

/**
 * A scheduler spoken to in names, whose instructions read as lines of text. The state is validated after each event.
 *
 * ```ts
 *   const s = new SchedulerFixture();
 *   s.join(0);
 *   s.submit('a b -> c');
 *   expect(s.said()).toEqual(['assign 0: a b']);
 * ```
 */
export class SchedulerFixture {
  readonly scheduler: Scheduler;
  private _ids = new Map<string, DenseTaskId>();
  private _names: string[] = [];
  private _generation = 0;
  private _now = 0;

  constructor(setup: SchedulerSetup = {}) {
    this.scheduler = new Scheduler(setup);
  }

  /** The time of the last event, in seconds. */
  get now(): number {
    return this._now;
  }

  /** The dense id of a named task. Names are never forgotten here, ids are never reused. */
  id(name: string): DenseTaskId {
    const id = this._ids.get(name);
    if (id === undefined) {
      throw new Error(`No task is called ${name}.`);
    }
    return id;
  }

  join(
    worker: number,
    threads = 1,
    names: string[] = [],
    resources: Record<string, number> = {}
  ): void {
    this.handle({
      type: 'workerJoined',
      at: this._now,
      worker,
      threads,
      memoryLimit: 0,
      host: 'here',
      names,
      resources
    });
  }

  leave(worker: number, why: 'closed' | 'died' | 'hopeless' = 'died'): void {
    this.handle({ type: 'workerLeft', at: this._now, worker, why });
  }

  pause(worker: number, stalled = false): void {
    this.handle({ type: 'workerPaused', at: this._now, worker, stalled });
  }

  giveUpStall(): void {
    this.handle({ type: 'stallGivenUp', at: this._now });
  }

  resume(worker: number): void {
    this.handle({ type: 'workerResumed', at: this._now, worker });
  }

  /** Submits the tasks that the drawing names for the first time; others are inputs from before. */
  submit(drawing: string, options: SubmitOptions = {}): void {
    const graph = drawnGraph(drawing);
    const fresh = graph.names.filter(name => !this._ids.has(name));
    fresh.forEach(name => this._coin(name));
    const wanted = words(options.want ?? fresh[fresh.length - 1] ?? '');
    const sets = Object.values(options.restrict ?? {});
    const firstInput = [0];
    const inputs: number[] = [];
    for (const name of fresh) {
      inputs.push(...graph.inputs.get(name)!.map(input => this.id(input)));
      firstInput.push(inputs.length);
    }
    this.handle({
      type: 'graphSubmitted',
      at: this._now,
      client: options.client ?? 0,
      generation: this._generation,
      last: options.last ?? true,
      within: options.within === undefined ? -1 : this.id(options.within),
      taskIds: Int32Array.from(fresh, name => this.id(name)) as DenseTaskIds,
      data: null,
      userPriority: Int32Array.from(fresh, n => options.priority?.[n] ?? 0),
      // One function per first letter: `a1` and `a2` are alike.
      functionIds: Uint32Array.from(fresh, name => name.charCodeAt(0)),
      // `a` 1, `b` 2, …
      tallies: Uint16Array.from(fresh, name => name.charCodeAt(0) & 31),
      retries: Uint8Array.from(fresh, name => options.retries?.[name] ?? 0),
      restrictions: Uint16Array.from(fresh, name => {
        const restriction = options.restrict?.[name];
        return restriction ? sets.indexOf(restriction) + 1 : 0;
      }),
      restrictionSets: sets,
      firstInput: Uint32Array.from(firstInput),
      inputs: Int32Array.from(inputs) as DenseTaskIds,
      wanted: Uint8Array.from(fresh, name => Number(wanted.includes(name))),
      users:
        options.users === undefined
          ? null
          : Uint32Array.from(fresh, name => options.users![name] ?? 0)
    });
    if (options.last ?? true) {
      this._generation++;
    }
  }

  /** Places data called `names` at a worker. */
  place(worker: number, names: string, wanted = true): void {
    const all = words(names);
    all.forEach(name => this._coin(name));
    this.handle({
      type: 'dataPlaced',
      at: this._now,
      client: 0,
      taskIds: Int32Array.from(all, name => this.id(name)) as DenseTaskIds,
      functionIds: new Uint32Array(all.length),
      nbytes: new Float64Array(all.length).fill(1000),
      wanted: new Uint8Array(all.length).fill(Number(wanted)),
      holderRows: Uint32Array.from(all, (_, i) => i),
      holderWorkers: new Uint16Array(all.length).fill(worker)
    });
  }

  /** The present runs of these tasks end at a worker. */
  finish(worker: number, names: string, options: FinishOptions = {}): void {
    const all = words(names);
    const missing = Object.entries(options.missing ?? {});
    const status =
      options.status ?? (missing.length > 0 ? RunStatus.Missing : RunStatus.Ok);
    this.handle({
      type: 'tasksFinished',
      at: this._now,
      worker,
      taskIds: Int32Array.from(all, name => this.id(name)) as DenseTaskIds,
      runIds: Uint32Array.from(
        all,
        (name, i) => options.runIds?.[i] ?? this.runId(name)
      ),
      status: new Uint8Array(all.length).fill(status),
      nbytes: new Float64Array(all.length).fill(options.nbytes ?? 1000),
      duration: new Float64Array(all.length).fill(options.duration ?? 0.01),
      missingInputs: Int32Array.from(missing, ([name]) =>
        this.id(name)
      ) as DenseTaskIds,
      missingWorkers: Uint16Array.from(missing, ([, holder]) => holder)
    });
  }

  /** The present runs of these tasks leave their threads to others, or have one again. */
  secede(worker: number, names: string, back = false): void {
    const all = words(names);
    this.handle({
      type: 'tasksSeceded',
      at: this._now,
      worker,
      taskIds: this._idsOf(names),
      runIds: Uint32Array.from(all, name => this.runId(name)),
      duration: new Float64Array(all.length).fill(0.001),
      back
    });
  }

  fail(worker: number, names: string): void {
    this.finish(worker, names, { status: RunStatus.Failed });
  }

  replicas(worker: number, added: string, removed = ''): void {
    this.handle({
      type: 'replicasChanged',
      at: this._now,
      worker,
      added: this._idsOf(added),
      removed: this._idsOf(removed)
    });
  }

  /** A worker answers for runs that it was asked to give back, the present ones if not said. */
  takenBack(
    worker: number,
    names: string,
    { taken = true, runIds }: { taken?: boolean; runIds?: number[] } = {}
  ): void {
    const all = words(names);
    this.handle({
      type: 'takeBackAnswered',
      at: this._now,
      worker,
      taskIds: this._idsOf(names),
      runIds: Uint32Array.from(
        all,
        (name, i) => runIds?.[i] ?? this.runId(name)
      ),
      taken: new Uint8Array(all.length).fill(Number(taken))
    });
  }

  want(names: string, client = 0): void {
    this._clientSays('clientWants', names, client);
  }

  /** Where a task runs, or is queued. */
  workerOf(name: string): number {
    return this.scheduler.tasks.worker[this.id(name)]!;
  }

  release(names: string, client = 0): void {
    this._clientSays('clientReleases', names, client);
  }

  cancel(names: string, client = 0): void {
    this._clientSays('clientCancels', names, client);
  }

  retry(names: string, client = 0): void {
    this._clientSays('clientRetries', names, client);
  }

  clientLeft(client = 0): void {
    this.handle({ type: 'clientLeft', at: this._now, client });
  }

  refuse(client = 0): void {
    this._generation++;
    this.handle({ type: 'graphRefused', at: this._now, client });
  }

  /** Nothing happens for a while; then workers say what they have measured. */
  pass(seconds: number): void {
    this._now += seconds;
    const none = new Float64Array(0);
    this.handle({
      type: 'transfersMeasured',
      at: this._now,
      bytes: none,
      seconds: none
    });
  }

  handle(event: SchedulerEvent): void {
    this._now += 0.001;
    const begun = this.scheduler.runsBegun;
    this.scheduler.handle(event);
    const most = 2 + this.scheduler.runsBegun - begun;
    invariant(
      this.scheduler.rounds <= most,
      `${event.type} took ${this.scheduler.rounds} rounds, of ${most} that it may`
    );
    this.scheduler.validateState();
  }

  /** The instructions since the last call, one line each, in their order. */
  said(): string[] {
    return this.scheduler.takeInstructions().flatMap(i => this._text(i));
  }

  /** As {@link SchedulerFixture.said}, only the lines that begin with a word. */
  saidOf(word: string): string[] {
    return this.said().filter(line => line.startsWith(word));
  }

  state(name: string): keyof typeof TaskState {
    return TaskState[
      this.scheduler.tasks.state[this.id(name)]!
    ] as keyof typeof TaskState;
  }

  /** The states of several tasks, in one line: `Memory Waiting`. */
  states(names: string): string {
    return words(names)
      .map(name => this.state(name))
      .join(' ');
  }

  runId(name: string): number {
    return this.scheduler.tasks.runId[this.id(name)]!;
  }

  story(name: string): StoryLine[] {
    return this.scheduler.story(this.id(name));
  }

  /** The moves of a task so far: `Released → Waiting → Queued`. */
  path(name: string): string {
    const story = this.story(name);
    return [story[0]?.from, ...story.map(line => line.to)].join(' → ');
  }

  private _coin(name: string): void {
    this._ids.set(name, (this._names.push(name) - 1) as DenseTaskId);
  }

  private _idsOf(names: string): DenseTaskIds {
    return arrayOf(
      Int32Array,
      words(names).map(name => this.id(name))
    );
  }

  private _clientSays(
    type: 'clientWants' | 'clientReleases' | 'clientCancels' | 'clientRetries',
    names: string,
    client: number
  ): void {
    this.handle({
      type,
      at: this._now,
      client,
      taskIds: this._idsOf(names)
    });
  }

  private _text(instruction: Instruction): string[] {
    const names = [...instruction.taskIds].map(id => this._names[id]!);
    switch (instruction.type) {
      case 'assign':
        return [`assign ${instruction.worker}: ${names.join(' ')}`];
      case 'release':
        return [`release ${instruction.worker}: ${names.join(' ')}`];
      case 'acquire':
        return [`acquire ${instruction.worker}: ${names.join(' ')}`];
      case 'takeBack':
        return [`take back ${instruction.worker}: ${names.join(' ')}`];
      case 'forgotten':
        return [`forgotten: ${names.join(' ')}`];
      case 'report':
        return names.map((name, i) => {
          const status = instruction.status[i]!;
          const cause = this._names[instruction.cause[i]!];
          const why =
            status === ReportStatus.Erred
              ? ` by ${cause}, ${FailureReason[instruction.reason[i]!]}`
              : '';
          return `report ${instruction.client}: ${name} ${ReportStatus[status]}${why}`;
        });
    }
  }
}

function words(text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '');
}
