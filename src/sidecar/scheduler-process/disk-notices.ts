/** Tells the user once that the disk is full, however many workers report it. In the scheduler process. */

/** A notice is repeated only this long after the last problem of its kind. */
export const QUIET_SECONDS = 60;

export class DiskNotices {
  /** Workers that cannot write results. */
  private readonly _failing = new Set<number>();
  private _lastFailure = -Infinity;

  /**
   * A worker cannot write results to disk.
   *
   * @returns what the user is to be told; empty: nothing new.
   */
  failed(worker: number, why: string, now: number): string {
    const isNews =
      this._failing.size === 0 && now - this._lastFailure > QUIET_SECONDS;
    this._failing.add(worker);
    this._lastFailure = now;
    return isNews
      ? `worker-${worker}: ${why}. Results stay in memory until there is room again; workers whose memory is full wait for it.`
      : '';
  }

  /** A worker can write again, or is gone. */
  ended(worker: number): void {
    this._failing.delete(worker);
  }
}
