import { RunStatus } from '../records/enumerations';
import type { Filter } from '../wire/panel-link';

/** A filter, and who passes it of a drawn cluster, as anybody would say it who reads it. */
export type DrawnSelection = {
  readonly filter: Filter;
  readonly isWorker: (worker: number) => boolean;
  readonly isOwn: (task: {
    readonly span: number;
    readonly function: string;
  }) => boolean;
  /** null: it has not ended. */
  readonly isStatus: (status: RunStatus | null) => boolean;
};

const everybody: DrawnSelection = {
  filter: {},
  isWorker: () => true,
  isOwn: () => true,
  isStatus: () => true
};

/** By each condition and by several; of spans, functions and workers that {@link drawCluster} draws. */
export const DRAWN_SELECTIONS: readonly DrawnSelection[] = [
  everybody,
  {
    ...everybody,
    filter: { workers: [2, 4] },
    isWorker: worker => worker !== 9
  },
  {
    ...everybody,
    filter: { spans: { any: [{ path: ['first.ipynb'] }] } },
    isOwn: ({ span }) => span >= 1 && span <= 4
  },
  {
    ...everybody,
    filter: { functions: ['load', 'inner'] },
    isOwn: task => ['load', 'inner'].includes(task.function)
  },
  {
    ...everybody,
    filter: { status: ['failed'] },
    isStatus: status => status === RunStatus.Failed
  },
  {
    filter: {
      workers: [9],
      notFunctions: ['fit'],
      status: ['ok', 'lost']
    },
    isWorker: worker => worker === 9,
    isOwn: task => task.function !== 'fit',
    isStatus: status => status === RunStatus.Ok || status === RunStatus.Lost
  }
];
