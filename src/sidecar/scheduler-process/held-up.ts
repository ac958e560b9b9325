import type { WorkerSession } from './worker-session';

/** Whether what waits at this worker goes on waiting, though threads may be free there. */
export function beginsNothing({
  isPaused,
  standing
}: Pick<WorkerSession, 'isPaused' | 'standing'>): boolean {
  return isPaused || standing === 'stopped';
}
