import { TaskState } from './task-state';

/** One line of a task's story. */
export type StoryLine = {
  readonly task: number;
  readonly from: keyof typeof TaskState;
  readonly to: keyof typeof TaskState;
  /** The event that caused it: its number since the start, its type and its time. */
  readonly event: number;
  readonly cause: string;
  readonly at: number;
};

/** Told of a move while the task's columns are still those of before. */
export type MoveListener = (
  task: number,
  from: TaskState,
  to: TaskState
) => void;

/**
 * The newest transitions, in a ring of typed arrays: 17 bytes each, nothing allocated while running.
 */
export class TransitionLog {
  private _task: Int32Array;
  private _move: Uint8Array;
  private _cause: Uint8Array;
  private _event: Uint32Array;
  private _at: Float64Array;
  private _written = 0;
  private _causes: string[] = [];
  private _causeIds = new Map<string, number>();
  private _currentCause = 0;
  private _currentEvent = 0;
  private _currentAt = 0;
  /** Hears of each move before it is made; null: nobody listens. */
  onMove: MoveListener | null = null;

  /** @param _capacity - how many transitions are kept. */
  constructor(private readonly _capacity: number) {
    this._task = new Int32Array(_capacity);
    this._move = new Uint8Array(_capacity);
    this._cause = new Uint8Array(_capacity);
    this._event = new Uint32Array(_capacity);
    this._at = new Float64Array(_capacity);
  }

  /** The number of the present event, counted from 1. */
  get event(): number {
    return this._currentEvent;
  }

  /** How many transitions fell out of the ring. */
  get dropped(): number {
    return Math.max(0, this._written - this._capacity);
  }

  /** Transitions recorded from now on belong to a new event. */
  begin(cause: string, at: number): void {
    let id = this._causeIds.get(cause);
    if (id === undefined) {
      id = this._causes.push(cause) - 1;
      this._causeIds.set(cause, id);
    }
    this._currentCause = id;
    this._currentEvent++;
    this._currentAt = at;
  }

  record(task: number, from: TaskState, to: TaskState): void {
    const row = this._written++ % this._capacity;
    this._task[row] = task;
    this._move[row] = (from << 4) | to;
    this._cause[row] = this._currentCause;
    this._event[row] = this._currentEvent;
    this._at[row] = this._currentAt;
    if (this.onMove !== null) {
      this.onMove(task, from, to);
    }
  }

  /** The kept transitions of one task (of all its id's owners), oldest first. */
  story(task: number): StoryLine[] {
    const lines: StoryLine[] = [];
    for (let i = this.dropped; i < this._written; i++) {
      const row = i % this._capacity;
      if (this._task[row] === task) {
        lines.push({
          task,
          from: stateName(this._move[row]! >> 4),
          to: stateName(this._move[row]! & 15),
          event: this._event[row]!,
          cause: this._causes[this._cause[row]!]!,
          at: this._at[row]!
        });
      }
    }
    return lines;
  }
}

function stateName(state: number): keyof typeof TaskState {
  return TaskState[state] as keyof typeof TaskState;
}

/** A story as text, one line each: `#12 tasksFinished at 0.250 s: Processing → Memory`. */
export function formatStory(lines: readonly StoryLine[]): string {
  return lines
    .map(
      line =>
        `#${line.event} ${line.cause} at ${line.at.toFixed(6)} s: ${line.from} → ${line.to}`
    )
    .join('\n');
}
