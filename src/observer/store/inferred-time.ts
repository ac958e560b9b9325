import type { Nanoseconds } from '../../base/brand';
import type { SpanId } from '../../records/ids';

type Times = { all: Nanoseconds; inferred: Nanoseconds };

/** How long runs of each span took, and how much of it was of tasks whose span is inferred. */
export class InferredTime {
  private readonly _bySpan = new Map<SpanId, Times>();

  add(span: SpanId, ns: Nanoseconds, isInferred: boolean): void {
    let times = this._bySpan.get(span);
    if (times === undefined) {
      times = { all: 0, inferred: 0 };
      this._bySpan.set(span, times);
    }
    times.all += ns;
    if (isInferred) {
      times.inferred += ns;
    }
  }

  /**
   * The times of some spans become those of others.
   *
   * @param into - by span: the other, or itself.
   */
  fold(into: ArrayLike<number>): void {
    for (const [span, { all, inferred }] of [...this._bySpan]) {
      const other = into[span] as SpanId;
      if (other !== span) {
        this._bySpan.delete(span);
        this.add(other, all - inferred, false);
        this.add(other, inferred, true);
      }
    }
  }

  /** Of the spans that pass; 0 if nothing ran there. */
  share(passes: (span: SpanId) => boolean): number {
    let all = 0;
    let inferred = 0;
    for (const [span, times] of this._bySpan) {
      if (passes(span)) {
        all += times.all;
        inferred += times.inferred;
      }
    }
    return all > 0 ? inferred / all : 0;
  }
}
