/** The states of a task in words, Dask's: what questions and stories call them. */
export const TASK_STATE_WORDS = [
  'released',
  'waiting',
  'no-worker',
  'queued',
  'processing',
  'memory',
  'erred'
] as const;

export type TaskStateWord = (typeof TASK_STATE_WORDS)[number];
