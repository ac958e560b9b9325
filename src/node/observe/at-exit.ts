/** Ends all open logs when the process ends. They share one time limit, so that many hold the process no longer than one. */
import type { LogEnd } from './log-sink';

/** Time limit for all open logs to arrive. */
const EXIT_SECONDS = 5;

export type Leaving = {
  /** Says that the log ends; does not wait. */
  say(why: LogEnd): void;
  /** Waits until it has arrived, or until `limitMs` on the clock of `performance.now()`. */
  wait(limitMs: number): void;
};

// One per process (or thread), as its end is. With a listener for each log, Node would warn of a leak from the eleventh on.
const open = new Set<Leaving>();

function leave(): void {
  const limitMs = performance.now() + EXIT_SECONDS * 1000;
  const leaving = [...open];
  open.clear();
  // All are told first, so that they arrive side by side.
  leaving.forEach(each => each.say('kernel-ended'));
  leaving.forEach(each => each.wait(limitMs));
}

export function atExit(leaving: Leaving): void {
  if (open.size === 0) {
    process.on('exit', leave);
  }
  open.add(leaving);
}

export function notAtExit(leaving: Leaving): void {
  open.delete(leaving);
  if (open.size === 0) {
    process.off('exit', leave);
  }
}
