/** One question (find a key, the longest task, the next failed one, a page of all), answered once. */
import type {
  RecordsResult,
  RunDetail,
  TasksResult,
  ViewResult
} from '../../wire/panel-link';
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

/** Which run of which lanes: the next (-1: the one before) of a run, on its lane if none are named, or from a time on. */
export type NeighbourQuestion = {
  readonly direction: 1 | -1;
  readonly lanes?: readonly number[];
  readonly nextTo?: number;
  readonly from?: number;
};

/** Of all times, for the chart shows all; null: there is none. */
export async function askNeighbour(
  context: PanelContext,
  filter: Asked['filter'],
  { direction, ...place }: NeighbourQuestion
): Promise<RunDetail | null> {
  if (context.cluster.current === null) {
    return null;
  }
  const { rows } = await askOnce(
    context,
    'tasks',
    { filter, time: 'all' },
    { sort: 'start', descending: direction < 0, limit: 1, ...place }
  );
  // (an observer of before tells the first of all lanes)
  return rows.find(({ laneIndex }) => laneIndex !== undefined) ?? null;
}

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
  return context.cluster.current === null
    ? Promise.resolve({ view: 'tasks', total: 0, rows: [] })
    : askOnce(
        context,
        'tasks',
        {
          time,
          filter: question.failedOnly
            ? { ...filter, status: ['failed', 'lost'] }
            : filter
        },
        {
          sort: question.sort ?? 'start',
          descending: question.descending ?? false,
          offset: question.offset ?? 0,
          limit: question.limit,
          search: question.search ?? ''
        }
      );
}

/** Those of a selection with all that is known of them, as many as one message holds. */
export function askRecordsPage(
  context: PanelContext,
  asked: Asked,
  page: { readonly after?: readonly number[]; readonly end?: number }
): Promise<RecordsResult> {
  return askOnce(context, 'records', asked, { ...page, detailed: true });
}

function askOnce<V extends ViewResult['view']>(
  context: PanelContext,
  view: V,
  { filter, time }: Asked,
  params: Readonly<Record<string, unknown>>
): Promise<Extract<ViewResult, { view: V }>> {
  const trans = context.translator.load('spanwise');
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      watch.dispose();
      reject(new Error(trans.__('The observer did not answer in 10 s.')));
    }, LIMIT_MS);
    const watch = context.feed.watch(
      {
        // (of none the observer says that it knows no such cluster)
        cluster: context.cluster.current?.cluster ?? '',
        view,
        filter,
        time,
        params,
        maxHz: 0
      },
      answered => {
        clearTimeout(timer);
        const result = answered.snapshot?.result;
        // Not at once: the feed may still be inside `watch(…)`, before `watch` has a value.
        queueMicrotask(() => watch.dispose());
        if (answered.failure !== null || result?.view !== view) {
          reject(
            new Error(
              answered.failure ??
                trans.__('The observer sent the wrong kind of answer.')
            )
          );
        } else {
          resolve(result as Extract<ViewResult, { view: V }>);
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
