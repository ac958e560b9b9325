import type { SpanId } from '../records/ids';
import type { StoredKind } from '../records/enumerations';

/** One sum of {@link StoredSums}. */
type StoredSum = {
  readonly worker: number;
  readonly span: SpanId;
  readonly functionId: number;
  readonly kind: StoredKind;
  change: number;
};

/**
 * Bytes stored and released, added up per (worker, span, function, kind) until they are taken: thousands of results of a tick become a
 * few rows.
 */
export class StoredSums {
  private _sums = new Map<string, StoredSum>();
  private _last: StoredSum | null = null;

  /** @param change - signed bytes. */
  add(
    worker: number,
    span: SpanId,
    functionId: number,
    kind: StoredKind,
    change: number
  ): void {
    let sum = this._last;
    // Rows mostly belong to the same sum as the row before; then no key is made.
    if (
      sum === null ||
      sum.worker !== worker ||
      sum.span !== span ||
      sum.functionId !== functionId ||
      sum.kind !== kind
    ) {
      const key = `${worker}:${span}:${functionId}:${kind}`;
      sum = this._sums.get(key) ?? null;
      if (sum === null) {
        sum = { worker, span, functionId, kind, change: 0 };
        this._sums.set(key, sum);
      }
      this._last = sum;
    }
    sum.change += change;
  }

  /** The sums since the last call. */
  take(): StoredSum[] {
    if (this._sums.size === 0) {
      return [];
    }
    const sums = [...this._sums.values()];
    this._sums.clear();
    this._last = null;
    return sums;
  }
}
