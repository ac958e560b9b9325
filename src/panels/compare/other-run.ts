/** Which run a first one is compared with, unless the user chooses one. */
import { notebooksOf, type NotebookOf } from '../../feed/cluster-ref';
import type { ClusterInfo } from '../../wire/panel-link';
import { runsOf } from './model';

/** What a program is called whose file is not known: unrelated ones, too. */
const NAME_OF_NO_FILE = 'python';

/**
 * Of runs of the same notebook or program the last that began before the first run, else the next; else the last proposal, or the newest run.
 * Runs without tasks are left out.
 *
 * @param last - what was proposed to this first run; also while it is not listed: a new observer lists runs one by one.
 */
export function proposedRun(
  clusters: readonly ClusterInfo[],
  first: ClusterInfo,
  last: ClusterInfo | null,
  notebookOf: NotebookOf
): ClusterInfo | null {
  const isLast = ({ cluster }: ClusterInfo) => cluster === last?.cluster;
  const runs = runsOf(
    last === null || clusters.some(isLast) ? clusters : [...clusters, last]
  ).filter(({ cluster, tasks }) => cluster !== first.cluster && tasks > 0);
  const own = runs.filter(run => isOfSameProgram(run, first, notebookOf));
  return (
    own.find(({ startedAt }) => startedAt < first.startedAt) ??
    own.at(-1) ??
    runs.find(isLast) ??
    runs[0] ??
    null
  );
}

/** Folders may have notebooks of one name, so names tell only where a path is not known. */
function isOfSameProgram(
  a: ClusterInfo,
  b: ClusterInfo,
  notebookOf: NotebookOf
): boolean {
  const [ofA, ofB] = [a, b].map(
    info => new Set(notebooksOf(info, notebookOf).map(({ path }) => path))
  ) as [Set<string>, Set<string>];
  return ofA.size > 0 && ofB.size > 0
    ? haveCommon(ofA, ofB)
    : haveCommon(namesOf(a), namesOf(b));
}

/** Clusters are called after the programs that start them, and clients after theirs. */
function namesOf({ name, clients }: ClusterInfo): ReadonlySet<string> {
  return new Set(
    [name, ...clients.map(client => client.name)].filter(
      each => each !== NAME_OF_NO_FILE
    )
  );
}

function haveCommon(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return [...a].some(one => b.has(one));
}
