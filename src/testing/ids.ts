/** Ids from the plain numbers of a test. */
import { arrayOf, type ArrayOf } from '../base/typed-arrays';
import type {
  DenseTaskId,
  DenseTaskIds,
  LaneIndex,
  SpanId
} from '../records/ids';

/** Of the kind that is asked for. */
export const idOf = <N extends number>(number: number): N => number as N;

export const denseIds = (...numbers: number[]): DenseTaskIds =>
  arrayOf(Int32Array, numbers as DenseTaskId[]);

export const spanIds = (...numbers: number[]): ArrayOf<Uint32Array, SpanId> =>
  arrayOf(Uint32Array, numbers as SpanId[]);

export const laneIndices = (
  numbers: ArrayLike<number>
): ArrayOf<Uint16Array, LaneIndex> =>
  arrayOf(Uint16Array, numbers as ArrayLike<LaneIndex>);
