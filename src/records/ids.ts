/** The kinds of ids that several folders share. At runtime all are plain numbers (see `base/brand.ts`). */
import type { Id } from '../base/brand';
import type { ArrayOf } from '../base/typed-arrays';

/** A lane as its source numbers it: what stands in the log. */
export type LaneId = Id<'lane'>;
/** A lane's place among all that the observer has seen: what stands in tiles. */
export type LaneIndex = Id<'lane index'>;
export type SpanId = Id<'span'>;
/** The span of tasks that ran in no span. */
export const DEFAULT_SPAN = 0 as SpanId;

/** A task as its client numbers it. A task may have several, by aliases. */
export type ClientTaskId = Id<"client's task">;
/** A task as the scheduler numbers it: the row in its columns, given again once the task is forgotten. */
export type DenseTaskId = Id<'dense task'>;
export type DenseTaskIds = ArrayOf<Int32Array, DenseTaskId>;
/** The same with a version, which tells a dense id's owners apart: what stands on the worker and peer links. */
export type OuterTaskId = Id<'outer task'>;
