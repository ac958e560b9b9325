import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

/** What ends once: afterwards it tells nobody of anything. */
export abstract class Disposing implements IDisposable {
  private _isDisposed = false;

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this.end();
      Signal.clearData(this);
    }
  }

  /** Ends what it has begun: timers, sockets, signals that it listens to. */
  protected abstract end(): void;
}
