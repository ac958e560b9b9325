/**
 * Messages as nobody would send them: of the right structure, with any content. For tests of the handlers of a link.
 *
 * What a message may hold is read from its description (`src/wire/schema.ts`), so a new message or column is drawn without a line here.
 */
import type { SeededRandom } from '../base/seeded-random';
import type { NumberType } from '../base/typed-arrays';
import { BrokenFrame } from '../wire/broken-frame';
import type { Direction, MessageDescription } from '../wire/describe';
import { FrameDecoder, FrameEncoder } from '../wire/frame';
import {
  LINKS,
  type LinkName,
  type Message,
  type TypeOf
} from '../wire/schema';
import type { Loose } from '../wire/schema-json';

const EDGES: Readonly<Record<NumberType, readonly number[]>> = {
  u8: [0, 1, 2, 3, 7, 8, 127, 255],
  u16: [0, 1, 2, 0x7fff, 0xfffe, 0xffff],
  u32: [0, 1, 2, 255, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1],
  i32: [0, 1, -1, 2 ** 31 - 1, -(2 ** 31)],
  f32: [0, -0, 1e-9, 1, -1, 1e30, -1e30, NaN, Infinity, -Infinity],
  f64: [0, -0, 1e-9, 1, -1, 1e18, -1e18, 1e300, NaN, Infinity, -Infinity]
};

/** Values that are right where a column or field has this name: ids that are known, say. */
type Known = Readonly<Record<string, (() => unknown) | undefined>>;

export class DrawnFrames<L extends LinkName, D extends Direction> {
  /** What was drawn and is not even a message. */
  refused = 0;

  private readonly _encoder: FrameEncoder<L, D>;
  private readonly _decoder: FrameDecoder<L, D>;

  constructor(
    private readonly _link: L,
    private readonly _direction: D,
    readonly random: SeededRandom,
    private readonly _known: Known = {}
  ) {
    this._encoder = new FrameEncoder(_link, _direction);
    this._decoder = new FrameDecoder(_link, _direction);
  }

  /** A message of one of these types, through the codec. */
  draw(types: readonly TypeOf<L, D>[]): Message<L, D> {
    for (;;) {
      try {
        return this._decoder.decode(this._body(types));
      } catch (error) {
        if (!(error instanceof BrokenFrame)) {
          throw error;
        }
        this.refused++;
      }
    }
  }

  private _body(types: readonly TypeOf<L, D>[]): Uint8Array {
    const type = this.random.pick(types);
    const messages = LINKS[this._link][this._direction] as Readonly<
      Record<string, MessageDescription>
    >;
    const { fields, tables } = messages[type]!;
    const blobs = Array.from({ length: this.random.below(4) }, () =>
      Uint8Array.from({ length: this.random.below(60) }, () =>
        this.random.below(256)
      )
    );
    const drawn = this._map((fields as unknown as Loose).entries ?? {});
    const columns: Record<string, Record<string, unknown>> = {};
    for (const [name, table] of Object.entries(tables)) {
      const rows = this.random.chance(0.2) ? 0 : this.random.below(6);
      columns[name] = {
        rows,
        ...Object.fromEntries(
          Object.entries(table).map(([column, kind]) => [
            column,
            this._column(column, kind, rows)
          ])
        )
      };
    }
    return this._encoder.encodeBody(
      type,
      drawn as never,
      columns as never,
      blobs
    );
  }

  private _column(name: string, kind: NumberType, rows: number): number[] {
    const known = this._known[name];
    // Mostly right, so that what is drawn beside it is looked at.
    const isWild = this.random.chance(0.15);
    let last = 0;
    return Array.from({ length: rows }, () => {
      if (known !== undefined && !(isWild && this.random.chance(0.5))) {
        return known() as number;
      }
      if (/^(first|suffix)/.test(name) && !isWild) {
        last += this.random.below(3);
        return last;
      }
      return this._number(kind, isWild);
    });
  }

  private _number(kind: NumberType, isWild: boolean): number {
    return isWild || this.random.chance(0.1)
      ? this.random.pick(EDGES[kind])
      : kind.startsWith('f')
        ? this.random.next() * 10
        : this.random.below(8);
  }

  private _map(
    entries: Readonly<Record<string, Loose>>
  ): Record<string, unknown> {
    const drawn: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries(entries)) {
      const known = this._known[name];
      const value =
        known !== undefined && this.random.chance(0.8)
          ? known()
          : this._value(schema, 0);
      if (value !== undefined) {
        drawn[name] = value;
      }
    }
    return drawn;
  }

  private _value(schema: Loose, depth: number): unknown {
    const { random } = this;
    switch (schema.type) {
      case 'string':
        return random.pick([
          '',
          'a',
          'x/y',
          '__proto__',
          'constructor',
          'ü'.repeat(50),
          'c1'
        ]);
      case 'boolean':
        return random.chance(0.5);
      case 'number':
        return this._bounded(schema);
      case 'instance':
        return Uint8Array.from({ length: random.below(40) }, () =>
          random.below(256)
        );
      case 'unknown':
        return this._anything(depth);
      case 'optional':
        return random.chance(0.4)
          ? undefined
          : this._value(schema.wrapped!, depth);
      case 'nullable':
        return random.chance(0.3) ? null : this._value(schema.wrapped!, depth);
      case 'array':
        return Array.from({ length: random.below(4) }, () =>
          this._value(schema.item!, depth + 1)
        );
      case 'record':
        return Object.fromEntries(
          Array.from({ length: random.below(4) }, () => [
            random.pick(PARAMETERS),
            this._value(schema.value!, depth + 1)
          ])
        );
      case 'object':
      case 'loose_object':
        return this._map(schema.entries ?? {});
      case 'picklist':
        return random.pick(schema.options!);
      case 'literal':
        return schema.literal;
      case 'union':
        return this._value(random.pick(schema.options!) as Loose, depth);
      default:
        throw new TypeError(`Nothing to draw for "${schema.type}".`);
    }
  }

  private _bounded({ pipe = [] }: Loose): number {
    const bound = (type: string): number | undefined =>
      pipe.find(step => step.type === type)?.requirement as number | undefined;
    const [least, most] = [bound('min_value'), bound('max_value')];
    const isInteger = pipe.some(step => step.type === 'integer');
    const edges = isInteger
      ? [0, 1, 2, 65_535, 2 ** 32 - 1, 2 ** 53 - 1, -1, -(2 ** 53 - 1)]
      : [0, -1, 1e-9, 0.5, 1e18, -1e18, 1e308, Infinity, -Infinity];
    const value = this.random.chance(0.3)
      ? this.random.pick(edges)
      : isInteger
        ? this.random.below(6)
        : this.random.next() * 10;
    return Math.min(most ?? Infinity, Math.max(least ?? -Infinity, value));
  }

  private _anything(depth: number): unknown {
    const { random } = this;
    switch (random.below(depth > 4 ? 5 : 7)) {
      case 0:
        return null;
      case 1:
        return random.chance(0.5);
      case 2:
        return this._bounded({ type: 'number' });
      case 3:
        return this._bounded({ type: 'number', pipe: [{ type: 'integer' }] });
      case 4:
        return random.pick(WORDS);
      case 5:
        return Array.from({ length: random.below(4) }, () =>
          this._anything(depth + 1)
        );
      default:
        return Object.fromEntries(
          Array.from({ length: random.below(3) }, () => [
            random.pick(PARAMETERS),
            this._anything(depth + 1)
          ])
        );
    }
  }
}

/** What views take as parameters, so that content of any kind stands where they look. */
const PARAMETERS = [
  'groupBy',
  'order',
  'maxNodes',
  'measure',
  'show',
  'offset',
  'limit',
  'sort',
  'descending',
  'entries',
  'search',
  'start',
  'count',
  'lanes',
  'by',
  'key',
  'from',
  'to',
  'worker',
  'toString',
  'anything'
];
const WORDS = [
  '',
  'all',
  'function',
  'worker',
  'span',
  'process',
  'workers',
  'left-heavy',
  'time',
  'duration',
  'toString',
  '\u0000'
];
