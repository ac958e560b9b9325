/** Runs folds in slices between reads of the sockets. In the observer process. */
import type { Slices } from '../../observer/folds/context';

/** How long folds may keep the process from its sockets: rows that come in wait no longer than this. */
const TURN_MILLISECONDS = 8;
/** How long one asker's folds go on before the next asker's do: of twenty pages each waits 40 ms at most for its turn. */
const SHARE_MILLISECONDS = 2;
/** One in this many turns of an asker goes to a job that is not urgent, if the asker has both kinds. */
const ORDINARY_EVERY = 4;

/** The asker has gone, or asks for something else by now. Nobody waits for the answer, so callers catch and drop this error. */
export class NotWanted extends Error {
  override readonly name = 'NotWanted';
}

/** A fold under way. */
export class Job<R = unknown> {
  readonly result: Promise<{
    readonly value: R;
    readonly milliseconds: number;
  }>;
  isOver = false;
  private _done!: (value: R) => void;
  private _failed!: (error: unknown) => void;
  private _milliseconds = 0;

  constructor(
    private readonly _slices: Slices<R>,
    private readonly _isWanted: () => boolean
  ) {
    this.result = new Promise((resolve, reject) => {
      this._done = value =>
        resolve({ value, milliseconds: this._milliseconds });
      this._failed = reject;
    });
  }

  /** Runs the fold on until the clock `now` says `end`, or until the fold is over. */
  advance(end: number, now: () => number): void {
    if (!this._isWanted()) {
      this.isOver = true;
      this._failed(new NotWanted());
      return;
    }
    const start = now();
    try {
      let step = this._slices.next();
      while (step.done !== true && now() < end) {
        step = this._slices.next();
      }
      this._milliseconds += now() - start;
      if (step.done === true) {
        this.isOver = true;
        this._done(step.value);
      }
    } catch (error) {
      this.isOver = true;
      this._failed(error);
    }
  }
}

/** The jobs that one asker waits for. */
class Line {
  private readonly _urgent: Job[] = [];
  private readonly _ordinary: Job[] = [];
  private _turns = 0;

  add(job: Job, urgent: boolean): void {
    (urgent ? this._urgent : this._ordinary).push(job);
  }

  /** The job of this turn; undefined: nothing waits. */
  next(): Job | undefined {
    const urgent = firstOf(this._urgent);
    const ordinary = firstOf(this._ordinary);
    return ordinary !== undefined && this._turns % ORDINARY_EVERY === 3
      ? ordinary
      : (urgent ?? ordinary);
  }

  endTurn(): void {
    this._turns++;
  }
}

/** The first job that is not over. A job may stand in the lines of several askers: the turn of each carries it on. */
function firstOf(jobs: Job[]): Job | undefined {
  while (jobs[0]?.isOver === true) {
    jobs.shift();
  }
  return jobs[0];
}

/** The asker of the process's own jobs, and of jobs without one. */
const NOBODY = {};

export type Asker = {
  /** Whose turn the job takes, such as a page. */
  readonly owner: object;
  /** Checked before each turn; a job that no asker wants any more is dropped. */
  isWanted(): boolean;
};
const always: Asker = { owner: NOBODY, isWanted: () => true };

/**
 * Queues of folds, one for each asker. Each turn of the event loop gives them 8 ms, 2 ms to one asker after another, and then the sockets
 * are read: taking rows in has priority over answering, and no page waits longer because another one asks for much. Within an asker's
 * queue urgent folds come first.
 */
export class WorkQueue {
  /** In the order of their turns. */
  private readonly _lines = new Map<object, Line>();
  private _scheduled = false;

  /** @param _now - milliseconds of the clock that shares are measured by. */
  constructor(private readonly _now: () => number = () => performance.now()) {}

  /** Runs a fold. `milliseconds` is the time that the fold itself took, so that callers can limit how often they ask. */
  run<R>(
    slices: Slices<R>,
    urgent = false,
    asker: Asker = always
  ): Promise<{ readonly value: R; readonly milliseconds: number }> {
    const job = new Job(slices, () => asker.isWanted());
    this.join(job, urgent, asker.owner);
    return job.result;
  }

  /** Another asker waits for this job: it stands in that asker's line as well. */
  join<R>(job: Job<R>, urgent: boolean, owner: object): void {
    let line = this._lines.get(owner);
    if (line === undefined) {
      line = new Line();
      this._lines.set(owner, line);
    }
    line.add(job as Job, urgent);
    this._schedule();
  }

  private _schedule(): void {
    if (!this._scheduled) {
      this._scheduled = true;
      setImmediate(() => this._turn());
    }
  }

  private _turn(): void {
    this._scheduled = false;
    const end = this._now() + TURN_MILLISECONDS;
    for (const [owner, line] of this._lines) {
      const now = this._now();
      if (now >= end) {
        break;
      }
      const stop = Math.min(end, now + SHARE_MILLISECONDS);
      let job = line.next();
      while (job !== undefined) {
        // (one slice at least, however little time the others have left: whose turn passes without one is the last again)
        job.advance(stop, this._now);
        job = this._now() < stop ? line.next() : undefined;
      }
      line.endTurn();
      this._lines.delete(owner);
      if (line.next() !== undefined) {
        // It goes to the end of the queue; this loop comes to it again if there is time.
        this._lines.set(owner, line);
      }
    }
    if (this._lines.size > 0) {
      this._schedule();
    }
  }
}
