/** The numbers that columns hold, in blocks of the record log and in frames alike. */
export type NumberType = 'u8' | 'u16' | 'u32' | 'i32' | 'f32' | 'f64';

/** Number type → the array that holds it. */
export const TYPED_ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array
} as const satisfies Record<NumberType, unknown>;

export type TypedArrays = {
  u8: Uint8Array;
  u16: Uint16Array;
  u32: Uint32Array;
  i32: Int32Array;
  f32: Float32Array;
  f64: Float64Array;
};

/**
 * A number type, and the kind of number (see `brand.ts`) that a column of it holds: `u16Of<LaneId>()`. It exists for the compiler
 * alone. It is no symbol, because the declarations of the npm package could not name one.
 */
type KindOfNumber<T extends NumberType, N extends number> = T & {
  readonly holds?: N;
};
export const u16Of = <N extends number>(): KindOfNumber<'u16', N> => 'u16';
export const u32Of = <N extends number>(): KindOfNumber<'u32', N> => 'u32';
export const f32Of = <N extends number>(): KindOfNumber<'f32', N> => 'f32';
export const f64Of = <N extends number>(): KindOfNumber<'f64', N> => 'f64';

/** The kind of number that a column of the type `T` holds. */
export type NumberIn<T> = 'holds' extends keyof T
  ? T extends { readonly holds?: infer N extends number }
    ? N
    : never
  : number;

/** The array `A`, whose numbers are all of the kind `N`. It may be used as an `A`; an `A` is cast to it where its numbers come in. */
export type ArrayOf<A, N extends number> = {
  [row: number]: N;
  [Symbol.iterator](): ArrayIterator<N>;
  subarray(begin?: number, end?: number): ArrayOf<A, N>;
  slice(begin?: number, end?: number): ArrayOf<A, N>;
} & A;

/** The array `A`, which only ids of the kind `I` may index. */
export type IndexedBy<
  I extends number,
  A extends { readonly [index: number]: unknown }
> = Omit<A, number> & { [index in I]: A[number] };

/** An array of these numbers: `arrayOf(Int32Array, ids)`. */
export function arrayOf<A, N extends number>(
  make: { from(numbers: ArrayLike<number> | Iterable<number>): A },
  numbers: ArrayLike<N> | Iterable<N>
): ArrayOf<A, N> {
  return make.from(numbers) as ArrayOf<A, N>;
}

/** The array of a column of the type `T`. */
export type ArrayIn<T extends NumberType> = 'holds' extends keyof T
  ? ArrayOf<
      { [K in NumberType]: T extends K ? TypedArrays[K] : never }[NumberType],
      NumberIn<T>
    >
  : TypedArrays[T];

/** The next offset at which any of these arrays may begin: 0 → 0, 1 → 8, 8 → 8. */
export const aligned = (offset: number): number => Math.ceil(offset / 8) * 8;
