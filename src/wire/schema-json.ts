/**
 * The schema as data, for Python: what `jlpm build:schema` writes to spanwise/wire/schema.json.
 *
 * A field's kind is a word, or a map with one entry that wraps other kinds:
 *
 *     "text" "flag" "number" "integer" "bytes" "any"   "u16" "u32" "count" "blobOrNone" integers of these bounds
 *     {"number": [least, most]}              {"integer": [least, most]}   null: no bound
 *     {"optional": kind, "default": value}   {"nullable": kind}   {"list": kind}   {"texts": kind} any keys
 *     {"map": {name: kind}}                  {"oneOf": [values]}  {"either": [kinds]}
 */
import { LARGEST_U16, LARGEST_U32 } from '../records/enumerations';
import { HANDSHAKE, PROTOCOL, ROLES } from './handshake-messages';
import { BODY_LIMIT } from './frame';
import type {
  Direction,
  LinkDescription,
  MessageDescription
} from './describe';
import { LINKS } from './schema';
import { clientWelcome } from './client-link';
import { MOST_KEYS_ASKED, workerWelcome } from './worker-link';
import { peerWelcome } from './peer-link';

export type Kind = string | { readonly [word: string]: unknown };

/** Messages by direction and type. */
type LinkAsData = Readonly<
  Record<string, Readonly<Record<string, MessageAsData>>>
>;
type SchemaForPython = {
  /** On all links. */
  readonly handshake: LinkAsData;
  readonly links: Readonly<Record<string, LinkAsData>>;
  readonly [other: string]: unknown;
};

type MessageAsData = {
  readonly fields: Readonly<Record<string, Kind>>;
  readonly tables: readonly (readonly [
    name: string,
    columns: readonly (readonly [name: string, type: string])[]
  ])[];
};

/** Words of their own, by bounds. */
const INTEGERS: Readonly<Record<string, string>> = {
  [`0,${LARGEST_U16}`]: 'u16',
  [`0,${LARGEST_U32}`]: 'u32',
  [`0,${Number.MAX_SAFE_INTEGER}`]: 'count',
  '-1,': 'blobOrNone'
};

/** What the schemas of valibot that describe.ts allows have in common, as far as needed here. */
export type Loose = {
  readonly type: string;
  readonly wrapped?: Loose;
  readonly default?: unknown;
  readonly item?: Loose;
  readonly value?: Loose;
  readonly entries?: Readonly<Record<string, Loose>>;
  readonly options?: readonly unknown[];
  readonly literal?: unknown;
  readonly pipe?: readonly {
    readonly type: string;
    readonly requirement?: unknown;
  }[];
};

function kindOf(schema: Loose): Kind {
  switch (schema.type) {
    case 'string':
      return 'text';
    case 'boolean':
      return 'flag';
    case 'number':
      return numberKind(schema.pipe ?? []);
    case 'instance':
      return 'bytes';
    case 'unknown':
      return 'any';
    case 'optional':
      return schema.default === undefined
        ? { optional: kindOf(inner(schema.wrapped)) }
        : { optional: kindOf(inner(schema.wrapped)), default: schema.default };
    case 'nullable':
      return { nullable: kindOf(inner(schema.wrapped)) };
    case 'array':
      return { list: kindOf(inner(schema.item)) };
    case 'record':
      return { texts: kindOf(inner(schema.value)) };
    case 'object':
    case 'loose_object':
      return { map: kindsOf(schema.entries ?? {}) };
    case 'picklist':
      return { oneOf: schema.options };
    case 'literal':
      return { oneOf: [schema.literal] };
    case 'union':
      return {
        either: (schema.options ?? []).map(option => kindOf(option as Loose))
      };
    default:
      throw new TypeError(`schema.json has no word for "${schema.type}".`);
  }
}

function numberKind(steps: NonNullable<Loose['pipe']>): Kind {
  const word = steps.some(step => step.type === 'integer')
    ? 'integer'
    : 'number';
  const bound = (type: string): unknown =>
    steps.find(step => step.type === type)?.requirement ?? null;
  const bounds = [bound('min_value'), bound('max_value')];
  const isFree = bounds.every(each => each === null);
  const known = word === 'integer' ? INTEGERS[`${bounds}`] : undefined;
  return isFree ? word : (known ?? { [word]: bounds });
}

function inner(schema: Loose | undefined): Loose {
  if (schema === undefined) {
    throw new TypeError('A wrapping schema without content.');
  }
  return schema;
}

function kindsOf(
  entries: Readonly<Record<string, Loose>>
): Readonly<Record<string, Kind>> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, schema]) => [name, kindOf(schema)])
  );
}

function describe(message: MessageDescription): MessageAsData {
  const fields = kindsOf(
    message.fields.entries as unknown as Readonly<Record<string, Loose>>
  );
  // Columns as pairs: their order is the order on the wire.
  const tables = Object.entries(message.tables).map(
    ([name, columns]) => [name, Object.entries(columns)] as const
  );
  return { fields, tables };
}

function describeLink(
  directions: LinkDescription,
  isMeant: (direction: Direction, type: string) => boolean
): LinkAsData {
  const messagesOf = (direction: Direction) =>
    Object.fromEntries(
      Object.entries(directions[direction])
        .filter(([type]) => isMeant(direction, type))
        .map(([type, message]) => [type, describe(message)])
    );
  return { up: messagesOf('up'), down: messagesOf('down') };
}

/** The schema as JSON-able data. */
export function schemaForPython(): SchemaForPython {
  return {
    protocol: PROTOCOL,
    roles: ROLES,
    bodyLimit: BODY_LIMIT,
    mostKeysAsked: MOST_KEYS_ASKED,
    handshake: describeLink(HANDSHAKE, () => true),
    links: Object.fromEntries(
      Object.entries(LINKS).map(([link, directions]) => [
        link,
        describeLink(
          directions,
          (direction, type) => !(type in HANDSHAKE[direction])
        )
      ])
    ),
    welcomes: {
      client: kindsOf(clientWelcome.entries as never),
      worker: kindsOf(workerWelcome.entries as never),
      peer: kindsOf(peerWelcome.entries as never)
    }
  };
}
