/**
 * Every message of every link, and the types that follow from the descriptions. `jlpm build:schema` writes spanwise/wire/schema.json from it.
 *
 *     LINKS.worker.up.finished   what a worker sends its scheduler
 *     LINKS.worker.down.assign   what the scheduler sends back
 */
import type * as v from 'valibot';
import { CLIENT_LINK } from './client-link';
import type {
  ArraysOf,
  Columns,
  Direction,
  LinkDescription,
  MessageDescription,
  ReadOnly
} from './describe';
import { DOORBELL_LINK } from './doorbell-link';
import { HANDSHAKE } from './handshake-messages';
import { PANEL_LINK } from './panel-link';
import { PEER_LINK } from './peer-link';
import { SOURCE_LINK } from './source-link';
import { WORKER_LINK } from './worker-link';

/** Each link's own messages together with those of the handshake, which runs on all of them. */
export const LINKS = {
  client: {
    up: { ...HANDSHAKE.up, ...CLIENT_LINK.up },
    down: { ...HANDSHAKE.down, ...CLIENT_LINK.down }
  },
  worker: {
    up: { ...HANDSHAKE.up, ...WORKER_LINK.up },
    down: { ...HANDSHAKE.down, ...WORKER_LINK.down }
  },
  peer: {
    up: { ...HANDSHAKE.up, ...PEER_LINK.up },
    down: { ...HANDSHAKE.down, ...PEER_LINK.down }
  },
  source: {
    up: { ...HANDSHAKE.up, ...SOURCE_LINK.up },
    down: { ...HANDSHAKE.down, ...SOURCE_LINK.down }
  },
  panel: {
    up: { ...HANDSHAKE.up, ...PANEL_LINK.up },
    down: { ...HANDSHAKE.down, ...PANEL_LINK.down }
  },
  doorbell: {
    up: { ...HANDSHAKE.up, ...DOORBELL_LINK.up },
    down: { ...HANDSHAKE.down, ...DOORBELL_LINK.down }
  }
} as const satisfies Record<string, LinkDescription>;

export type LinkName = keyof typeof LINKS;

/** A table as received: `rows`, and one array per column, views of the message's bytes. */
type Table<C extends Columns> = { readonly rows: number } & ArraysOf<C>;
/** A table to send, of plain numbers: they become ids where they come in. Columns may be longer than `rows`; without `rows` the first column's length counts. */
type TableInput<C extends Columns> = { readonly rows?: number } & {
  readonly [K in keyof C]: ArrayLike<number>;
};

/** The types of messages that `L` carries in direction `D`. */
export type TypeOf<L extends LinkName, D extends Direction> = Extract<
  keyof (typeof LINKS)[L][D],
  string
>;
type DescriptionOf<
  L extends LinkName,
  D extends Direction,
  T extends TypeOf<L, D>
> = (typeof LINKS)[L][D][T] extends infer M extends MessageDescription
  ? M
  : never;

/** Checked fields, with defaults filled in. */
export type Fields<
  L extends LinkName,
  D extends Direction,
  T extends TypeOf<L, D>
> = v.InferOutput<DescriptionOf<L, D, T>['fields']>;
/** Fields as a sender gives them: what has a default may be left out. */
export type FieldsInput<
  L extends LinkName,
  D extends Direction,
  T extends TypeOf<L, D>
> = ReadOnly<v.InferInput<DescriptionOf<L, D, T>['fields']>>;
export type TablesOf<
  L extends LinkName,
  D extends Direction,
  T extends TypeOf<L, D>
> = {
  readonly [K in keyof DescriptionOf<L, D, T>['tables']]: Table<
    DescriptionOf<L, D, T>['tables'][K]
  >;
};
/** Tables left out have no rows. */
export type TablesInput<
  L extends LinkName,
  D extends Direction,
  T extends TypeOf<L, D>
> = {
  readonly [K in keyof DescriptionOf<L, D, T>['tables']]?: TableInput<
    DescriptionOf<L, D, T>['tables'][K]
  >;
};

/** A message as received: a union over the types of the link, told apart by `type`. */
export type Message<
  L extends LinkName,
  D extends Direction,
  T extends TypeOf<L, D> = TypeOf<L, D>
> =
  T extends TypeOf<L, D>
    ? {
        readonly type: T;
        readonly fields: Fields<L, D, T>;
        readonly tables: TablesOf<L, D, T>;
        readonly blobs: readonly Uint8Array[];
      }
    : never;
