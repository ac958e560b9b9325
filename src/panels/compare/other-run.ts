/** Which run that of the panel is compared with, unless the user chooses one. */
import { notebooksOf, type NotebookOf } from '../../feed/cluster-ref';
import type { ClusterInfo } from '../../wire/panel-link';
import { runsOf } from './model';
import type { SharedOf } from './shared-functions';

/** What a program is called whose file is not known: unrelated ones, too. */
const NAME_OF_NO_FILE = 'python';

/**
 * Of runs that ran most of its functions those of the same notebook or program, the last that began before the panel's own, else the next;
 * else the last proposal, or the newest of them. Where none ran any of them, the same of all runs. Runs without tasks are left out.
 * (While a program is edited its functions come and go: the run before, with most of them, is nearer than an older one with all.)
 *
 * @param last - what was proposed to this own run; also while it is not listed: a new observer lists runs one by one.
 * @param isFirst - whether the own run stands before the other: then the next is preferred to the last.
 */
export function proposedRun(
  clusters: readonly ClusterInfo[],
  own: ClusterInfo,
  last: ClusterInfo | null,
  sharedOf: SharedOf,
  notebookOf: NotebookOf,
  isFirst = false
): ClusterInfo | null {
  const isLast = ({ cluster }: ClusterInfo) => cluster === last?.cluster;
  const runs = runsOf(
    last === null || clusters.some(isLast) ? clusters : [...clusters, last]
  ).filter(({ cluster, tasks }) => cluster !== own.cluster && tasks > 0);
  const isAlike = (run: ClusterInfo) => isOfSameProgram(run, own, notebookOf);
  const shared = runs.map(run => sharedOf(run) ?? 0);
  const most = Math.max(0, ...shared);
  const common = runs.filter(
    (_, i) => shared[i]! > 0 && 2 * shared[i]! >= most
  );
  return (
    nextTo(own, common.filter(isAlike), isFirst) ??
    common.find(isLast) ??
    common[0] ??
    nextTo(own, runs.filter(isAlike), isFirst) ??
    runs.find(isLast) ??
    runs[0] ??
    null
  );
}

/**
 * Whether a run has a function in common with the own one or, where that is not told, is of the same program: what else is proposed is there
 * for want of anything better.
 */
export function areAlike(
  run: ClusterInfo,
  own: ClusterInfo,
  sharedOf: SharedOf,
  notebookOf: NotebookOf
): boolean {
  const shared = sharedOf(run);
  return shared === undefined
    ? isOfSameProgram(run, own, notebookOf)
    : shared > 0;
}

/**
 * @param runs - newest first.
 * @param isFirst - whether the own run stands before the other.
 */
function nextTo(
  own: ClusterInfo,
  runs: readonly ClusterInfo[],
  isFirst: boolean
): ClusterInfo | undefined {
  const before = runs.find(({ startedAt }) => startedAt < own.startedAt);
  const after = runs.findLast(({ startedAt }) => startedAt >= own.startedAt);
  return isFirst ? (after ?? before) : (before ?? after);
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
