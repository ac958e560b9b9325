import { RunStatus } from '../../records/enumerations';
import type { LocalRun } from '../../sources/local-log';
import type { Key } from '../graph/key';
import { checkOptionNames } from '../option-names';
import { HOME } from './home';
import { KeyCutter } from './key-parts';
import { LiveLog } from './live-log';
import type { LogSink } from './log-sink';
import { recordedError } from './recorded-error';
import { scriptName } from './script-name';
import { currentSpan, type Span } from './span';

/** Runs that take less are over before anybody sees that they run. */
const LONG_MS = 100;
const MOST_LANES = 65_536;

/** The facts that are written when a run begins. */
type BegunRun = Pick<
  LocalRun,
  'node' | 'functionId' | 'span' | 'lane' | 'start'
>;

/**
 * Options of {@link createRecorder}.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, observerSink, type RecorderOptions } from 'spanwise';
 *
 * const options: RecorderOptions = { name: 'fetcher', into: observerSink() };
 * await createRecorder(options).close();
 * console.log(options.name); // → fetcher
 * ```
 */
export type RecorderOptions = {
  /** Where the log goes. */
  readonly into: LogSink;
  /** Shown by the panels; the script's name by default. */
  readonly name?: string;
};

/**
 * What is known of a run when it begins.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, observerSink, type RunFacts } from 'spanwise';
 *
 * await using recorder = createRecorder({ into: observerSink() });
 * const facts: RunFacts = { key: ['fetch', 7], lane: 0 };
 * recorder.begin(facts).end();
 * console.log(facts.key); // → [ 'fetch', 7 ]
 * ```
 */
export type RunFacts = {
  /** What ran; keys that begin alike (`fetch-1`, `fetch-2`) are one kind of task. */
  readonly key: Key;
  /** Where it belongs; by default the span that is open. */
  readonly span?: Span | null;
  /** Its lane, counted from 0: a place for one run at a time; by default the first free one. */
  readonly lane?: number;
  /** When it began, in seconds since the epoch; by default now. */
  readonly startTime?: number;
};

/**
 * The facts about a run when it has ended. A figure that is left out is unknown, not 0.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, observerSink, type RunOutcome } from 'spanwise';
 *
 * await using recorder = createRecorder({ into: observerSink() });
 * const run = recorder.begin({ key: 'parse-1' });
 * try {
 *   JSON.parse('{');
 * } catch (error) {
 *   const outcome: RunOutcome = { error };
 *   run.end(outcome);
 *   console.log(error instanceof SyntaxError); // → true
 * }
 * ```
 */
export type RunOutcome = {
  /** When it ended, in seconds since the epoch; by default now. */
  readonly endTime?: number;
  /** Of its result. */
  readonly nbytes?: number;
  /** Seconds for which its thread was on a core for it. */
  readonly cpuSeconds?: number;
  /** What it failed with. */
  readonly error?: unknown;
};

/**
 * A run that has begun; {@link Recorder.begin} gives it. The end of a `using` block ends it too.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, observerSink, type OpenRun } from 'spanwise';
 *
 * await using recorder = createRecorder({ into: observerSink() });
 * const run: OpenRun = recorder.begin({ key: 'encode-1' });
 * const nbytes = new TextEncoder().encode('größer').byteLength;
 * run.end({ nbytes });
 * console.log(nbytes); // → 8
 * ```
 */
export type OpenRun = Disposable & {
  /** Records it. Only the first call counts. */
  end(outcome?: RunOutcome): void;
};

/**
 * Records what a program runs, whatever it is; {@link createRecorder} makes one.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, observerSink, type Recorder } from 'spanwise';
 *
 * const recorder: Recorder = createRecorder({ into: observerSink() });
 * function parse(text: string): unknown {
 *   using _run = recorder.begin({ key: 'parse-1' });
 *   return JSON.parse(text);
 * }
 * console.log(parse('[1, 2]')); // → [ 1, 2 ]
 * await recorder.close();
 * ```
 */
export class Recorder implements AsyncDisposable {
  private readonly _live: LiveLog;
  private readonly _keys = new KeyCutter();
  /** By lane. */
  private readonly _isTaken: boolean[] = [];
  /** All lanes before it are taken. */
  private _maybeFree = 0;

  /** @internal */
  constructor(options: RecorderOptions) {
    checkOptionNames('createRecorder', options, { into: true, name: true });
    const { into, name = scriptName() } = options;
    checkSink(into);
    this._live = new LiveLog(name, into, { waits: false });
  }

  /** A run begins. Panels show it once it takes long; it is recorded when it has ended. */
  begin(facts: RunFacts): OpenRun {
    const { _live: live } = this;
    const { log } = live;
    if (live.isEnded) {
      // Rows would stay in memory: nothing sends them any more.
      return { end: () => undefined, [Symbol.dispose]: () => undefined };
    }
    const parts = this._keys.cut(facts.key);
    const place = this._take(facts.lane);
    const start = this._clockOf(facts.startTime);
    const span = live.spanId(
      facts.span === undefined ? currentSpan() : facts.span
    );
    const run: BegunRun = {
      node: log.node({ ...parts, span }, start),
      functionId: log.nameId(parts.functionName),
      span,
      lane: live.laneId(HOME, place),
      start
    };
    let isShown = false;
    const showing = setTimeout(() => {
      if (!live.isEnded) {
        isShown = true;
        log.running(run.lane, run.node, run.functionId, span, start);
        live.commit();
      }
    }, LONG_MS);
    showing.unref();
    let isOpen = true;
    const end = (outcome: RunOutcome = {}): void => {
      if (!isOpen) {
        return;
      }
      isOpen = false;
      clearTimeout(showing);
      this._isTaken[place] = false;
      this._maybeFree = Math.min(this._maybeFree, place);
      if (!live.isEnded) {
        if (isShown) {
          log.runningNothing(run.lane);
        }
        this._write(run, outcome);
      }
    };
    return { end, [Symbol.dispose]: () => end() };
  }

  /** Waits until the sink has delivered what was recorded so far. */
  flush(): Promise<void> {
    return this._live.flush();
  }

  /** Records no more, and waits until the sink has delivered everything. Twice is safe. */
  close(): Promise<void> {
    return this._live.end('closed');
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private _write(
    begun: BegunRun,
    { endTime, nbytes = NaN, cpuSeconds = NaN, error }: RunOutcome
  ): void {
    const { log } = this._live;
    const stop = this._clockOf(endTime);
    const run = log.run({
      ...begun,
      status: error === undefined ? RunStatus.Ok : RunStatus.Failed,
      stop,
      submitted: begun.start,
      ready: begun.start,
      cpu: cpuSeconds,
      nbytes
    });
    if (error !== undefined) {
      log.failed(run, begun.span, stop, recordedError(error));
    }
    this._live.commit();
  }

  private _take(wanted: number | undefined): number {
    if (
      wanted !== undefined &&
      !(Number.isInteger(wanted) && wanted >= 0 && wanted < MOST_LANES)
    ) {
      throw new RangeError(
        `A lane is a whole number from 0 to ${MOST_LANES - 1}, not ${wanted}.`
      );
    }
    const lane = wanted ?? this._firstFree();
    this._isTaken[lane] = true;
    // As many can run at a time as have run at a time so far.
    this._live.capacity(HOME, this._isTaken.length);
    return lane;
  }

  /** When all lanes are taken, because runs are begun and not ended, further runs share the last one. */
  private _firstFree(): number {
    let lane = this._maybeFree;
    while (lane < MOST_LANES - 1 && this._isTaken[lane] === true) {
      lane++;
    }
    this._maybeFree = lane;
    return lane;
  }

  /** Seconds of the log's clock. */
  private _clockOf(epochSeconds: number | undefined): number {
    const { log, wallEpoch, now } = this._live;
    return epochSeconds === undefined
      ? now()
      : log.start + (epochSeconds - wallEpoch);
  }
}

/**
 * Makes any Node program a source of Spanwise's panels: it says when something began and ended. The local schedulers need none of it, see
 * {@link observe}.
 *
 * @group Observing
 * @example
 * ```ts
 * import { createRecorder, observerSink, span } from 'spanwise';
 *
 * await using recorder = createRecorder({ name: 'fetcher', into: observerSink() });
 * const bytes = await span('download', async () => {
 *   const run = recorder.begin({ key: 'fetch-1' });
 *   const answer = await fetch('data:text/plain,hello');
 *   const body = await answer.arrayBuffer();
 *   run.end({ nbytes: body.byteLength });
 *   return body;
 * });
 * console.log(bytes.byteLength); // → 5
 * ```
 *
 * @throws TypeError for an unknown option, or if `into` is no sink.
 */
export function createRecorder(options: RecorderOptions): Recorder {
  return new Recorder(options);
}

/** Programs without types: the log would end where it begins, with a sentence about this package's own names. */
function checkSink(sink: LogSink | null | undefined): void {
  for (const name of ['open', 'write', 'flush', 'end'] as const) {
    if (typeof sink?.[name] !== 'function') {
      throw new TypeError(
        `createRecorder writes to \`into\`, an object with the functions open, write, flush and end, such as observerSink(); ${name} is none.`
      );
    }
  }
}
