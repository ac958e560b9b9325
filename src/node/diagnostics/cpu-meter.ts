import { cpus } from 'node:os';

/** The system's figures for one process at one moment. */
export type ProcessReading = {
  /** Different for two processes that had the same pid one after the other. */
  readonly id: string;
  /** CPU time since its start. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
};

/** The processes of a tree, looked up at every reading. */
export interface IProcessTree {
  read(): readonly ProcessReading[] | Promise<readonly ProcessReading[]>;
}

/** Shorter stretches are too coarse: CPU time is counted in steps of 10 ms. */
const LEAST_SECONDS = 0.02;
/** One of those steps: by so much a process may seem to have used more than it did. */
const STEP_SECONDS = 0.01;
/** A process counts as gone only this long after it was last seen: the lists of /proc may leave out one process while another ends. */
const GONE_SECONDS = 60;

/**
 * CPU time between two readings, as per cent of one core.
 *
 * ```
 *   process   reading 1    reading 2, 1 s later
 *   p         3.0 s        3.9 s                    + 90 %
 *   q         –            0.2 s                    + 20 %   it began in between: all its time is new
 *   r         8.0 s        –                        nothing: it is gone, or left out this time
 *                                                   110 %
 * ```
 */
export class CpuMeter {
  private _lastById = new Map<string, { cpuSeconds: number; at: number }>();
  private _at = NaN;
  private _percent = 0;

  /** @param _cores - a process that began since the reading before cannot have used more than all of them */
  constructor(private readonly _cores = cpus().length || Infinity) {}

  /** The reading that the next one is compared with. */
  prime(readings: readonly ProcessReading[], at: number): void {
    this._lastById.clear();
    this._note(readings, at);
    this._percent = 0;
  }

  percent(readings: readonly ProcessReading[], at: number): number {
    const seconds = at - this._at;
    if (seconds < LEAST_SECONDS) {
      return this._percent;
    }
    const most = seconds * this._cores + STEP_SECONDS;
    let used = 0;
    for (const { id, cpuSeconds } of readings) {
      const last = this._lastById.get(id);
      used +=
        last === undefined
          ? Math.min(cpuSeconds, most)
          : Math.max(0, cpuSeconds - last.cpuSeconds);
    }
    this._note(readings, at);
    this._percent = (100 * used) / seconds;
    return this._percent;
  }

  private _note(readings: readonly ProcessReading[], at: number): void {
    for (const { id, cpuSeconds } of readings) {
      this._lastById.set(id, { cpuSeconds, at });
    }
    for (const [id, last] of this._lastById) {
      if (at - last.at > GONE_SECONDS) {
        this._lastById.delete(id);
      }
    }
    this._at = at;
  }
}
