/** A local log that is written now: spans and lanes get their ids, blocks leave in time for panels that are looked at. */
import { DEFAULT_SPAN, type LaneId, type SpanId } from '../../records/ids';
import { LARGEST_U16 } from '../../records/enumerations';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { monotonicClock, monotonicOffset } from '../../link/monotonic';
import { SEAL_SECONDS } from '../../records/log-writer';
import { LocalLog, type LocalWorker } from '../../sources/local-log';
import { atExit, type Leaving, notAtExit } from './at-exit';
import { HOME } from './home';
import type { LogEnd, LogSink } from './log-sink';
import type { Span } from './span';
import { hasThreadCpu } from './thread-cpu';

const ID_BYTES = 8;
/** Lanes are u16, and so is their number: tasks that find none share the last one. */
const MOST_LANES = LARGEST_U16;
/** Clocks that differ by more have come apart. */
const APART_MS = 20;
/** Looks at both clocks at most … */
const LOOKS = 16;
/** … until one takes no longer. */
const SHORT_LOOK_MS = 1;

export class LiveLog {
  readonly log: LocalLog;
  readonly clusterId = randomBytes(ID_BYTES).toString('hex');
  /** Wall clock at the log's start, seconds. */
  readonly wallEpoch: number;
  /** Seconds of the clock of all links. */
  readonly now = monotonicClock();
  private readonly _spans = new WeakMap<Span, SpanId>();
  /**
   * For each open span, the watcher that writes its end. It is removed with the log, so that a span that is open for days does not hold
   * each log that ended in it.
   */
  private readonly _openSpans = new Map<Span, () => void>();
  private readonly _lanes = new Map<number, LaneId>();
  private readonly _workers = new Map<number, LocalWorker>();
  private readonly _capacity = new Map<number, number>();
  private _sealedAt: number;
  private _timer: NodeJS.Timeout | undefined;
  private _isEnded = false;
  private readonly _leaving: Leaving = {
    say: why => {
      if (!this._isEnded) {
        this._sink.endNow?.(why, this._leave());
      }
    },
    wait: limitMs => this._sink.waitNow?.(limitMs)
  };

  constructor(
    name: string,
    private readonly _sink: LogSink,
    capabilities: Readonly<Record<string, boolean>> = {}
  ) {
    const start = this.now();
    this._sealedAt = start;
    this.wallEpoch = wallSecondsAt(start);
    this.log = new LocalLog(start, ({ bytes }) =>
      _sink.write(bytes, this.now() - start)
    );
    const open = {
      logId: randomBytes(ID_BYTES).toString('hex'),
      clusterId: this.clusterId,
      name,
      kind: 'local',
      wallEpoch: this.wallEpoch,
      pid: process.pid,
      versions: { node: process.versions.node },
      capabilities: {
        waits: true,
        cpu: hasThreadCpu(),
        lanes: true,
        spans: true,
        // V8's profiler slows the thread that computes, and reports only when it stops.
        samples: false,
        memory: true,
        // No worker keeps results: they are their caller's.
        managed: false,
        ...capabilities
      }
    } as const;
    _sink.open({ ...open, start });
    this.log.header(open);
    this.worker(HOME, process.pid, 0, 'this process');
    this.capacity(HOME, 0);
    this.seal();
    atExit(this._leaving);
  }

  /** The log's id of a span; 0 for none. A span is written down with the first row that names it. */
  spanId(span: Span | null): SpanId {
    if (span === null) {
      return DEFAULT_SPAN;
    }
    let id = this._spans.get(span);
    if (id === undefined) {
      const { tag, opened, closed } = span;
      const parent = this.spanId(span.parent);
      id = this.log.span(parent, tag, opened);
      this._spans.set(span, id);
      const tell = (): void => {
        this._openSpans.delete(span);
        this.log.spanClosed(id!, parent, tag, opened, span.closed!);
        this.commit();
      };
      if (closed === null) {
        this._openSpans.set(span, tell);
        span.watch(tell);
      } else {
        tell();
      }
    }
    return id;
  }

  /** The id of a worker's place. */
  laneId(worker: number, at: number): LaneId {
    const place = Math.min(at, MOST_LANES - 1);
    const both = worker * 0x10000 + place;
    let lane = this._lanes.get(both);
    if (lane === undefined) {
      lane = this.log.lane(worker, place);
      this._lanes.set(both, lane);
    }
    return lane;
  }

  /** A process joins, or another one takes its place. */
  worker(worker: number, pid: number, threads: number, name: string): void {
    const row = {
      worker,
      pid,
      threads,
      name,
      host: hostname(),
      joined: this.now()
    };
    this._workers.set(worker, row);
    this.log.worker(row);
  }

  workerLeft(worker: number, why: string): void {
    const row = this._workers.get(worker);
    if (row !== undefined) {
      this.log.worker(row, this.now(), why);
    }
  }

  /** From now on so many tasks of a worker can run at a time. */
  capacity(worker: number, lanes: number): void {
    const threads = Math.min(lanes, MOST_LANES);
    if (this._capacity.get(worker) === threads) {
      return;
    }
    this._capacity.set(worker, threads);
    this.log.capacity(worker, threads, this.now());
    const row = this._workers.get(worker);
    if (row !== undefined && threads > row.threads) {
      const grown = { ...row, threads };
      this._workers.set(worker, grown);
      this.log.worker(grown);
    }
  }

  /**
   * Called after adding rows: they are sent at once if nothing was sent lately, else soon. A thread that computes may not come to its
   * timers for long, so most blocks are sent here.
   */
  commit(): void {
    const now = this.now();
    if (now - this._sealedAt >= SEAL_SECONDS) {
      this._seal(now);
      return;
    }
    const due = this.log.commit(now);
    if (due !== null && this._timer === undefined) {
      this._timer = setTimeout(
        () => {
          this._timer = undefined;
          this._seal(this.now());
        },
        Math.max(0, due - now) * 1000
      );
      this._timer.unref();
    }
  }

  /** Sends the added rows now. */
  seal(): void {
    this._seal(this.now());
  }

  async flush(): Promise<void> {
    this.seal();
    await this._sink.flush();
  }

  /** Twice is safe. */
  async end(why: LogEnd): Promise<void> {
    if (!this._isEnded) {
      try {
        await this._sink.end(why, this._leave());
      } finally {
        // Until then the process may not end without waiting.
        notAtExit(this._leaving);
      }
    }
  }

  /** As `end`, when nobody will get the log. */
  drop(): void {
    this._leave();
    notAtExit(this._leaving);
  }

  /** Sends the added rows; nothing is added after this. @returns the log's end, in seconds since its start. */
  private _leave(): number {
    this.seal();
    this._isEnded = true;
    clearTimeout(this._timer);
    this._openSpans.forEach((tell, span) => span.unwatch(tell));
    this._openSpans.clear();
    return this.log.since(this.now());
  }

  get isEnded(): boolean {
    return this._isEnded;
  }

  private _seal(now: number): void {
    this._sealedAt = now;
    if (!this._isEnded) {
      this.log.seal();
    }
  }
}

/**
 * Wall clock, seconds. The profilers' records count on from the process's start, finer than the clock is read; if the two have come apart,
 * because the clock was set or the machine slept, the clock counts.
 */
function wallSecondsAt(now: number): number {
  // As a `Profiler` tells the same moment.
  const counted = performance.timeOrigin + 1000 * (now - monotonicOffset());
  return (counted + wallClockAheadMs()) / 1000;
}

/**
 * By how much the wall clock is ahead of the profilers'; 0 unless they have come apart.
 *
 * The clock is read between two readings of theirs: if the process loses the core in between, they have not come apart for that.
 */
function wallClockAheadMs(): number {
  let before = -Infinity;
  let after = Infinity;
  let read = 0;
  for (let look = 0; look < LOOKS && after - before > SHORT_LOOK_MS; look++) {
    const earliest = performance.now();
    const wall = Date.now() - performance.timeOrigin;
    const latest = performance.now();
    if (latest - earliest < after - before) {
      [before, read, after] = [earliest, wall, latest];
    }
  }
  const isApart = read < before - APART_MS || read > after + APART_MS;
  return isApart ? read - (before + after) / 2 : 0;
}
