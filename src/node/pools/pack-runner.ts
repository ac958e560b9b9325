/** Runs in the worker: takes packs of tasks one after the other, runs them in order, sends results back in batches. */
import { isThenable } from '../graph/thenable';
import { type CallTree, decodeArg } from './call-encoding';
import { collectLargeBuffers } from './large-buffers';
import {
  type FromWorker,
  type InitializeMessage,
  NESTED,
  type RemoteFailure,
  type ResultsMessage,
  type RunMessage
} from './messages';
import { packFailure } from './remote-error';
import { Measures, TaskMeter } from './task-meter';
import { ClassLosses } from './sent-values';
import { describeLoss, describeUnsendable } from './unsendable';
import {
  loadedFunction,
  type LoadedFunction,
  WorkerFunctions
} from './worker-functions';

/** Results older than this are sent before the next task runs. */
const FLUSH_MS = 1;
/** After so long without a pause, messages are read before the next task: one may say that it is not wanted any more. */
const PAUSE_MS = 10;

/** What the runner needs of the thread or process it runs in. */
type RunnerLink = {
  /** @returns a promise if memory that was sent must not change yet: until it resolves. @throws if something cannot be sent. */
  send(
    message: FromWorker,
    moved: readonly ArrayBuffer[]
  ): void | Promise<void>;
  canSend(value: unknown): boolean;
  /** What a value is when it has arrived. @throws if it cannot be sent */
  arrivalOf(value: unknown): unknown;
  /** Takes the next task of a pack; a number past its end if the rest was taken back. */
  claim(pack: RunMessage): number;
  /** Lets messages come in, where {@link claim} does not know without them what was taken back. */
  pause?(): Promise<void>;
};

export class PackRunner {
  private readonly _functions = new WorkerFunctions();
  private readonly _timings = new FunctionTimings();
  private readonly _waiting: RunMessage[] = [];
  private readonly _losses: ClassLosses;
  private _isRunning = false;

  constructor(private readonly _link: RunnerLink) {
    this._losses = new ClassLosses(value => _link.arrivalOf(value));
  }

  add(pack: RunMessage): void {
    this._waiting.push(pack);
    if (!this._isRunning) {
      void this._runAll();
    }
  }

  /** Comes before any pack; packs that come meanwhile wait, and after a failure for ever: the pool ends this worker. */
  async initialize(message: InitializeMessage): Promise<void> {
    this._isRunning = true;
    try {
      const { call } = await loadedFunction(message);
      await call(...message.args);
    } catch (error) {
      const failure = packFailure(error, value => this._link.canSend(value));
      await this._link.send({ type: 'initialized', failure }, []);
      return;
    }
    await this._link.send({ type: 'initialized' }, []);
    await this._runAll();
  }

  private async _runAll(): Promise<void> {
    this._isRunning = true;
    for (
      let pack = this._waiting.shift();
      pack !== undefined;
      pack = this._waiting.shift()
    ) {
      this._functions.define(pack.define);
      this._timings.begin(pack.define);
      const meter =
        pack.measures === Measures.none ? null : new TaskMeter(pack.measures);
      await new PackRun(
        pack,
        this._functions,
        this._timings,
        this._link,
        meter,
        this._losses
      ).run();
    }
    this._isRunning = false;
  }
}

/** One pack on its way through the worker. */
class PackRun {
  private _values: unknown[] = [];
  private readonly _moved = new Set<ArrayBuffer>();
  private _flushedAt = performance.now();
  /** Whether the results of all nested calls under way may be moved instead of copied. */
  private _treeMoves = true;

  constructor(
    private readonly _pack: RunMessage,
    private readonly _functions: WorkerFunctions,
    private readonly _timings: FunctionTimings,
    private readonly _link: RunnerLink,
    private readonly _meter: TaskMeter | null,
    private readonly _losses: ClassLosses
  ) {}

  async run(): Promise<void> {
    const { calls, args, count, isShared } = this._pack;
    const step = calls.length === 2 ? 0 : 2;
    const loaded = this._functions.loaded;
    let from = 0;
    let start = this._flushedAt;
    let pausedAt = start;
    for (;;) {
      const index = this._link.claim(this._pack);
      if (index >= count) {
        break;
      }
      const id = calls[step * index]!;
      const argCount = calls[step * index + 1]!;
      // Finished results must not wait for a task that may take long.
      if (this._values.length > 0 && this._timings.mayTakeLong(id)) {
        if (!(await this._flush(false))) {
          return;
        }
        start = performance.now();
      }
      const isLast = index === count - 1;
      let leaves = false;
      let done: number;
      try {
        let value: unknown;
        const known = loaded[id];
        const fn = known ?? (await this._functions.load(id));
        const places = argCount === NESTED ? 1 : argCount;
        // A task must not see another's changes to a shared object, so each gets a copy; the last one may have the original.
        const isOwn = !isShared || isLast;
        const given = isOwn
          ? args
          : structuredClone(args.slice(from, from + places));
        const place = isOwn ? from : 0;
        from += places;
        // One task's stop is the next one's start, unless something took time in between.
        const isNext = isOwn && known !== undefined;
        this._meter?.begin(isNext ? start : performance.now());
        let movesResult = fn.movesResults;
        if (argCount === NESTED) {
          this._treeMoves = true;
          value = await this._callTree(given[place] as CallTree);
          movesResult = this._treeMoves;
        } else {
          value = callWith(fn.call, given, place, argCount);
          if (isThenable(value)) {
            value = await value;
          }
        }
        done = performance.now();
        this._meter?.end(done, value);
        if (typeof value === 'object' && value !== null) {
          const loss = this._losses.find(value);
          if (loss !== null) {
            const what = describeLoss(value, 'result', loss);
            await this._fail({ kind: 'unsendable', what });
            return;
          }
          if (movesResult) {
            noteLargeBuffers(value, this._moved);
          } else if (!isLast) {
            // Its function may keep it, and change it in a later task.
            leaves = hasLargeBuffers(value);
            value = leaves ? value : this._copyOf(value);
          }
          done = performance.now();
        }
        this._values.push(value);
      } catch (error) {
        this._meter?.fail(performance.now());
        await this._fail(
          packFailure(error, value => this._link.canSend(value))
        );
        return;
      }
      this._timings.add(id, done - start);
      start = done;
      if (leaves || done - this._flushedAt > FLUSH_MS) {
        if (!(await this._flush(false))) {
          return;
        }
        // Sending is no part of the next task's time.
        start = performance.now();
      }
      if (done - pausedAt > PAUSE_MS && this._link.pause !== undefined) {
        await this._link.pause();
        start = pausedAt = performance.now();
      }
    }
    await this._flush(true);
  }

  /** The value itself if it has no copy, which is told when it is sent. */
  private _copyOf(value: object): unknown {
    try {
      return structuredClone(value);
    } catch {
      return value;
    }
  }

  private async _callTree(tree: CallTree): Promise<unknown> {
    const fn: LoadedFunction = await this._functions.load(tree.fn);
    this._treeMoves &&= fn.movesResults;
    const values: unknown[] = [];
    for (const arg of tree.args) {
      values.push(await decodeArg(arg, call => this._callTree(call)));
    }
    return fn.call(...values);
  }

  private _message(
    values: readonly unknown[],
    ended: boolean,
    failure?: RemoteFailure,
    measures = this._meter?.take()
  ): ResultsMessage {
    return {
      type: 'results',
      pack: this._pack.pack,
      values,
      timings: this._timings.take(),
      ended,
      ...(measures === undefined ? {} : { measures }),
      ...(failure === undefined ? {} : { failure })
    };
  }

  /** @returns false if a value could not be sent: its task has failed then, and the pack is over. */
  private async _flush(ended: boolean): Promise<boolean> {
    const values = this._values;
    const moved = this._takeMoved();
    this._values = [];
    this._flushedAt = performance.now();
    const message = this._message(values, ended);
    try {
      await this._sendMoving(message, moved);
      return true;
    } catch (error) {
      await this._sendUntilUnsendable(message, error);
      return false;
    }
  }

  /** Memory that refuses to be moved is copied. */
  private async _sendMoving(
    message: ResultsMessage,
    moved: readonly ArrayBuffer[]
  ): Promise<void> {
    if (moved.length > 0) {
      try {
        await this._link.send(message, moved);
        return;
      } catch {
        // Tried again as a copy: if the value itself is the trouble, that fails with the error that counts.
      }
    }
    await this._link.send(message, []);
  }

  private async _sendUntilUnsendable(
    { values, measures }: ResultsMessage,
    error: unknown
  ): Promise<void> {
    const at = values.findIndex(value => !this._link.canSend(value));
    const failure: RemoteFailure =
      at === -1
        ? packFailure(error, () => false)
        : {
            kind: 'unsendable',
            what: describeUnsendable(values[at], 'result', value =>
              this._link.canSend(value)
            )
          };
    await this._link.send(
      this._message(values.slice(0, Math.max(at, 0)), true, failure, measures),
      []
    );
  }

  private async _fail(failure: RemoteFailure): Promise<void> {
    if (this._values.length === 0 || (await this._flush(false))) {
      await this._link.send(this._message([], true, failure), []);
    }
  }

  /**
   * Large results leave without a copy, unless their memory came in with this pack: another task may have been given it too, and would find
   * it empty.
   */
  private _takeMoved(): ArrayBuffer[] {
    if (this._moved.size === 0) {
      return [];
    }
    if (this._pack.count > 1) {
      const given = new Set<ArrayBuffer>();
      for (const arg of this._pack.args) {
        collectLargeBuffers(arg, given);
      }
      given.forEach(buffer => this._moved.delete(buffer));
    }
    const moved = [...this._moved];
    this._moved.clear();
    return moved;
  }
}

/** How long the functions take in this worker. */
class FunctionTimings {
  /** Since the last message. */
  private readonly _new = new Map<number, { count: number; ms: number }>();
  private _lastId = -1;
  private _last = { count: 0, ms: 0 };
  /** The longest run of each function, fading by a tenth with each shorter one. */
  private readonly _longMs: (number | undefined)[] = [];

  add(id: number, ms: number): void {
    if (id !== this._lastId) {
      let entry = this._new.get(id);
      if (entry === undefined) {
        this._new.set(id, (entry = { count: 0, ms: 0 }));
      }
      this._lastId = id;
      this._last = entry;
    }
    this._last.count += 1;
    this._last.ms += ms;
    this._longMs[id] = Math.max(ms, (this._longMs[id] ?? 0) * 0.9);
  }

  /** Nothing is known of these functions. */
  begin(functions: readonly { readonly id: number }[]): void {
    for (const { id } of functions) {
      this._longMs[id] = undefined;
    }
  }

  /** The function never ran here, or took long not long ago. */
  mayTakeLong(id: number): boolean {
    return (this._longMs[id] ?? Infinity) > FLUSH_MS;
  }

  /** As the message has them: id, count, milliseconds of each. */
  take(): number[] {
    const columns: number[] = [];
    for (const [id, { count, ms }] of this._new) {
      columns.push(id, count, ms);
    }
    this._new.clear();
    this._lastId = -1;
    return columns;
  }
}

/** Getters of a result are its task's, and may throw: that is told when it is sent. */
function noteLargeBuffers(value: object, into: Set<ArrayBuffer>): void {
  try {
    collectLargeBuffers(value, into);
  } catch {
    into.clear();
  }
}

function hasLargeBuffers(value: object): boolean {
  const large = new Set<ArrayBuffer>();
  noteLargeBuffers(value, large);
  return large.size > 0;
}

function callWith(
  fn: (...args: unknown[]) => unknown,
  args: readonly unknown[],
  from: number,
  count: number
): unknown {
  switch (count) {
    case 0:
      return fn();
    case 1:
      return fn(args[from]);
    case 2:
      return fn(args[from], args[from + 1]);
    case 3:
      return fn(args[from], args[from + 1], args[from + 2]);
    default:
      return fn(...args.slice(from, from + count));
  }
}
