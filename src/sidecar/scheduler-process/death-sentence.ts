/** How a worker ended, what it used, and what ran there: for the errors of tasks that are blamed. */
import type { Bytes } from '../../base/brand';
import { NONE } from '../../scheduler';
import type { DenseTaskId } from '../../records/ids';
import { formatBytes } from '../../panels/format';
import type { ClusterState } from './cluster-state';
import type { WorkerSession } from './worker-session';

/** So many tasks are named. */
const MOST_NAMED = 3;

/**
 * @param why - "was ended by SIGKILL".
 * @returns the end of a sentence that begins with "The last one" or "The worker", without its point.
 */
export function deathSentence(
  cluster: ClusterState,
  session: WorkerSession,
  why: string
): string {
  const { process, managed } = session.memory;
  const { memoryLimit } = session.intro;
  const said = [`(worker ${session.id}) ${why}`];
  if (process > 0) {
    const limit =
      memoryLimit > 0
        ? ` of the ${plain(memoryLimit)} that it might use`
        : ', without a limit';
    said.push(
      `It last used ${plain(process)}${limit} (${plain(managed)} of it results)`
    );
  }
  const running = runningAt(cluster, session);
  if (running.length > 0) {
    const keys = running
      .slice(0, MOST_NAMED)
      .map(task => cluster.keyOf(task))
      .join(', ');
    const more = running.length - MOST_NAMED;
    said.push(`There ran ${keys}${more > 0 ? ` and ${more} more` : ''}`);
  }
  if (session.isOutOfMemory) {
    said.push(
      'To run the same again cannot help if it needs so much: let tasks keep less at a time (smaller pieces), ' +
        'or give each worker more memory (Client(memory_limit=…), or fewer workers)'
    );
  }
  return said.join('. ');
}

/**
 * Tasks that it said to be running. It says so of those that have run for some time: if there is none, the oldest that could run there, as
 * many as it has threads.
 */
function runningAt(
  { core }: ClusterState,
  session: WorkerSession
): DenseTaskId[] {
  const { tasks } = core;
  const said = [...session.running.values()]
    .filter(({ task, run }) => tasks.isRunOf(session.id, task, run))
    .map(({ task }) => task);
  if (said.length > 0) {
    return said;
  }
  const found: DenseTaskId[] = [];
  let task = core.workers.get(session.id)?.firstProcessing ?? NONE;
  while (task !== NONE && found.length < session.intro.threads) {
    if (tasks.waitingOn[task] === 0) {
      found.push(task as DenseTaskId);
    }
    task = tasks.nextProcessing(task);
  }
  return found;
}

function plain(bytes: Bytes): string {
  return formatBytes(bytes).replaceAll('\u00a0', ' ');
}
