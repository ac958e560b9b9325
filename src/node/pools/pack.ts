import type { Execution } from '../local/execution';
import type { Entry } from './batch';
import { Measures } from './task-meter';

/** Tasks that one run, the owner, has sent to one worker. */
export class Pack<Owner> {
  /** How many have an outcome; outcomes come in order. */
  received = 0;
  /** The worker's measurements of tasks that have no outcome yet, in order; see task-meter.ts. */
  private _rows: readonly number[] = [];
  /** Tasks of this pack are the entries before this one; those from here on were taken back. */
  end: number;

  /** @param taskMs - what a task of it is expected to take */
  constructor(
    readonly id: number,
    readonly owner: Owner,
    readonly entries: readonly Entry[],
    readonly cell: number,
    readonly taskMs: number,
    readonly measures: Measures
  ) {
    this.end = entries.length;
  }

  get left(): number {
    return this.end - this.received;
  }

  /**
   * Takes what the worker has measured of the next `count` tasks, which have outcomes now: as many numbers of each as the pack has asked for.
   *
   * @param measured - as a {@link TaskMeter} gives them; those of a task may come before its outcome
   */
  takeRows(measured: readonly number[], count: number): readonly number[] {
    const end = this.measures * count;
    if (this._rows.length === 0 && measured.length <= end) {
      return measured;
    }
    const all = this._rows.concat(measured);
    this._rows = all.slice(end);
    return all.slice(0, end);
  }

  /**
   * The next tasks as they ran, if the pack has asked for all measures. The last one may be known to have failed.
   *
   * @param rows - what {@link takeRows} gave
   */
  executions(
    workerId: number,
    rows: readonly number[],
    failure: { readonly error: unknown } | undefined,
    count: number
  ): Execution[] {
    const executions: Execution[] = [];
    for (let at = 0; at < rows.length / Measures.all; at++) {
      const row = Measures.all * at;
      executions.push({
        call: this.entries[this.received + at]!.call,
        workerId,
        start: rows[row]!,
        stop: rows[row + 1]!,
        cpu: rows[row + 2]!,
        nbytes: rows[row + 3]!,
        ...(failure !== undefined && at === count - 1 ? { failure } : {})
      });
    }
    return executions;
  }
}
