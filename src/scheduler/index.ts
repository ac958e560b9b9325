/** The scheduler's public face: for the sidecar's shell, for simulations and for tests. */
export { Scheduler, type SchedulerSetup } from './scheduler';
export type * from './events';
export type * from './instructions';
export { DEFAULT_OPTIONS, type SchedulerOptions } from './options';
export {
  CheapestPlacement,
  RandomPlacement,
  type IPlacementPolicy
} from './placement';
export {
  FailureReason,
  ReportStatus,
  RunStatus,
  TaskState
} from './task-state';
export { NONE } from './edge-table';
export { TaskFlag, type TaskTable } from './task-table';
export { InvalidTransition } from './transitions';
export { formatStory, type StoryLine } from './transition-log';
export type { WorkerRecord } from './worker-table';
