/**
 * The words in which the messages of a link are described: the fields of the header (valibot, checked at the border) and the tables that
 * follow it (columns, checked by their lengths alone). `schema.ts` gathers the links; Python reads the JSON written from it.
 */
import type { Seconds } from '../base/brand';
import { LARGEST_U16, LARGEST_U32 } from '../records/enumerations';
import type { SpanId } from '../records/ids';
import * as v from 'valibot';
import type { ArrayIn, NumberType } from '../base/typed-arrays';

/** Columns of a message. Text never travels in them: it goes as names (dictionary) or in a blob. */
export type Columns = Readonly<Record<string, NumberType>>;
export type Tables = Readonly<Record<string, Columns>>;
/** The columns as arrays. */
export type ArraysOf<C extends Columns> = {
  readonly [K in keyof C]: ArrayIn<C[K]>;
};

export type MessageDescription = {
  readonly fields: v.ObjectSchema<v.ObjectEntries, undefined>;
  readonly tables: Tables;
};

/** up: from the dialling to the answering side; down: back. */
export type Direction = 'up' | 'down';

export type LinkDescription = Readonly<
  Record<Direction, Readonly<Record<string, MessageDescription>>>
>;

/** Describes one message; unknown fields of a newer build are dropped, so that adding an optional field breaks no older build. */
export function message<
  const F extends v.ObjectEntries,
  const T extends Tables = Readonly<Record<never, never>>
>(
  fields: F,
  tables?: T
): { readonly fields: v.ObjectSchema<F, undefined>; readonly tables: T } {
  return { fields: v.object(fields), tables: tables ?? ({} as T) };
}

/** `T`, in which nothing can be written, at any depth. */
export type ReadOnly<T> = T extends Uint8Array | number
  ? T
  : T extends object
    ? { readonly [K in keyof T]: ReadOnly<T[K]> }
    : T;

const integerUpTo = (limit: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(limit));

export const text = v.string();
export const flag = v.boolean();
export const seconds = v.number() as v.GenericSchema<number, Seconds>;
export const count = integerUpTo(Number.MAX_SAFE_INTEGER);
export const u16 = integerUpTo(LARGEST_U16);
export const u32 = integerUpTo(LARGEST_U32);
/** Over any buffer, shared ones too; the constructor's own type says ArrayBuffer. */
export const bytes = v.instance(Uint8Array as new () => Uint8Array);
export const map = v.record(v.string(), v.unknown());

/** A field whose numbers are received as numbers of the kind `N`. */
export const fieldOf = <N extends number>(
  description: v.GenericSchema<number>
): v.GenericSchema<number, N> => description as v.GenericSchema<number, N>;
export const spanId = fieldOf<SpanId>(u16);

/** Index of a blob of the same message. */
export const blob = integerUpTo(LARGEST_U32);
/** Index of a blob, or -1: there is none. */
export const blobOrNone = v.pipe(v.number(), v.integer(), v.minValue(-1));

/** `names[i]` gets the id `firstName + i`; announced in the message that first uses them. */
export const NEW_NAMES = {
  firstName: v.optional(u32, 0),
  names: v.optional(v.array(text), [])
} as const;
