/** Labelled memory curves of the whole cluster, as `MemorySampler` asks for them. In the scheduler process. */
import type { MemoryMeasure } from '../../records/enumerations';
import { measureMemory, type MemoryUse } from '../../records/memory-measures';
import type { EmbeddedClusterLog } from '../../sources';

/** The shortest interval of a run: all workers measure as often as the run with the shortest interval asks. */
const SHORTEST_SECONDS = 0.01;
/** A sample sooner than this after another says nothing new, since workers do not measure so often. */
const DOUBLE_SECONDS = 0.001;

type MemoryRun = {
  readonly label: string;
  readonly measure: MemoryMeasure;
  readonly intervalSeconds: number;
  readonly start: number;
  timer: NodeJS.Timeout | undefined;
  readonly t: number[];
  readonly bytes: number[];
};

export class MemoryRuns {
  private readonly _runs = new Map<number, MemoryRun>();

  /** @param _uses - the newest measurement of every worker. */
  constructor(
    private readonly _log: EmbeddedClusterLog,
    private readonly _clock: () => number,
    private readonly _uses: () => Iterable<MemoryUse>
  ) {}

  /** The shortest interval of the runs that are on, or null: none is. */
  get shortestSeconds(): number | null {
    let shortest: number | null = null;
    for (const { intervalSeconds } of this._runs.values()) {
      shortest = Math.min(shortest ?? Infinity, intervalSeconds);
    }
    return shortest;
  }

  start(
    id: number,
    label: string,
    measure: MemoryMeasure,
    wantedSeconds: number
  ): void {
    this._end(id);
    // Written so that NaN is too short, too.
    const intervalSeconds =
      wantedSeconds > SHORTEST_SECONDS ? wantedSeconds : SHORTEST_SECONDS;
    const start = this._clock();
    const run: MemoryRun = {
      label,
      measure,
      intervalSeconds,
      start,
      timer: undefined,
      t: [],
      bytes: []
    };
    this._runs.set(id, run);
    this._log.memoryRun(id, label, measure, intervalSeconds, start, null);
    this._sample(id, run, start);
    this._goOn(id, run);
  }

  /** @returns the samples as columns; none when no such run was on. */
  stop(id: number): { t: number[]; bytes: number[] } {
    const run = this._runs.get(id);
    if (run === undefined) {
      return { t: [], bytes: [] };
    }
    const stopped = this._clock();
    // Start and end are sampled, however short the block is.
    const isDouble =
      run.t.length > 1 && stopped - run.t.at(-1)! < DOUBLE_SECONDS;
    if (!isDouble) {
      this._sample(id, run, stopped);
    }
    this._end(id);
    this._log.memoryRun(
      id,
      run.label,
      run.measure,
      run.intervalSeconds,
      run.start,
      stopped
    );
    return { t: run.t, bytes: run.bytes };
  }

  /** The cluster ends: what still runs has stopped, and the log says so. */
  close(): void {
    for (const id of [...this._runs.keys()]) {
      this.stop(id);
    }
  }

  private _end(id: number): void {
    clearTimeout(this._runs.get(id)?.timer);
    this._runs.delete(id);
  }

  /**
   * The next sample is due at the next whole interval since the start. The time is checked by our clock: Node counts a timer from the start
   * of its turn of the event loop, which may be long ago.
   */
  private _goOn(id: number, run: MemoryRun): void {
    const { start, intervalSeconds } = run;
    // `due` and the wait come from one reading of the clock, so that rounding never makes the sample early.
    const wait = (due: number, from: number): void => {
      run.timer = setTimeout(
        () => {
          const now = this._clock();
          if (now < due) {
            return wait(due, now);
          }
          this._sample(id, run, now);
          this._goOn(id, run);
        },
        (due - from) * 1000
      );
    };
    const now = this._clock();
    let next = Math.floor((now - start) / intervalSeconds) + 1;
    // The quotient may be rounded down to just below the interval that begins now.
    while (start + next * intervalSeconds <= now) {
      next++;
    }
    wait(start + next * intervalSeconds, now);
  }

  private _sample(id: number, run: MemoryRun, now: number): void {
    let bytes = 0;
    for (const use of this._uses()) {
      bytes += measureMemory(run.measure, use);
    }
    run.t.push(now);
    run.bytes.push(bytes);
    this._log.memorySample(now, id, bytes);
  }
}
