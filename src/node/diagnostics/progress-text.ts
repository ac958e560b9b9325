import type { RunState } from '../local/state';
import { formatDuration } from './format-duration';

/** How far a run is: tasks finished, of those that will run. Data is not counted, aliases are. */
export type Progress = { readonly finished: number; readonly total: number };

export function progressOf(state: RunState): Progress {
  const finished = state.finished.size;
  return {
    finished,
    total:
      finished + state.ready.length + state.waiting.size + state.running.size
  };
}

/** 0…1; a run that has nothing to do is complete. */
export function fractionOf({ finished, total }: Progress): number {
  return total === 0 ? 1 : finished / total;
}

/** `[####    ] | 50% Completed | 1.20 s`; bar and per cent are cut, not rounded, so that 100% means all. */
export function barText(
  fraction: number,
  seconds: number,
  width: number
): string {
  const bar = '#'.repeat(Math.floor(width * fraction)).padEnd(width);
  return `[${bar}] | ${percentOf(fraction)}% Completed | ${formatDuration(seconds)}`;
}

/** A whole line for logs: `50% Completed | 6 of 12 tasks | 1.20 s`. */
export function lineText(
  progress: Progress,
  fraction: number,
  seconds: number
): string {
  return `${percentOf(fraction)}% Completed | ${progress.finished} of ${progress.total} tasks | ${formatDuration(seconds)}`;
}

export function percentOf(fraction: number): number {
  return Math.floor(100 * fraction);
}
