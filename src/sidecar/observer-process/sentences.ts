/** The sentences that the observer says to people. */

import type { Outage } from '../../observer/store/log-store';
import { formatCount, formatDuration } from '../../panels/format';

export type EndWhy =
  | 'closed'
  | 'kernel-ended'
  | 'scheduler-lost'
  | 'stopped'
  | 'idle';

const BECAUSE: Readonly<Record<Exclude<EndWhy, 'scheduler-lost'>, string>> = {
  closed: 'the client was closed',
  'kernel-ended': 'the kernel or program that started it has ended',
  stopped: 'stopped by you',
  idle: 'idle for 30 min'
};

/** What is observed in a kernel or script has no scheduler of its own that could be closed or lost. */
const LOCAL_BECAUSE: Readonly<Record<EndWhy, string>> = {
  ...BECAUSE,
  closed: 'observing has ended',
  'kernel-ended': 'its process has ended',
  'scheduler-lost': 'its process was lost'
};

export function endedSentence(
  why: EndWhy,
  wallSeconds: number,
  kind: 'embedded' | 'dask' | 'local' | 'recording' = 'embedded',
  told = ''
): string {
  const clock = clockOf(wallSeconds);
  if (kind === 'local') {
    return `Ended at ${clock}: ${LOCAL_BECAUSE[why]}. The history is kept.`;
  }
  return why === 'scheduler-lost' && told === ''
    ? `The scheduler stopped at ${clock}. Its tasks are lost, the history is kept.`
    : `Ended at ${clock}: ${told || BECAUSE[why as keyof typeof BECAUSE]}. The history is kept.`;
}

/** Of a cluster that is not the source's own, and may go on. @param because - half a sentence */
export function unwatchedSinceSentence(
  wallSeconds: number,
  because: string
): string {
  return `Not watched since ${clockOf(wallSeconds)}: ${because}. The history is kept.`;
}

export const WATCHER_LOST =
  'the kernel or program that watched the cluster was lost';

/** @param isAlive - whether the process that computes lives. */
export function reconnectingSentence(
  newestSeconds: number,
  isAlive: boolean
): string {
  const goesOn = isAlive ? '; your computation goes on' : '';
  return `Reconnecting. Figures are from ${formatDuration(newestSeconds)}${goesOn}.`;
}

/** A Dask scheduler without an answer of use to its viewer, which is there. @param outage - its times are of the wall clock */
export function unreachableSentence(
  { since, because, until, hasAnswered }: Outage,
  newestSeconds: number
): string {
  const has = hasAnswered ? 'has answered nothing of use' : 'has not answered';
  return (
    `Reconnecting: the scheduler ${has} since ${clockOf(since)} (${because}). ` +
    `Figures are from ${formatDuration(newestSeconds)}; it is tried again until ${clockOf(until)}.`
  );
}

export function unwatchedSentence(from: number, to: number): string {
  return `What ran while nobody watched is missing: between ${formatDuration(from)} and ${formatDuration(to)}.`;
}

export function droppedSentence(runs: number, beforeSeconds: number): string {
  return `${formatCount(runs)} task runs before ${formatDuration(beforeSeconds)} are kept only as totals.`;
}

export function lostSentence(runs: number, beforeSeconds: number): string {
  const what =
    runs > 0 ? `${formatCount(runs)} task runs` : 'Some measurements';
  return `${what} before ${formatDuration(beforeSeconds)} are missing: they did not reach the observer.`;
}

export function lostSumsSentence(rows: number, fromSeconds: number): string {
  return `${formatCount(rows)} changes of fine performance metrics from ${formatDuration(fromSeconds)} on are missing: there are more different ones than are kept.`;
}

export function beforeSentence(attachedSeconds: number): string {
  return `The first ${formatDuration(attachedSeconds)} were before Spanwise was attached: of these only what Dask had recorded is shown.`;
}

/** @param ahead - seconds; less than 0: behind. */
export function clockSentence(ahead: number): string {
  const apart = `${formatDuration(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'}`;
  return `The scheduler’s clock is ${apart} JupyterLab’s: times of day are JupyterLab’s here, the scheduler’s in Python.`;
}

export function forgottenSentence(name: string): string {
  return `The history of ${name} was dropped: the observer keeps the newest clusters within its memory.`;
}

/** The sentence about a cluster that was turned away; its client gets the same advice. */
export function refusedSourceSentence(theirs: number, own: number): string {
  const older = theirs < own ? 'the notebook' : 'JupyterLab';
  return (
    `A cluster cannot be shown: its Spanwise speaks protocol ${theirs}, the one beside JupyterLab ${own}. ` +
    `Run "pip install --upgrade spanwise" in the environment of ${older} and restart it.`
  );
}

export function begunAnewSentence(name: string): string {
  return `${name} has begun a new history.`;
}

export function unknownClusterSentence(cluster: string): string {
  return `No cluster ${cluster} is known here. Run the cell again, or choose another cluster.`;
}

export function notArrivedSentence(seq: number, have: number): string {
  return `Measurements up to block ${seq} did not arrive within 10 s; the newest here is ${have}. Ask again, or look at the scheduler's log.`;
}

export function unknownWatchSentence(id: number): string {
  return `There is no watch ${id} on this link: send "watch" first.`;
}

export function tilesGivenUpSentence(most: number): string {
  return `More than ${most.toLocaleString('en')} tiles wait for this page: the oldest were given up. Ask again for those in view.`;
}

export function longFilterSentence(bytes: number, most: number): string {
  return `The filter and the parameters take ${bytes.toLocaleString('en')} characters, ${most.toLocaleString('en')} at most: select fewer functions or spans.`;
}

export function foldFailedSentence(view: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `${view} could not be computed: ${message}.`;
}

export function openFirstSentence(): string {
  return 'A source says "open" before it sends blocks.';
}

/** `09:21:40`, in the time zone of this machine. */
function clockOf(wallSeconds: number): string {
  const date = new Date(wallSeconds * 1000);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map(part => String(part).padStart(2, '0'))
    .join(':');
}
