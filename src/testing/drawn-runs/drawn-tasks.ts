/** The tasks of a drawn run, with all that happened to each: by this a wrong outcome is told from a right one. */
import { FailureReason, type Amounts, type Restriction } from '../../scheduler';
import type { DrawnWork } from './drawn-worker';

/** What the graph says of a task. */
export type DrawnSpec = {
  /** Numbers of earlier tasks, counted over the whole run; one may stand there several times. */
  readonly inputs: readonly number[];
  /** How often it raises, kills its worker, asks to be run anew, before it succeeds; Infinity: always. */
  readonly raises: number;
  readonly kills: number;
  readonly reschedules: number;
  readonly secedes: boolean;
  readonly retries: number;
  readonly priority: number;
  readonly restriction: Restriction | null;
  readonly isData: boolean;
  readonly isWanted: boolean;
};

export class DrawnTask implements DrawnWork {
  readonly secedes: boolean;
  readonly need: Amounts;
  /** Its graph was refused. */
  isRefused = false;
  /** It may have been lost: a holder has died, lost it, or could not be reached. */
  mayBeLost = false;
  /** It could have been running on so many workers that died, or on one that was given up as hopeless. */
  deaths = 0;
  isHopeless = false;
  raised = 0;
  rescheduled = 0;
  killed = 0;
  /** Clients that want it. */
  readonly wantedBy = new Set<number>();
  /** By client, what it was told last: a `ReportStatus`, the cause, the reason. */
  readonly told = new Map<
    number,
    { status: number; cause: number; reason: number }
  >();
  isForgotten = false;

  /**
   * @param value - what its result must be; null: it cannot be computed.
   * @param isOrphan - it names an input that was gone when it came.
   */
  constructor(
    readonly number: number,
    readonly outer: number,
    readonly salt: number,
    readonly client: number,
    readonly generation: number,
    readonly spec: DrawnSpec,
    readonly isPlaced: boolean,
    readonly isOrphan: boolean,
    readonly value: number | null
  ) {
    this.secedes = spec.secedes;
    this.need = spec.restriction?.resources ?? {};
  }

  unwant(client: number): void {
    this.wantedBy.delete(client);
    // Data that nobody wants goes, though a graph whose last part has not come may need it.
    this.mayBeLost ||= this.wantedBy.size === 0;
  }

  next(): 'ok' | 'raise' | 'kill' | 'reschedule' {
    const { spec } = this;
    if (this.killed < spec.kills) {
      this.killed++;
      return 'kill';
    }
    if (this.rescheduled < spec.reschedules) {
      this.rescheduled++;
      return 'reschedule';
    }
    if (this.raised < spec.raises) {
      this.raised++;
      return 'raise';
    }
    return 'ok';
  }

  /** Why it cannot have failed for this reason; null: it can. */
  whyNot(
    reason: FailureReason,
    allowedFailures: number,
    mostReschedules: number,
    hasStalled: boolean
  ): string | null {
    const check = (is: boolean, sentence: string): string | null =>
      is ? null : sentence;
    switch (reason) {
      case FailureReason.Raised:
        return check(
          this.raised > this.spec.retries,
          `it has raised ${this.raised} times and may ${this.spec.retries} times`
        );
      case FailureReason.KilledWorker:
        return check(
          this.isHopeless || this.deaths > allowedFailures,
          `${this.deaths} workers have died under it, of ${allowedFailures} that may`
        );
      case FailureReason.Rescheduled:
        return check(
          this.rescheduled > mostReschedules,
          `it was rescheduled ${this.rescheduled} times, of ${mostReschedules} that are allowed`
        );
      case FailureReason.LostData:
        return check(
          this.isPlaced && this.mayBeLost,
          'nobody has lost it, or it is no data'
        );
      case FailureReason.LostDependencies:
        return check(this.isOrphan, 'its inputs were known when it came');
      case FailureReason.NoRoom:
        return check(this.isRefused, 'its graph was not refused');
      case FailureReason.Stalled:
        return check(hasStalled, 'no stall was given up');
      case FailureReason.None:
        return 'it has failed without a reason';
    }
  }
}
