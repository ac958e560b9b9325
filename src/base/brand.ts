/**
 * Numbers of different meaning that the compiler keeps apart. At runtime they are plain numbers.
 *
 * ```
 *   ids       LaneId ≠ LaneIndex ≠ number     no arithmetic: a number becomes an id where it comes in, and stays one
 *   amounts   Seconds ≠ Bytes, both ← number  what is calculated is a plain number, and may be given as any amount
 * ```
 */
declare const meaning: unique symbol;

/** A number that names something. Neither a plain number nor an id of another kind is taken for it. */
export type Id<Kind extends string> = number & { readonly [meaning]: Kind };

/** A number of some unit. Plain numbers are taken for it, amounts of other units and ids are not. */
type Amount<Unit extends string> = number & {
  readonly [meaning]?: Unit;
};

export type Seconds = Amount<'s'>;
export type Milliseconds = Amount<'ms'>;
export type Nanoseconds = Amount<'ns'>;
export type Bytes = Amount<'bytes'>;
