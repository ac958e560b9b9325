import { PATIENCE_SECONDS } from './former-tasks';

/** How long runs that nobody waits for have held what others need, and whether that was told. Looks come a second apart: what was free between two of them shows by who holds it then. */
export class HeldSpell {
  isTold = false;
  private _begin: number;
  private _newest: number;

  /**
   * @param now - of the look that found it, in seconds.
   * @param newest - when the newest of these runs was given up.
   */
  constructor(now: number, newest: number) {
    this._begin = now;
    this._newest = newest;
  }

  /** Another look finds it. @returns whether it is to be told now, which is said once. */
  look(now: number, newest: number): boolean {
    if (newest > this._newest) {
      this._begin = now;
      this.isTold = false;
    }
    this._newest = newest;
    const isToBeTold = !this.isTold && now - this._begin >= PATIENCE_SECONDS;
    this.isTold ||= isToBeTold;
    return isToBeTold;
  }
}
