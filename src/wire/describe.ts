/**
 * The words in which the messages of a link are described: the fields of the header (valibot, checked at the border) and the tables that
 * follow it (columns, checked by their lengths alone). `schema.ts` gathers the links; Python reads the JSON written from it.
 */
import type { Seconds } from '../base/brand';
import { LARGEST_U16, LARGEST_U32 } from '../records/enumerations';
import type { ClientTaskId, SpanId } from '../records/ids';
import * as v from 'valibot';
import { u32Of, type ArrayIn, type NumberType } from '../base/typed-arrays';

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
/** Of resources, by name; the same bound in `spanwise/graph/resources.py`. */
export const amounts = v.record(
  v.string(),
  v.pipe(v.number(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER))
);

/** A field whose numbers are received as numbers of the kind `N`. */
export const fieldOf = <N extends number>(
  description: v.GenericSchema<number>
): v.GenericSchema<number, N> => description as v.GenericSchema<number, N>;
export const spanId = fieldOf<SpanId>(u32);

/** Index of a blob of the same message. */
export const blob = integerUpTo(LARGEST_U32);
/** Index of a blob, or -1: there is none. */
export const blobOrNone = v.pipe(v.number(), v.integer(), v.minValue(-1));

/** `names[i]` gets the id `firstName + i`; announced in the message that first uses them. */
export const NEW_NAMES = {
  firstName: v.optional(u32, 0),
  names: v.optional(v.array(text), [])
} as const;

const SHARED_KINDS = [
  'metadata',
  'dataset',
  'event',
  'semaphore',
  'variable',
  'queue'
] as const;

/** What is done with things that clients and workers share by name: see `src/sidecar/scheduler-process/primitives.ts`. */
export const SHARING = {
  up: {
    /**
     * Asks for, changes or waits for something that is shared by name. Blob 0: the value that is set or put, which the scheduler does not
     * open. → `shared`, unless `request` is 0
     */
    share: message(
      {
        request: u32,
        kind: v.picklist(SHARED_KINDS),
        what: v.picklist([
          'set',
          'get',
          'delete',
          'list',
          'names',
          'clear',
          'count',
          'wait',
          'register',
          'acquire',
          'release',
          'abandon',
          'close',
          'open',
          'put',
          'putBack',
          'getAll'
        ]),
        name: text,
        /** How long to wait; null: without a limit. */
        seconds: v.optional(v.nullable(seconds), 0 as Seconds),
        /** A lease, as its holder calls it. */
        lease: v.optional(text, ''),
        /** Leases that there may be, items that a queue takes (0: any number). */
        limit: v.optional(count, 0),
        /** After how long an abandoned lease ends; null: never. */
        leaseSeconds: v.optional(v.nullable(seconds), null),
        /** The semaphore was registered before: it is an error if it is not there. */
        isKnown: v.optional(flag, false),
        /** How many items to take at most. */
        count: v.optional(count, 1),
        /** Set only if this is the version that is there, 0: if there is none. */
        version: v.optional(v.nullable(count), null),
        /**
         * The number under which futures are held (`shared.hold`), 0: there are none. Of a value that is put back: those in it. Of a further
         * `get`: those of the answers before it, under which those of its own are to be held, too.
         */
        hold: v.optional(u32, 0)
      },
      /** The futures in the value: whose client's, and by which of its ids. Their tasks are wanted as long as the value is there. */
      { futures: { client: 'u16', id: u32Of<ClientTaskId>() } }
    ),
    /**
     * What this request waits for is not wanted any more; 0: all requests are given up, and all leases end. What has waited is answered
     * `late`. hold: what its answer held under that number is let go.
     */
    giveUp: message({ request: u32, hold: v.optional(u32, 0) })
  },
  down: {
    /** Blobs: the values. why: a sentence for the user. */
    shared: message({
      request: u32,
      outcome: v.picklist([
        'done',
        'late',
        'absent',
        'conflict',
        'full',
        'inconsistent',
        'unknown',
        'refused'
      ]),
      why: v.optional(text, ''),
      count: v.optional(count, 0),
      names: v.optional(v.array(text), []),
      /** The futures in the values are held under this number until `adopt` or `giveUp` lets go of it; 0: there are none. */
      hold: v.optional(u32, 0)
    })
  }
} as const;
