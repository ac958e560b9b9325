/** One question to view `tasks` (find a key, the longest task, the next failed one), answered once. */
import type { RunDetail, TasksResult } from '../../wire/panel-link';
import type { PanelContext } from '../panel-context';
import type { Asked } from '../panel-watch';

const LIMIT_MS = 10_000;

export type TaskQuestion = {
  readonly sort?: string;
  readonly descending?: boolean;
  readonly limit: number;
  readonly search?: string;
  readonly failedOnly?: boolean;
  /** Left out: from the first on. */
  readonly offset?: number;
};

/** Rejects after 10 s, or with the observer's sentence. */
export async function askTasks(
  context: PanelContext,
  question: TaskQuestion
): Promise<readonly RunDetail[]> {
  const { rows } = await askTasksPage(context, context.selection, question);
  return rows;
}

/** Those of a selection, and how many it has. */
export function askTasksPage(
  context: PanelContext,
  { filter, time }: Asked,
  question: TaskQuestion
): Promise<TasksResult> {
  const cluster = context.cluster.current;
  if (cluster === null) {
    return Promise.resolve({ view: 'tasks', total: 0, rows: [] });
  }
  const trans = context.translator.load('spanwise');
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      watch.dispose();
      reject(new Error(trans.__('The observer did not answer in 10 s.')));
    }, LIMIT_MS);
    const watch = context.feed.watch(
      {
        cluster: cluster.cluster,
        view: 'tasks',
        filter: question.failedOnly
          ? { ...filter, status: ['failed', 'lost'] }
          : filter,
        time,
        params: {
          sort: question.sort ?? 'start',
          descending: question.descending ?? false,
          offset: question.offset ?? 0,
          limit: question.limit,
          search: question.search ?? ''
        },
        maxHz: 0
      },
      answered => {
        clearTimeout(timer);
        const result = answered.snapshot?.result;
        // Not at once: the feed may still be inside `watch(…)`, before `watch` has a value.
        queueMicrotask(() => watch.dispose());
        if (answered.failure !== null || result?.view !== 'tasks') {
          reject(
            new Error(
              answered.failure ??
                trans.__('The observer sent the wrong kind of answer.')
            )
          );
        } else {
          resolve(result as TasksResult);
        }
      }
    );
  });
}

/** More tasks than this are not asked for to find one. */
const MOST = 500;

/** Whether a run is among those that the selection leaves; also if nothing is known of it any more. */
export async function passesFilter(
  context: PanelContext,
  run: number
): Promise<boolean> {
  const cluster = context.cluster.current;
  const detail =
    cluster === null ? null : await context.feed.detail(cluster.cluster, run);
  if (detail === null) {
    return true;
  }
  const rows = await askTasks(context, { search: detail.key, limit: MOST });
  // Of too many whose keys contain this one it may be one that was not told.
  return rows.length === MOST || rows.some(row => row.run === run);
}
