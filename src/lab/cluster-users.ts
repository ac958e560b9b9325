/** Who uses a cluster, as the card and the dialogs say it. */
import { notebooksOf, type NotebookOf } from '../feed/cluster-ref';
import type { ClusterInfo } from '../wire/panel-link';

export type ClusterUsers = {
  /** Path of the notebook that started it; undefined: the Jupyter server, a script. */
  readonly owner: string | undefined;
  /** Paths of the notebooks that are connected; of an ended cluster, of those that were. */
  readonly notebooks: readonly string[];
  /** Names of the other programs that are connected, each once. */
  readonly programs: readonly string[];
};

export function clusterUsers(
  info: ClusterInfo,
  notebookOf: NotebookOf
): ClusterUsers {
  const hasEnded = info.state === 'ended';
  return {
    owner: notebookOf(info),
    notebooks: notebooksOf(info, notebookOf)
      .filter(({ isHere }) => isHere || hasEnded)
      .map(({ path }) => path),
    programs: [
      ...new Set(
        info.clients
          .filter(
            client =>
              !hasEnded &&
              client.left === undefined &&
              notebookOf(client) === undefined
          )
          .map(({ name }) => name)
      )
    ]
  };
}
