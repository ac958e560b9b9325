/** Whether anybody looks: pages, and programs that ask. In the observer process. */

/** A program that asks now and then has a link for each question: sources are not told of every one. */
const LINGER_MILLISECONDS = 2000;

export class Viewers {
  private _count = 0;
  private _isAny = false;
  private _linger: NodeJS.Timeout | undefined;
  private readonly _listeners = new Set<() => void>();

  constructor(private readonly _lingerMilliseconds = LINGER_MILLISECONDS) {}

  /** Whether there is one, or was just now. */
  get isAny(): boolean {
    return this._isAny;
  }

  came(): void {
    this._count++;
    clearTimeout(this._linger);
    this._set(true);
  }

  left(): void {
    this._count--;
    if (this._count === 0) {
      this._linger = setTimeout(
        () => this._set(false),
        this._lingerMilliseconds
      ).unref();
    }
  }

  /** `listener` is called when the first has come, and some time after the last has left; returns a function that unsubscribes it. */
  onChange(listener: () => void): () => void {
    this._listeners.add(listener);
    return () => this._listeners.delete(listener);
  }

  dispose(): void {
    clearTimeout(this._linger);
    this._listeners.clear();
  }

  private _set(isAny: boolean): void {
    if (isAny !== this._isAny) {
      this._isAny = isAny;
      for (const listener of this._listeners) {
        listener();
      }
    }
  }
}
