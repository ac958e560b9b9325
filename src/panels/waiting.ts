/** How many tasks wait, for what, and what to do: for the status bar, the sidebar, the strips above the panels and panels that have nothing to show. */
import type { Trans } from '../base/trans';
import type { ClusterInfo, WaitingFor } from '../wire/panel-link';
import { formatCount, runningText } from './format';
import type { PanelStrip } from './state-view';

/** They have one notice. */
const UNPLACED: ReadonlySet<WaitingFor['reason']> = new Set([
  'no-worker',
  'no-named',
  'no-resource',
  'unplaced'
]);
/** None of these begins without somebody's doing, or before memory is free. */
const STUCK: typeof UNPLACED = new Set([...UNPLACED, 'paused']);

/** How many tasks wait; 0 also where it is not known. */
export function waitingCount({ waiting = [] }: ClusterInfo): number {
  return waiting.reduce((sum, { tasks }) => sum + tasks, 0);
}

/** Whether any runs or waits. */
export function hasTasksNow(cluster: ClusterInfo): boolean {
  return cluster.running > 0 || waitingCount(cluster) > 0;
}

/** "8 running", "8 running, 3 of them cancelled, 12 waiting", "0 running, 12 waiting". */
export function tasksNowText(cluster: ClusterInfo, trans: Trans): string {
  const waiting = waitingCount(cluster);
  const running = runningText(cluster.running, cluster.runningCancelled, trans);
  return waiting === 0
    ? running
    : trans.__('%1, %2 waiting', running, formatCount(waiting));
}

/** "12 waiting"; '': none does. */
export function waitingText(cluster: ClusterInfo, trans: Trans): string {
  const waiting = waitingCount(cluster);
  return waiting === 0 ? '' : trans.__('%1 waiting', formatCount(waiting));
}

/** For what they wait: a sentence for each reason, what begins by itself last. */
export function waitingLines(cluster: ClusterInfo, trans: Trans): string[] {
  return worstFirst(cluster).map(each => waitingSentence(each, trans));
}

/** The observer tells what is done by the cluster itself first. */
function worstFirst({ waiting = [] }: ClusterInfo): readonly WaitingFor[] {
  return [...waiting].reverse();
}

/** Whether tasks wait that do not begin by themselves; paused workers included. */
export function waitsInVain({ waiting = [] }: ClusterInfo): boolean {
  return waiting.some(
    ({ reason, told }) => told !== undefined || STUCK.has(reason)
  );
}

/** Why nothing is to be seen yet, and what to do: the notices, and sentences on what they are not about. */
export function whyNoneRuns(cluster: ClusterInfo, trans: Trans): string {
  return notices(cluster)
    .flatMap(({ rows, told }) =>
      told.length > 0 ? told : rows.map(row => waitingSentence(row, trans))
    )
    .join(' ');
}

/** Tasks that wait in vain, once users were told of them: how many, why, and what to do. */
export function waitingStrips(
  cluster: ClusterInfo,
  trans: Trans
): PanelStrip[] {
  return notices(cluster)
    .filter(({ told }) => told.length > 0)
    .map(({ rows, told }) => ({
      key: `waiting ${rows[0]!.reason}`,
      tone: 'warning',
      sentence: rows.map(row => waitingSentence(row, trans)).join(' '),
      details: {
        label: trans.__('What to do'),
        lines: told,
        commands: rows.flatMap(({ command }) => command ?? [])
      }
    }));
}

/** What waits, by the notice that is about it; `told` is empty where there is none. */
function notices(cluster: ClusterInfo): {
  readonly rows: readonly WaitingFor[];
  readonly told: readonly string[];
}[] {
  const waiting = worstFirst(cluster);
  const unplaced = waiting.filter(({ reason }) => UNPLACED.has(reason));
  const others = waiting.filter(({ reason }) => !UNPLACED.has(reason));
  return [
    ...(unplaced.length > 0 ? [unplaced] : []),
    ...others.map(each => [each])
  ].map(rows => ({ rows, told: rows.flatMap(({ told }) => told ?? []) }));
}

/** @returns what can be pasted to help those that wait in vain, of the first that has something. */
export function remedy({ waiting = [] }: ClusterInfo): string | null {
  return (
    waiting.findLast(({ command }) => command !== undefined)?.command ?? null
  );
}

function waitingSentence(
  { reason, tasks, told, need }: WaitingFor,
  trans: Trans
): string {
  const count = formatCount(tasks);
  const behind = need === undefined ? '' : ` (${need})`;
  switch (reason) {
    case 'input':
      return trans._n(
        '%2 task waits for its inputs.',
        '%2 tasks wait for their inputs.',
        tasks,
        count
      );
    case 'thread':
      return told === undefined
        ? trans._n(
            '%2 task waits for a free thread.',
            '%2 tasks wait for a free thread.',
            tasks,
            count
          )
        : trans._n(
            '%2 task waits for a thread: all are held by tasks that were cancelled or released.',
            '%2 tasks wait for a thread: all are held by tasks that were cancelled or released.',
            tasks,
            count
          );
    case 'resource':
      return told === undefined
        ? trans._n(
            '%2 task waits for resources that others have%3.',
            '%2 tasks wait for resources that others have%3.',
            tasks,
            count,
            behind
          )
        : trans._n(
            '%2 task waits for resources that are held by tasks which were cancelled or released%3.',
            '%2 tasks wait for resources that are held by tasks which were cancelled or released%3.',
            tasks,
            count,
            behind
          );
    case 'paused':
      return trans._n(
        '%2 task waits for workers that are paused or stopped.',
        '%2 tasks wait for workers that are paused or stopped.',
        tasks,
        count
      );
    case 'no-worker':
      return trans._n(
        '%2 task waits: the cluster has no worker that takes tasks.',
        '%2 tasks wait: the cluster has no worker that takes tasks.',
        tasks,
        count
      );
    case 'no-named':
      return trans._n(
        '%2 task waits: the workers that may run it (workers=…) are not there.',
        '%2 tasks wait: the workers that may run them (workers=…) are not there.',
        tasks,
        count
      );
    case 'no-resource':
      return trans._n(
        '%2 task waits: no worker has the resources that it needs (%3).',
        '%2 tasks wait: no worker has the resources that they need (%3).',
        tasks,
        count,
        need ?? 'resources=…'
      );
    case 'unplaced':
      return trans._n(
        '%2 task waits: Dask has found no worker for it.',
        '%2 tasks wait: Dask has found no worker for them.',
        tasks,
        count
      );
    default:
      // (of an observer that is newer)
      return trans._n('%2 task waits.', '%2 tasks wait.', tasks, count);
  }
}
