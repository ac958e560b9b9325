/** The scheduler's public face: for its process and for tests. */
export { type GivenUpRun, Scheduler, type SchedulerSetup } from './scheduler';
export type * from './events';
export type * from './instructions';
export { DEFAULT_OPTIONS, type SchedulerOptions } from './options';
export { CheapestPlacement } from './placement';
export { FailureReason, holdsInputs, TaskState } from './task-state';
export { NONE } from './edge-table';
export type { TallyCounts } from './tallies';
export type { TaskTable } from './task-table';
export { MOST_NEEDS } from './waiting-tasks';
export type { WorkerRecord } from './worker-table';
export type { Amounts, Need } from './worker-resources';
export { InvalidTransition } from './transitions';
export type { MoveListener, StoryLine } from './transition-log';
export { placeIn } from './rank';
export type { UnrunFailure } from './unrun-failures';
export type * from './plugin';
