/** The process that a log comes from, as far as this machine can tell. In the observer process. */
import { isEnding, processStat, UNTOLD } from '../process-stat';

/** Process numbers are positive and at most this large; 0 and negative ones would mean groups of processes. */
const LARGEST_PID = 2 ** 31 - 1;

/**
 * Looks at the process once while it surely lives, when it says hello, and compares later: its number may be given to another process. A
 * process of another machine or container cannot be seen from here, so nothing is known of it.
 */
export class SourceProcess {
  private readonly _atHello: string | null;

  constructor(private readonly _pid: number) {
    const looks = this._looks();
    this._atHello = looks === UNTOLD ? null : looks;
  }

  /** Whether its life can be seen from here. */
  get isSeen(): boolean {
    return this._atHello !== null;
  }

  /** It has ended or is about to: a killed process that its parent has not waited for counts as ended. */
  get isGone(): boolean {
    if (this._atHello === null) {
      return false;
    }
    const looks = this._looks();
    return looks !== UNTOLD && looks !== this._atHello;
  }

  /**
   * A fact that stays the same for as long as the process lives. Null: it is not here. UNTOLD: this cannot be read now, so the process is
   * taken to live.
   */
  private _looks(): string | null {
    if (this._pid < 1 || this._pid > LARGEST_PID) {
      return null;
    }
    return process.platform === 'linux'
      ? startedAt(this._pid)
      : answers(this._pid)
        ? 'here'
        : null;
  }
}

/** Its start, in ticks since the system's start; null: no process has this number, or it ends just now or waits for its parent. */
function startedAt(pid: number): string | null {
  const words = processStat(pid);
  if (words === UNTOLD) {
    return UNTOLD;
  }
  return words === null || isEnding(words) ? null : (words[19] ?? null);
}

function answers(pid: number): boolean {
  try {
    // Signal 0 only asks.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
