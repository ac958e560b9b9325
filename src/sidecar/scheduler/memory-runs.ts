/** Labelled memory curves of the whole cluster, as `MemorySampler` asks for them. In the scheduler process. */
import type { EmbeddedClusterLog } from '../../sources';

/** What may be measured; unmanaged: the process's memory less the results kept in it. */
export type MemoryMeasure = 'process' | 'managed' | 'unmanaged' | 'spilled';

/** The newest measurement of one worker, in bytes. */
export type MemoryUse = {
  readonly process: number;
  readonly managed: number;
  readonly spilled: number;
};

/** All workers measure as often as the run that asks most. */
const SHORTEST_SECONDS = 0.01;

type MemoryRun = {
  readonly label: string;
  readonly measure: MemoryMeasure;
  readonly intervalSeconds: number;
  readonly start: number;
  readonly timer: NodeJS.Timeout;
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
      timer: setInterval(() => this._sample(id, run), intervalSeconds * 1000),
      t: [],
      bytes: []
    };
    this._runs.set(id, run);
    this._log.memoryRun(id, label, measure, intervalSeconds, start, null);
    this._sample(id, run);
  }

  /** @returns the samples as columns; none when no such run was on. */
  stop(id: number): { t: number[]; bytes: number[] } {
    const run = this._runs.get(id);
    if (run === undefined) {
      return { t: [], bytes: [] };
    }
    this._sample(id, run);
    this._end(id);
    this._log.memoryRun(
      id,
      run.label,
      run.measure,
      run.intervalSeconds,
      run.start,
      this._clock()
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
    clearInterval(this._runs.get(id)?.timer);
    this._runs.delete(id);
  }

  private _sample(id: number, run: MemoryRun): void {
    let bytes = 0;
    for (const use of this._uses()) {
      bytes +=
        run.measure === 'unmanaged'
          ? Math.max(0, use.process - use.managed)
          : use[run.measure];
    }
    const now = this._clock();
    run.t.push(now);
    run.bytes.push(bytes);
    this._log.memorySample(now, id, bytes);
  }
}
