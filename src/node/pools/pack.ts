import type { Execution } from '../local/execution';
import type { Entry } from './batch';
import type { PoolExecutor } from './pool-executor';
import { MEASURES } from './task-meter';

/** Tasks that one run has sent to one worker. */
export class Pack {
  /** How many have an outcome; they get theirs in order. */
  received = 0;
  /** What the worker has measured of tasks that have no outcome yet, in order; see task-meter.ts. */
  private _measures: readonly number[] = [];
  /** Tasks of this pack are the entries before this one; those from here on were taken back. */
  end: number;

  /** @param taskMs - what a task of it is expected to take */
  constructor(
    readonly id: number,
    readonly owner: PoolExecutor,
    readonly entries: readonly Entry[],
    readonly cell: number,
    readonly taskMs: number
  ) {
    this.end = entries.length;
  }

  get left(): number {
    return this.end - this.received;
  }

  /**
   * Takes what the worker has measured of the next tasks, of the last of which it may be known that it failed.
   *
   * @param measures - as a {@link TaskMeter} gives them; those of a task may come before its outcome
   */
  takeExecutions(
    workerId: number,
    measures: readonly number[],
    count: number,
    failure: { readonly error: unknown } | undefined
  ): Execution[] {
    const all = this._measures.concat(measures);
    const executions: Execution[] = [];
    for (let at = 0; at < count; at++) {
      const [start, stop, cpu, nbytes] = all.slice(
        MEASURES * at,
        MEASURES * (at + 1)
      );
      if (start === undefined) {
        break;
      }
      executions.push({
        call: this.entries[this.received + at]!.call,
        workerId,
        start,
        stop: stop!,
        cpu: cpu!,
        nbytes: nbytes!,
        ...(failure !== undefined && at === count - 1 ? { failure } : {})
      });
    }
    this._measures = all.slice(MEASURES * count);
    return executions;
  }
}
