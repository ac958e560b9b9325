import {
  NONE_U16,
  NONE_U32,
  PartKind,
  RunStatus,
  SubmitFlag
} from '../records/enumerations';
import { dial } from '../link/dial';
import type { Link } from '../link/link';
import type {
  FleetOptions,
  IWorkerFleet
} from '../sidecar/scheduler-process/worker-fleet';
import type { Message } from '../wire/schema';

/** What a task does: the text of its template. `hold` runs until the test says so; of `show` the result comes as if it were a sign. */
export type WireBehaviour = 'ok' | 'raise' | 'hold' | 'show';

type WireRun = {
  readonly taskId: number;
  readonly runId: number;
  readonly behaviour: WireBehaviour;
  readonly isWanted: boolean;
  /** The inputs that are to be here. */
  readonly own: readonly number[];
  readonly span: number;
  readonly functionId: number;
};

/**
 * A worker in this process that speaks the worker link over a real socket. It runs what it is assigned at once and in order; results are
 * the bytes of `result of <taskId>`.
 */
export class WireWorker {
  /** Every message received, in order. */
  readonly received: Message<'worker', 'down'>[] = [];
  /** The ids of results that it keeps. */
  readonly store = new Set<number>();
  /** Runs of tasks that hold. */
  readonly held: WireRun[] = [];
  /** Like one whose interpreter is stuck: it does not answer `flush`. */
  isStuck = false;
  private readonly _templates = new Map<number, WireBehaviour>();

  private constructor(
    readonly id: number,
    readonly link: Link<'worker', 'up'>
  ) {
    link.start({
      messages: batch => batch.forEach(message => this._take(message)),
      closed: () => undefined
    });
  }

  static async join(id: number, options: FleetOptions): Promise<WireWorker> {
    const link = await dial({
      address: options.address,
      secret: Buffer.from(options.secretHex, 'hex'),
      role: 'worker',
      build: 'test',
      intro: {
        worker: id,
        pid: 1000 + id,
        threads: options.threads,
        memoryLimit: options.memoryLimit,
        host: 'here',
        address: `unix:/nowhere/worker-${id}.sock`
      }
    });
    return new WireWorker(id, link);
  }

  messages<T extends Message<'worker', 'down'>['type']>(
    type: T
  ): Message<'worker', 'down', T>[] {
    return this.received.filter(
      (message): message is Message<'worker', 'down', T> =>
        message.type === type
    );
  }

  /** Lets the runs end that hold. */
  letGo(): void {
    this._finish(this.held.splice(0));
  }

  private _take(message: Message<'worker', 'down'>): void {
    this.received.push(message);
    switch (message.type) {
      case 'assign':
        return this._assign(message);
      case 'release':
        message.tables.ids.taskId.forEach(id => {
          this.store.delete(id);
          const run = this.held.findIndex(({ taskId }) => taskId === id);
          if (run >= 0) {
            this.held.splice(run, 1);
          }
        });
        return;
      case 'takeBack': {
        const { taskId, runId } = message.tables.tasks;
        const taken = Array.from(runId, id => this._giveBack(id));
        return this.link.send(
          'takenBack',
          {},
          {
            tasks: {
              taskId: [...taskId],
              runId: [...runId],
              ok: taken.map(Number)
            }
          }
        );
      }
      case 'acquire': {
        const { taskId, nbytes } = message.tables.items;
        taskId.forEach(id => this.store.add(id));
        return this.link.send(
          'replicas',
          {},
          {
            added: { taskId: [...taskId], nbytes: [...nbytes] },
            removed: { taskId: [] }
          }
        );
      }
      case 'adopt':
        message.tables.items.taskId.forEach(id => this.store.add(id));
        return;
      case 'flush':
        if (!this.isStuck) {
          this.link.send('flushed', message.fields);
        }
        return;
      case 'run':
        return this.link.send(
          'runResult',
          { request: message.fields.request, ok: true },
          {},
          [text(`ran at ${this.id}`)]
        );
      case 'close':
        return this.link.close();
      default:
        return;
    }
  }

  /** What holds has not begun; all else has ended. */
  private _giveBack(runId: number): boolean {
    const held = this.held.findIndex(run => run.runId === runId);
    if (held >= 0) {
      this.held.splice(held, 1);
    }
    return held >= 0;
  }

  private _assign({
    fields,
    tables,
    blobs
  }: Message<'worker', 'down', 'assign'>): void {
    for (const { id, blob } of fields.templates) {
      this._templates.set(
        id,
        new TextDecoder().decode(blobs[blob]) as WireBehaviour
      );
    }
    const { tasks } = tables;
    const runs: WireRun[] = [];
    for (let i = 0; i < tasks.rows; i++) {
      const run: WireRun = {
        taskId: tasks.taskId[i]!,
        runId: tasks.runId[i]!,
        behaviour: this._templates.get(tasks.template[i]!)!,
        isWanted: (tasks.flags[i]! & SubmitFlag.Wanted) !== 0,
        own: this._ownInputs(tables, i),
        span: tasks.span[i]!,
        functionId: tasks.function[i]!
      };
      (run.behaviour === 'hold' ? this.held : runs).push(run);
    }
    this._finish(runs);
  }

  private _ownInputs(
    { tasks, dependencies }: Message<'worker', 'down', 'assign'>['tables'],
    row: number
  ): number[] {
    const stop =
      row + 1 < tasks.rows
        ? tasks.firstDependency[row + 1]!
        : dependencies.rows;
    const own: number[] = [];
    for (let k = tasks.firstDependency[row]!; k < stop; k++) {
      if (dependencies.worker[k] === this.id) {
        own.push(dependencies.taskId[k]!);
      }
    }
    return own;
  }

  private _finish(runs: readonly WireRun[]): void {
    if (runs.length === 0) {
      return;
    }
    const status: number[] = [];
    const missing: number[] = [];
    for (const { taskId, own, behaviour } of runs) {
      const absent = own.filter(input => !this.store.has(input));
      missing.push(...absent);
      status.push(
        absent.length > 0
          ? RunStatus.Missing
          : behaviour === 'raise'
            ? RunStatus.Failed
            : RunStatus.Ok
      );
      if (status.at(-1) === RunStatus.Ok) {
        this.store.add(taskId);
      }
    }
    const now = performance.now() / 1000;
    const results = runs.map(run => text(`result of ${run.taskId}`));
    const starts: number[] = [];
    let end = 0;
    for (const result of results) {
      starts.push(end);
      end += Math.ceil(result.length / 8) * 8;
    }
    const inline = new Uint8Array(end);
    results.forEach((result, i) => inline.set(result, starts[i]));
    const raised = status.flatMap((each, row) =>
      each === RunStatus.Failed ? [row] : []
    );
    this.link.send(
      'finished',
      {
        errors: raised.map((row, i) => ({
          row,
          type: 'ValueError',
          message: 'boom',
          text: 'Traceback …',
          blob: 1 + i
        }))
      },
      {
        runs: {
          taskId: runs.map(run => run.taskId),
          runId: runs.map(run => run.runId),
          status,
          thread: runs.map(() => 0),
          start: runs.map(() => now),
          duration: runs.map(() => 0.001),
          cpu: runs.map(() => 0.0005),
          waitInputs: runs.map(() => 0),
          waitThread: runs.map(() => 0),
          nbytes: results.map(result => result.length),
          inlineStart: starts,
          inlineLength: runs.map((run, i) =>
            run.isWanted && status[i] === RunStatus.Ok
              ? results[i]!.length
              : NONE_U32
          ),
          firstPart: runs.map((_, i) => i),
          type: runs.map(() => NONE_U32)
        },
        parts: {
          kind: runs.map(() => PartKind.Compute),
          function: runs.map(run => run.functionId),
          span: runs.map(run => run.span),
          offset: runs.map(() => 0),
          duration: runs.map(() => 0.001),
          cpu: runs.map(() => 0.0005),
          coreWait: runs.map(() => NaN),
          bytes: runs.map(() => 0),
          from: runs.map(() => NONE_U16),
          held: runs.map(() => 1)
        },
        missing: { taskId: missing, worker: missing.map(() => this.id) },
        signs: {
          row: runs.flatMap((run, row) =>
            run.behaviour === 'show' ? [row] : []
          )
        }
      },
      [inline, ...raised.map(row => text(`error of ${runs[row]!.taskId}`))]
    );
  }
}

/** A fleet of {@link WireWorker}s. A worker that is killed is replaced, as by the real one. */
export class WireFleet implements IWorkerFleet {
  readonly workers = new Map<number, WireWorker>();
  private _known = new Set<number>();
  private readonly _leaving = new Set<number>();
  /** Workers that do not come; tests say how many. */
  startingCount = 0;

  constructor(readonly options: FleetOptions) {}

  start(count: number): void {
    for (let i = 0; i < count; i++) {
      const id = this.options.takeNumber();
      this._known.add(id);
      void WireWorker.join(id, this.options).then(worker =>
        this.workers.set(id, worker)
      );
    }
  }

  has(worker: number): boolean {
    return this._known.has(worker);
  }

  joined(): void {
    // Nothing waits for it here.
  }

  worked(): void {
    // Nor for this.
  }

  kill(worker: number): void {
    if (this._known.delete(worker)) {
      this.workers.get(worker)?.link.destroy();
      this.workers.delete(worker);
      this.options.onExit(worker, 'was ended by SIGKILL');
      this.start(this._leaving.has(worker) ? 0 : 1);
    }
  }

  replace(worker: number): void {
    if (this._known.delete(worker)) {
      this.start(1);
    }
  }

  get threads(): number {
    return this.options.threads;
  }

  get resources(): Readonly<Record<string, number>> {
    return this.options.resources;
  }

  leave(worker: number, isLeaving: boolean): void {
    if (isLeaving) {
      this._leaving.add(worker);
    } else {
      this._leaving.delete(worker);
    }
  }

  starterOf(): null {
    return null;
  }

  dropStarts(): number {
    return 0;
  }

  async close(): Promise<void> {
    this._known.clear();
  }
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}
