/**
 * The worker processes of a cluster: starts them, replaces those that die, ends them. In the scheduler process.
 *
 * Each child's standard input is its lifeline: the child ends when this process does, for whatever reason.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { pid } from 'node:process';
import type {
  ClientProcess,
  LaunchSpec,
  WorkerMemory
} from '../../wire/cluster-settings';
import { OomKills } from '../oom-kills';
import { removeOwn } from '../own-folder';
import { processState } from './process-state';

/** Starts in a row that may fail before the fleet gives up. */
const MOST_FAILED_STARTS = 3;
/** How long a worker that was told to close may take. */
const CLOSE_SECONDS = 5;
/** How long a worker may take from its start to its first message. */
const START_SECONDS = 60;
/** A worker that ends sooner than this after it joined, and has finished no task, has lived in vain. */
const SHORT_LIFE_SECONDS = 10;
/** This many in a row are replaced at once; then each pause is twice as long as the one before. */
const SHORT_LIVES_AT_ONCE = 3;
const FIRST_PAUSE_SECONDS = 0.25;
const LONGEST_PAUSE_SECONDS = 10;

export type FleetOptions = {
  readonly launch: LaunchSpec;
  /** The client's process. Workers watch it: its end ends the cluster, even if the scheduler is stopped then and notices nothing. */
  readonly client: ClientProcess | null;
  readonly address: string;
  readonly secretHex: string;
  readonly folder: string;
  readonly transport: string;
  readonly threads: number;
  /** Bytes; 0: no limit. */
  readonly memoryLimit: number;
  /** What workers do as it fills; passed on to them. */
  readonly memory: WorkerMemory;
  /** What tasks may hold of each worker beside threads. */
  readonly resources: Readonly<Record<string, number>>;
  /** So many transfers of each direction a worker keeps; if left out: the worker's own default. */
  readonly transferLogLength?: number;
  /** Whether workers sample stacks and report what only panels show. */
  readonly recording: boolean;
  /** A number that no worker has had. */
  takeNumber(): number;
  /** A worker's process has ended; the sentence says how. */
  onExit(worker: number, why: string): void;
  /** No worker can be started. */
  onGiveUp(sentence: string): void;
  /** For the program's own log. */
  note(sentence: string): void;
};

type Child = {
  readonly process: ChildProcess;
  readonly startLimit: NodeJS.Timeout;
  /** When it joined, as `performance.now()` says; null: it has not yet. */
  joinedAt: number | null;
  hasWorked: boolean;
  /** Another has taken its place. */
  isReplaced: boolean;
  /** None is to take its place. */
  isLeaving: boolean;
};

/** Starts workers and knows which of them live. */
export interface IWorkerFleet {
  start(count: number): void;
  has(worker: number): boolean;
  /** The program that started it; null: this one. */
  starterOf(worker: number): object | null;
  /** A worker has said who it is. */
  joined(worker: number): void;
  /** A worker has finished a task. */
  worked(worker: number): void;
  /** Workers that are being started, or will be after a pause. */
  readonly startingCount: number;
  kill(worker: number): void;
  /** Replaces a stopped worker at once. The stopped process ends when it continues, at the latest with the fleet. */
  replace(worker: number): void;
  /** Whether it is on its way out: then no other takes its place when it ends. */
  leave(worker: number, isLeaving: boolean): void;
  /** Gives up starting workers that have not come, at most so many; @returns how many. */
  dropStarts(count: number): number;
  /** Threads of each worker. */
  readonly threads: number;
  /** What tasks may hold of each worker beside threads. */
  readonly resources: Readonly<Record<string, number>>;
  close(): Promise<void>;
}

export class WorkerFleet implements IWorkerFleet {
  private readonly _children = new Map<number, Child>();
  private _failedStarts = 0;
  /** Workers in a row that have lived in vain. */
  private _shortLives = 0;
  /** Starts that wait for the end of a pause. */
  private readonly _pauses = new Set<NodeJS.Timeout>();
  /** Removals of what ended workers left behind. */
  private readonly _oomKills = new OomKills();
  private readonly _removals = new Set<Promise<void>>();
  private _isClosing = false;

  constructor(private readonly _options: FleetOptions) {}

  start(count: number): void {
    for (let i = 0; i < count; i++) {
      this._start();
    }
  }

  /** Whether a worker of this number was started here and lives. */
  has(worker: number): boolean {
    return this._children.get(worker)?.isReplaced === false;
  }

  starterOf(): null {
    return null;
  }

  joined(worker: number): void {
    const child = this._children.get(worker);
    if (child !== undefined) {
      child.joinedAt = performance.now();
      clearTimeout(child.startLimit);
      this._failedStarts = 0;
    }
  }

  worked(worker: number): void {
    const child = this._children.get(worker);
    if (child !== undefined) {
      child.hasWorked = true;
      this._shortLives = 0;
    }
  }

  get startingCount(): number {
    let count = this._pauses.size;
    for (const child of this._children.values()) {
      const comes = child.joinedAt === null && !child.isLeaving;
      count += comes ? 1 : 0;
    }
    return count;
  }

  get threads(): number {
    return this._options.threads;
  }

  get resources(): Readonly<Record<string, number>> {
    return this._options.resources;
  }

  leave(worker: number, isLeaving: boolean): void {
    const child = this._children.get(worker);
    if (child !== undefined) {
      child.isLeaving = isLeaving;
    }
  }

  dropStarts(count: number): number {
    let left = count;
    for (const pause of [...this._pauses].slice(0, left)) {
      clearTimeout(pause);
      this._pauses.delete(pause);
      left--;
    }
    for (const [worker, child] of this._children) {
      if (left > 0 && child.joinedAt === null && !child.isLeaving) {
        child.isLeaving = true;
        this.kill(worker);
        left--;
      }
    }
    return count - left;
  }

  kill(worker: number): void {
    this._children.get(worker)?.process.kill('SIGKILL');
  }

  replace(worker: number): void {
    const child = this._children.get(worker);
    if (child === undefined || child.isReplaced || this._isClosing) {
      return;
    }
    child.isReplaced = true;
    this._start();
    // Stopped processes hold memory: at most as many are kept as there are workers.
    const replaced = [...this._children].filter(
      ([, { isReplaced }]) => isReplaced
    );
    if (2 * replaced.length > this._children.size) {
      this.kill(replaced[0]![0]);
    }
  }

  /** Waits until all have ended; kills those that take too long. They have been told to close. */
  async close(): Promise<void> {
    this._isClosing = true;
    this._pauses.forEach(pause => clearTimeout(pause));
    this._pauses.clear();
    const ended = [...this._children.values()].map(
      ({ process, joinedAt, isReplaced }) =>
        new Promise<void>(resolve => {
          process.once('exit', () => resolve());
          if (isReplaced || isStopped(process)) {
            process.kill('SIGKILL'); // it hears nothing
          }
          // The lifeline's end ends a worker at once: one that can be told to close must first send what it has measured.
          if (joinedAt === null) {
            process.stdin?.end();
          }
        })
    );
    const limit = setTimeout(() => {
      for (const worker of this._children.keys()) {
        this.kill(worker);
      }
    }, CLOSE_SECONDS * 1000);
    await Promise.all(ended);
    clearTimeout(limit);
    await Promise.all(this._removals);
  }

  private _start(): void {
    const { launch, address, secretHex, folder, transport } = this._options;
    const worker = this._options.takeNumber();
    // -P: the working directory must not hide modules of the worker program; it sets its path itself, from the launch spec.
    const process = spawn(launch.executable, ['-P', '-m', 'spanwise.worker'], {
      cwd: existsSync(launch.cwd) ? launch.cwd : folder,
      env: environmentOf(launch),
      // What workers print goes to this program's log; standard output is for the ready line.
      stdio: ['pipe', 2, 2]
    });
    const child: Child = {
      process,
      joinedAt: null,
      hasWorked: false,
      isReplaced: false,
      isLeaving: false,
      startLimit: setTimeout(() => this.kill(worker), START_SECONDS * 1000)
    };
    this._children.set(worker, child);
    let failure = '';
    process.once('error', error => {
      failure = error.message;
      if (process.pid === undefined) {
        this._exited(worker, child, `could not be started: ${failure}`);
      }
    });
    process.once('exit', (code, signal) =>
      this._exited(
        worker,
        child,
        signal !== null ? this._signalSentence(signal) : exitSentence(code)
      )
    );
    // The process may end before it has read its first line.
    process.stdin?.on('error', () => undefined);
    process.stdin?.write(
      `${JSON.stringify({
        scheduler: address,
        secretHex,
        worker,
        name: `worker-${worker}`,
        threads: this._options.threads,
        memoryLimit: this._options.memoryLimit,
        memory: this._options.memory,
        resources: this._options.resources,
        transferLogLength: this._options.transferLogLength,
        recording: this._options.recording,
        folder,
        path: launch.path,
        cwd: launch.cwd,
        modules: launch.modules,
        client: this._options.client,
        schedulerPid: pid,
        transport
      })}\n`
    );
  }

  private _signalSentence(signal: string): string {
    // Asked in any case: what has happened until now is not the next worker's.
    const isOutOfMemory = this._oomKills.haveRisen();
    if (signal === 'SIGKILL' && isOutOfMemory) {
      return "was ended by SIGKILL, and the system's OOM killer has just ended a process: the machine, or its container, was out of memory";
    }
    return CRASHES.has(signal)
      ? `crashed (${signal}), as code of a library may do`
      : `was ended by ${signal}`;
  }

  private _exited(worker: number, child: Child, why: string): void {
    clearTimeout(child.startLimit);
    if (!this._children.delete(worker)) {
      return;
    }
    // A child of the worker may hold the other end; nothing more is written.
    child.process.stdin?.destroy();
    this._removeWhatIsLeft(worker);
    this._options.onExit(worker, why);
    if (this._isClosing || child.isReplaced || child.isLeaving) {
      return;
    }
    if (child.joinedAt === null && ++this._failedStarts >= MOST_FAILED_STARTS) {
      this._options.onGiveUp(
        `The workers cannot be started: the last one ${why}. ` +
          `They run "${this._options.launch.executable} -m spanwise.worker"; what it said is in the scheduler's log.`
      );
      return;
    }
    this._startAfter(this._pauseSeconds(child));
  }

  /** How long to wait before an ended worker is replaced, so that workers that all end at once are not restarted without pause. */
  private _pauseSeconds({ joinedAt, hasWorked }: Child): number {
    const hadTime =
      joinedAt !== null &&
      performance.now() - joinedAt > SHORT_LIFE_SECONDS * 1000;
    this._shortLives = hasWorked || hadTime ? 0 : this._shortLives + 1;
    const doublings = this._shortLives - SHORT_LIVES_AT_ONCE - 1;
    return doublings < 0
      ? 0
      : Math.min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** doublings);
  }

  private _startAfter(seconds: number): void {
    if (seconds === 0) {
      this._start();
      return;
    }
    const pause = setTimeout(() => {
      this._pauses.delete(pause);
      this._start();
    }, seconds * 1000);
    this._pauses.add(pause);
  }

  /** Removes its results on disk and its socket, however it ended. */
  private _removeWhatIsLeft(worker: number): void {
    const { folder, note } = this._options;
    const removal = Promise.all(
      [`spill-${worker}`, `worker-${worker}.sock`].map(name =>
        removeOwn(join(folder, name))
      )
    )
      .then(() => undefined)
      .catch((error: unknown) =>
        note(`What worker ${worker} left stays: ${String(error)}.`)
      )
      .finally(() => this._removals.delete(removal));
    this._removals.add(removal);
  }
}

function isStopped({ pid }: ChildProcess): boolean {
  return pid !== undefined && processState(pid)?.isStopped === true;
}

/** Exit codes of the worker program. */
/** Signals that a process brings upon itself. */
const CRASHES: ReadonlySet<string> = new Set([
  'SIGSEGV',
  'SIGBUS',
  'SIGILL',
  'SIGFPE',
  'SIGABRT'
]);

/** Of the codes of the worker program (`spanwise/worker/__main__.py`). Code 0 may be a task's `os._exit(0)`, and says nothing. */
const EXIT_SENTENCES: Readonly<Record<number, string>> = {
  103: 'was refused by the scheduler',
  104: 'ended because it used more memory than its limit',
  105: 'ended because of an error of its own'
};

function exitSentence(code: number | null): string {
  return EXIT_SENTENCES[code ?? -1] ?? `ended with exit code ${code}`;
}

/**
 * The client's environment. When the client runs Spanwise from a folder that an interpreter does not find by itself (a checkout), the
 * workers are told of it; site-packages they find, and before the standard library it would do harm.
 */
function environmentOf(launch: LaunchSpec): Record<string, string> {
  const env = { ...launch.env };
  const home = launch.path
    // In a module path, the empty text is the working directory.
    .map(folder => (folder === '' ? launch.cwd : folder))
    .find(
      folder =>
        !basename(folder).endsWith('-packages') &&
        existsSync(join(folder, 'spanwise', 'worker', '__main__.py'))
    );
  if (home !== undefined) {
    env['PYTHONPATH'] = [home, env['PYTHONPATH']]
      .filter(Boolean)
      .join(delimiter);
  }
  return env;
}
