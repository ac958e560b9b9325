/** Runs in the sending thread: rows of `running` for tasks that take long. */
import type { LaneId } from '../../records/ids';
import type { RunningBoard, RunningTask } from './running-board';

/** Shorter ones would be over before anybody sees that they run. */
const LONG_SECONDS = 0.1;

export class RunningRows {
  /** By lane, the task that runs there according to the log. */
  private readonly _told: (RunningTask | undefined)[] = [];

  constructor(private readonly _board: RunningBoard) {}

  /** @param write - null: nothing runs there any more. */
  look(
    now: number,
    write: (lane: LaneId, task: RunningTask | null) => void
  ): void {
    for (let i = 0; i < this._board.lanes; i++) {
      const lane = i as LaneId;
      const told = this._told[lane];
      const task = this._board.read(lane);
      const isLong = task !== null && now - task.started >= LONG_SECONDS;
      if (isLong && task.node !== told?.node) {
        this._told[lane] = task;
        write(lane, task);
      } else if (told !== undefined && told.node !== task?.node) {
        this._told[lane] = undefined;
        write(lane, null);
      }
    }
  }
}
