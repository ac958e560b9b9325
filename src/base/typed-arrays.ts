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

/** The next offset at which any of these arrays may begin: 0 → 0, 1 → 8, 8 → 8. */
export const aligned = (offset: number): number => Math.ceil(offset / 8) * 8;
