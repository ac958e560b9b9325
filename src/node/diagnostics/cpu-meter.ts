/** What the system says of one process at one moment. */
export type ProcessReading = {
  /** Different for two processes that had the same pid one after the other. */
  readonly id: string;
  /** CPU time since its start. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
};

/** The processes of a tree, found anew at every reading. */
export interface IProcessTree {
  read(): readonly ProcessReading[] | Promise<readonly ProcessReading[]>;
}

/** Shorter stretches say nothing: CPU time is counted in steps of 10 ms. */
const LEAST_SECONDS = 0.02;

/**
 * CPU time between two readings, as per cent of one core.
 *
 * ```
 *   process   reading 1    reading 2, 1 s later
 *   p         3.0 s        3.9 s                    + 90 %
 *   q         –            0.2 s                    + 20 %   it began in between: all its time is new
 *   r         8.0 s        –                        nothing: it is gone
 *                                                   110 %
 * ```
 */
export class CpuMeter {
  private _secondsById = new Map<string, number>();
  private _at = NaN;
  private _percent = 0;

  /** The reading that the next one is compared with. */
  prime(readings: readonly ProcessReading[], at: number): void {
    this._secondsById = new Map(
      readings.map(({ id, cpuSeconds }) => [id, cpuSeconds])
    );
    this._at = at;
    this._percent = 0;
  }

  percent(readings: readonly ProcessReading[], at: number): number {
    const seconds = at - this._at;
    if (seconds < LEAST_SECONDS) {
      return this._percent;
    }
    let used = 0;
    for (const { id, cpuSeconds } of readings) {
      used += Math.max(0, cpuSeconds - (this._secondsById.get(id) ?? 0));
    }
    this.prime(readings, at);
    this._percent = (100 * used) / seconds;
    return this._percent;
  }
}
