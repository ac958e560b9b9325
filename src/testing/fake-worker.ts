/** What a fake worker is told, in the order in which it is told. Ids are outer ids (see `VersionedIds`). */
type ToFakeWorker =
  | { type: 'assign'; runs: FakeAssignment[] }
  | { type: 'release'; tasks: number[] }
  | { type: 'acquire'; tasks: { task: number; holder: number }[] }
  | { type: 'takeBack'; runs: { task: number; runId: number }[] };

type FakeAssignment = {
  readonly task: number;
  readonly runId: number;
  /** Each input and a worker that holds it, or will make it. */
  readonly inputs: readonly { task: number; holder: number }[];
};

/** What a fake worker says, in the order in which it says it. */
export type FromFakeWorker =
  | {
      type: 'finished';
      task: number;
      runId: number;
      status: number;
      missing: { task: number; holder: number }[];
    }
  | { type: 'replicas'; added: number[]; removed: number[] }
  | { type: 'takenBack'; task: number; runId: number; taken: boolean };

type Run = FakeAssignment & {
  isRunning: boolean;
  /** Released while running: what comes of it is thrown away. */
  isDropped: boolean;
};

/** How a task behaves when it runs. */
export type Behaviour = 'ok' | 'raise' | 'kill';

/** What a fake worker needs of its surroundings. */
export interface IFakeSurroundings {
  /** A living worker, to fetch from. */
  peer(worker: number): FakeWorker | undefined;
  /** Decides what a run does; called once a run, when it ends. */
  behaviour(task: number): Behaviour;
  /** The process of this worker ends now. */
  died(worker: FakeWorker): void;
}

/**
 * A worker in one thread of control: it obeys instructions one step at a time, and the test chooses which step comes next. Both
 * its links are queues, so messages may be under way for as long as the driver likes, but keep their order.
 */
export class FakeWorker {
  readonly inbox: ToFakeWorker[] = [];
  readonly outbox: FromFakeWorker[] = [];
  /** The results that it holds. */
  readonly store = new Set<number>();
  readonly runs: Run[] = [];
  /** Copies that it is to fetch. */
  readonly acquired: { task: number; holder: number }[] = [];

  constructor(
    readonly id: number,
    readonly threads: number,
    private readonly _around: IFakeSurroundings
  ) {}

  /** The steps that it could take now. */
  steps(): (() => void)[] {
    const steps: (() => void)[] = [];
    if (this.inbox.length > 0) {
      steps.push(() => this._obey(this.inbox.shift()!));
    }
    if (this.acquired.length > 0) {
      steps.push(() => this._copy(this.acquired.shift()!));
    }
    const running = this.runs.filter(run => run.isRunning).length;
    for (const run of this.runs) {
      if (run.isRunning) {
        steps.push(() => this._finish(run));
        continue;
      }
      const absent = run.inputs.filter(input => !this.store.has(input.task));
      const remote = absent.filter(input => input.holder !== this.id);
      if (remote.length > 0) {
        steps.push(() => this._fetch(run, remote[0]!));
      } else if (absent.length === 0 && running < this.threads) {
        steps.push(() => {
          run.isRunning = true;
        });
      }
    }
    return steps;
  }

  /** Drops a copy that it got from a peer or a result of its own, and says so. */
  lose(task: number): void {
    if (this.store.delete(task)) {
      this.outbox.push({ type: 'replicas', added: [], removed: [task] });
    }
  }

  /** Its next message goes out twice. */
  sayAgain(): void {
    if (this.outbox[0] !== undefined) {
      this.outbox.unshift(structuredClone(this.outbox[0]));
    }
  }

  private _obey(message: ToFakeWorker): void {
    switch (message.type) {
      case 'assign':
        for (const assignment of message.runs) {
          if (this._unstarted(assignment.task)) {
            throw new Error(`Task ${assignment.task} was assigned twice.`);
          }
          this.runs.push({ ...assignment, isRunning: false, isDropped: false });
        }
        return;
      case 'release':
        message.tasks.forEach(task => this._release(task));
        return;
      case 'acquire':
        this.acquired.push(...message.tasks);
        return;
      case 'takeBack':
        for (const { task, runId } of message.runs) {
          const run = this._unstarted(task);
          const taken = run !== undefined && run.runId === runId;
          if (taken) {
            this._remove(run);
          }
          this.outbox.push({ type: 'takenBack', task, runId, taken });
        }
    }
  }

  /** What is not there any more it does not get, and says nothing. */
  private _copy({ task, holder }: { task: number; holder: number }): void {
    if (this.store.has(task) || this._around.peer(holder)?.store.has(task)) {
      this.store.add(task);
      this.outbox.push({ type: 'replicas', added: [task], removed: [] });
    }
  }

  private _release(task: number): void {
    this.store.delete(task);
    for (let i = this.acquired.length - 1; i >= 0; i--) {
      if (this.acquired[i]!.task === task) {
        this.acquired.splice(i, 1);
      }
    }
    for (const run of [...this.runs]) {
      if (run.task === task) {
        if (run.isRunning) {
          run.isDropped = true;
        } else {
          this._remove(run);
        }
      }
    }
  }

  private _fetch(run: Run, input: { task: number; holder: number }): void {
    if (this._around.peer(input.holder)?.store.has(input.task)) {
      this.store.add(input.task);
      this.outbox.push({ type: 'replicas', added: [input.task], removed: [] });
      return;
    }
    this._remove(run);
    this._tell(run, 2, [input]);
  }

  private _finish(run: Run): void {
    this._remove(run);
    const behaviour = this._around.behaviour(run.task);
    if (behaviour === 'kill') {
      this._around.died(this);
      return;
    }
    if (run.isDropped) {
      // A real worker may still tell of it.
      this._tell(run, 0, []);
      return;
    }
    if (behaviour === 'ok') {
      this.store.add(run.task);
    }
    this._tell(run, behaviour === 'ok' ? 0 : 1, []);
  }

  private _tell(
    run: Run,
    status: number,
    missing: { task: number; holder: number }[]
  ): void {
    const { task, runId } = run;
    this.outbox.push({ type: 'finished', task, runId, status, missing });
  }

  private _unstarted(task: number): Run | undefined {
    return this.runs.find(run => run.task === task && !run.isRunning);
  }

  private _remove(run: Run): void {
    this.runs.splice(this.runs.indexOf(run), 1);
  }
}
