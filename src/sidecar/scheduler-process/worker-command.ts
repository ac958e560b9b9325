/** The command that starts a worker for a task that waits for one, for sentences: it can be pasted as it stands. In the scheduler process. */
import type { DenseTaskId } from '../../records/ids';
import type { ClusterState } from './cluster-state';

/** What the shell takes as it is. */
const PLAIN = /^[\w@%+=:,./-]+$/;
/** What `--resources` can name. */
const RESOURCE = /^[^\s,=]+$/;
/** What is a name that a worker can be given, and neither an address nor the name that each has by its number. */
const GIVEN_NAME = /^(?!worker-\d+$)[A-Za-z][\w-]*$/;

/** @returns null: no command starts one. */
export function workerCommand(
  { address, core }: ClusterState,
  task: DenseTaskId
): string | null {
  const words = ['spanwise', 'worker', address];
  const need = core.resourcesOf(task);
  if (need !== null) {
    const amounts = Object.entries(need);
    if (!amounts.every(([name]) => RESOURCE.test(name))) {
      return null;
    }
    words.push(
      '--resources',
      amounts.map(([name, amount]) => `${name}=${amount}`).join(' ')
    );
  }
  const named = core.namedWorkers(task);
  if (named !== null) {
    const free = named.find(
      name =>
        GIVEN_NAME.test(String(name)) &&
        !core.workers.all.some(worker => worker.answersTo(name))
    );
    if (free === undefined) {
      return null;
    }
    words.push('--name', String(free));
  }
  return words.map(quoted).join(' ');
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
