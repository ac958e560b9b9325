/**
 * Frames: messages to bytes and back; the layout is drawn in docs/contracts.md §1.
 *
 *     body  ┌ u32 headerLength ┬ msgpack {t, f, r, b} ┬ 0 to 8 ┬ column ┬ 0 to 8 ┬ column ┬ … ┬ blob ┬ 0 to 8 ┬ blob ┐
 *
 * The last section is not padded. A decoded message's columns and blobs are views of the bytes given, never copies, which is why every
 * section starts 8-aligned, and why a body that does not is moved first.
 */
import { Decoder, Encoder } from '@msgpack/msgpack';
import { aligned, TYPED_ARRAYS, type NumberType } from '../base/typed-arrays';
import { BrokenFrame, FrameTooLong, WrongMessage } from './broken-frame';
import type { Direction, Tables } from './describe';
import {
  LINKS,
  type FieldsInput,
  type LinkName,
  type Message,
  type TablesInput,
  type TypeOf
} from './schema';
import { checkShape } from './header-shape';
import { checkFields } from './validate';

/** Bytes of a body: before the peer is known, on the panel link, and elsewhere (under the 2^32 of the length prefix). */
export const BODY_LIMIT = {
  unauthenticated: 64 * 1024,
  panel: 1024 * 1024,
  link: Math.floor(3.9 * 2 ** 30)
} as const;

/** Blobs from here on are handed over as they are; smaller ones cost less to copy than another entry of a gathered write. */
const OWN_CHUNK_BYTES = 16 * 1024;
const PREFIX_BYTES = 4;
/** Headers up to here are compared with the one before. */
const REPEATED_BYTES = 256;
/** The body starts here in the first chunk's buffer, so that its sections are aligned while they are written; the length stands before it. */
const BODY_START = 8;

type Layout = readonly {
  readonly name: string;
  readonly empty: Readonly<Record<string, unknown>>;
  readonly columns: readonly {
    readonly name: string;
    readonly array: (typeof TYPED_ARRAYS)[NumberType];
    readonly width: number;
    readonly write: (view: DataView, at: number, value: number) => void;
  }[];
}[];

/**
 * Up to so many rows, writing numbers one by one takes less time than making a view of the column: a submitted call has one row in each
 * table.
 */
const FEW_ROWS = 4;
const writers: {
  readonly [T in NumberType]: (
    view: DataView,
    at: number,
    value: number
  ) => void;
} = {
  u8: (view, at, value) => view.setUint8(at, value),
  u16: (view, at, value) => view.setUint16(at, value, true),
  u32: (view, at, value) => view.setUint32(at, value, true),
  i32: (view, at, value) => view.setInt32(at, value, true),
  f32: (view, at, value) => view.setFloat32(at, value, true),
  f64: (view, at, value) => view.setFloat64(at, value, true)
};

function layoutOf(tables: Tables): Layout {
  return Object.entries(tables).map(([name, columns]) => {
    const empty: Record<string, unknown> = { rows: 0 };
    for (const [column, type] of Object.entries(columns)) {
      empty[column] = new TYPED_ARRAYS[type](0);
    }
    return {
      name,
      // Not frozen: a table with rows would have another shape, and code that was compiled for one of them be given up.
      empty,
      columns: Object.entries(columns).map(([column, type]) => ({
        name: column,
        array: TYPED_ARRAYS[type],
        width: TYPED_ARRAYS[type].BYTES_PER_ELEMENT,
        write: writers[type]
      }))
    };
  });
}

function layoutsOf(
  link: LinkName,
  direction: Direction
): ReadonlyMap<string, Layout> {
  return new Map(
    Object.entries(LINKS[link][direction]).map(([type, description]) => [
      type,
      layoutOf(description.tables)
    ])
  );
}

type LooseTable = {
  readonly rows?: number;
  readonly [column: string]: ArrayLike<number> | number | undefined;
};

/** One message as chunks to be written one after another. */
export type EncodedFrame = {
  /** For stream transports: the length prefix, then the body. */
  readonly chunks: readonly Uint8Array[];
  /** Without the prefix. */
  readonly bodyLength: number;
};

/** Writes the messages of one link in one direction. Holds msgpack's scratch buffer, so each sender has its own. */
export class FrameEncoder<L extends LinkName, D extends Direction> {
  private readonly _layouts: ReadonlyMap<string, Layout>;
  private readonly _msgpack = new Encoder({ ignoreUndefined: true });

  constructor(
    link: L,
    direction: D,
    readonly limit: number = BODY_LIMIT.link
  ) {
    this._layouts = layoutsOf(link, direction);
  }

  /**
   * @throws FrameTooLong over the limit; TypeError when a column is missing or shorter than its table.
   */
  encode<T extends TypeOf<L, D>>(
    type: T,
    fields: FieldsInput<L, D, T>,
    tables: TablesInput<L, D, T> = {} as TablesInput<L, D, T>,
    blobs: readonly Uint8Array[] = []
  ): EncodedFrame {
    const layout = this._layouts.get(type);
    if (layout === undefined) {
      throw new TypeError(`This link does not send "${type}".`);
    }
    const given = tables as Readonly<Record<string, LooseTable | undefined>>;
    const rows = layout.map(table => rowsOf(table, given[table.name]));

    const header = this._msgpack.encodeSharedRef({
      t: type,
      f: fields,
      r: rows.some(n => n > 0) ? rows : undefined,
      b: blobs.length > 0 ? blobs.map(blob => blob.byteLength) : undefined
    });

    // One buffer takes everything up to the first long blob; each long blob is a chunk, and what follows it another buffer.
    let end = 4 + header.byteLength;
    layout.forEach((table, i) => {
      const n = rows[i] ?? 0;
      if (n > 0) {
        for (const { width } of table.columns) {
          end = aligned(end) + n * width;
        }
      }
    });
    let headEnd = end;
    let firstLong = blobs.length;
    for (let i = 0; i < blobs.length; i++) {
      const length = blobs[i]?.byteLength ?? 0;
      if (length >= OWN_CHUNK_BYTES) {
        firstLong = Math.min(firstLong, i);
      }
      end = length > 0 ? aligned(end) + length : end;
      if (i < firstLong) {
        headEnd = end;
      }
    }
    if (end > this.limit) {
      throw new FrameTooLong(type, end, this.limit);
    }

    const buffer = new ArrayBuffer(BODY_START + headEnd);
    const head = new Uint8Array(buffer);
    const view = new DataView(buffer);
    view.setUint32(BODY_START - PREFIX_BYTES, end, true);
    view.setUint32(BODY_START, header.byteLength, true);
    head.set(header, BODY_START + 4);
    let at = 4 + header.byteLength;
    layout.forEach((table, i) => {
      const n = rows[i] ?? 0;
      const source = given[table.name];
      if (n === 0 || source === undefined) {
        return;
      }
      for (const { name, array, width, write } of table.columns) {
        at = aligned(at);
        const values = source[name] as ArrayLike<number> | undefined;
        if (values === undefined || values.length < n) {
          throw new TypeError(
            `"${type}": column ${table.name}.${name} has ${values?.length ?? 'no'} values, the table ${n} rows.`
          );
        }
        if (n <= FEW_ROWS) {
          for (let row = 0; row < n; row++) {
            write(view, BODY_START + at + row * width, values[row]!);
          }
        } else {
          new array(buffer, BODY_START + at, n).set(
            values.length === n ? values : firstOf(values, n)
          );
        }
        at += n * width;
      }
    });

    const chunks: Uint8Array[] = [head.subarray(BODY_START - PREFIX_BYTES)];
    for (let i = 0; i < blobs.length; i++) {
      const blob = blobs[i];
      if (blob === undefined || blob.byteLength === 0) {
        continue;
      }
      const start = aligned(at);
      if (i < firstLong) {
        head.set(blob, BODY_START + start);
      } else {
        if (start > at) {
          chunks.push(new Uint8Array(start - at));
        }
        chunks.push(blob);
      }
      at = start + blob.byteLength;
    }
    return { chunks, bodyLength: end };
  }

  /** The body alone in one piece, for WebSockets, tests and the gallery. */
  encodeBody<T extends TypeOf<L, D>>(
    type: T,
    fields: FieldsInput<L, D, T>,
    tables?: TablesInput<L, D, T>,
    blobs?: readonly Uint8Array[]
  ): Uint8Array<ArrayBuffer> {
    const frame = this.encode(type, fields, tables, blobs);
    const body = new Uint8Array(frame.bodyLength);
    let at = -PREFIX_BYTES;
    for (const chunk of frame.chunks) {
      body.set(at < 0 ? chunk.subarray(PREFIX_BYTES) : chunk, Math.max(at, 0));
      at += chunk.byteLength;
    }
    return body;
  }
}

function rowsOf(table: Layout[number], source: LooseTable | undefined): number {
  if (source === undefined) {
    return 0;
  }
  if (typeof source.rows === 'number') {
    return source.rows;
  }
  // The length of the first column that is there: writing the table reports a missing one.
  for (const { name } of table.columns) {
    const values = source[name] as ArrayLike<number> | undefined;
    if (values !== undefined) {
      return values.length;
    }
  }
  return 0;
}

function firstOf(values: ArrayLike<number>, n: number): ArrayLike<number> {
  return ArrayBuffer.isView(values)
    ? (values as Uint8Array).subarray(0, n)
    : Array.prototype.slice.call(values, 0, n);
}

type ReadHeader = {
  readonly type: string;
  readonly layout: Layout;
  readonly rows: readonly number[];
  readonly blobLengths: readonly number[];
  readonly fields: unknown;
};

/** Reads the messages of one link in one direction. */
export class FrameDecoder<L extends LinkName, D extends Direction> {
  private readonly _layouts: ReadonlyMap<string, Layout>;
  /** The last header that was short and right, and its bytes. The next is often the same: runs that end one by one differ in their columns alone. */
  private _last: ReadHeader | null = null;
  private _lastLength = 0;
  private readonly _lastBytes = new Uint8Array(REPEATED_BYTES);
  private readonly _msgpack = new Decoder({ mapKeyConverter: textKey });

  constructor(
    private readonly _link: L,
    private readonly _direction: D
  ) {
    this._layouts = layoutsOf(_link, _direction);
  }

  /**
   * @param body one body; its bytes must not change afterwards, the message's columns are views of them.
   * @throws BrokenFrame
   * @throws WrongMessage if the frame is whole, and its fields are wrong.
   */
  decode(body: Uint8Array): Message<L, D> {
    const bytes = body.byteOffset % 8 === 0 ? body : new Uint8Array(body);
    const { buffer, byteOffset, byteLength } = bytes;
    if (byteLength < 4) {
      throw new BrokenFrame(`A body of ${byteLength} bytes.`);
    }
    const headerLength = new DataView(buffer, byteOffset).getUint32(0, true);
    if (headerLength > byteLength - 4) {
      throw new BrokenFrame(
        `A header of ${headerLength} bytes in a body of ${byteLength}.`
      );
    }
    const headerBytes = bytes.subarray(4, 4 + headerLength);
    const repeated = this._isRepeated(headerBytes) ? this._last : null;
    const header = repeated ?? this._header(headerBytes);
    const { type, layout, rows, blobLengths } = header;

    let at = 4 + headerLength;
    /** Start of the next section; every one is checked before it is viewed. */
    const section = (length: number): number => {
      const start = aligned(at);
      at = start + length;
      if (at > byteLength) {
        throw new BrokenFrame(
          `"${type}" says more bytes than the ${byteLength} it has.`
        );
      }
      return byteOffset + start;
    };

    const tables: Record<string, unknown> = {};
    for (let i = 0; i < layout.length; i++) {
      const table = layout[i];
      const n = rows[i] ?? 0;
      if (table === undefined) {
        continue;
      }
      if (n === 0) {
        tables[table.name] = table.empty;
        continue;
      }
      const columns: Record<string, unknown> = { rows: n };
      for (const { name, array, width } of table.columns) {
        columns[name] = new array(buffer as ArrayBuffer, section(n * width), n);
      }
      tables[table.name] = columns;
    }
    const blobs = blobLengths.map(length =>
      length === 0
        ? new Uint8Array(0)
        : new Uint8Array(buffer, section(length), length)
    );
    if (at !== byteLength) {
      throw new BrokenFrame(
        `"${type}" accounts for ${at} of its ${byteLength} bytes.`
      );
    }
    // Last: a message is wrong only if its frame is whole.
    const fields = repeated?.fields ?? this._checked(type, header.fields);
    if (repeated === null && headerLength <= REPEATED_BYTES) {
      this._last = { ...header, fields };
      this._lastLength = headerLength;
      this._lastBytes.set(headerBytes);
    }
    return { type, fields, tables, blobs } as unknown as Message<L, D>;
  }

  private _isRepeated(bytes: Uint8Array): boolean {
    if (bytes.length !== this._lastLength) {
      return false;
    }
    for (let i = 0; i < bytes.length; i++) {
      if (bytes[i] !== this._lastBytes[i]) {
        return false;
      }
    }
    return true;
  }

  /** @throws WrongMessage */
  private _checked(type: string, fields: unknown): unknown {
    try {
      return checkFields(this._link, this._direction, type, fields);
    } catch (error) {
      if (error instanceof BrokenFrame) {
        throw new WrongMessage(error.message, type, fields);
      }
      throw error;
    }
  }

  /** The header, whose fields have not been checked. */
  private _header(bytes: Uint8Array): ReadHeader {
    checkShape(bytes);
    let header: unknown;
    try {
      header = this._msgpack.decode(bytes);
    } catch (error) {
      // msgpack throws RangeError, TypeError, DecodeError … depending on where the bytes stop making sense.
      throw new BrokenFrame(`The header is not msgpack: ${String(error)}`);
    }
    if (
      typeof header !== 'object' ||
      header === null ||
      Array.isArray(header)
    ) {
      throw new BrokenFrame('The header is not a map.');
    }
    const { t: type, f: fields, r, b } = header as Record<string, unknown>;
    const layout =
      typeof type === 'string' ? this._layouts.get(type) : undefined;
    if (layout === undefined) {
      throw new BrokenFrame(
        `No message "${String(type).slice(0, 40)}" on the ${this._link} link.`
      );
    }
    const rows = lengths(r, 'rows');
    if (rows.length !== 0 && rows.length !== layout.length) {
      throw new BrokenFrame(
        `"${String(type)}" has ${layout.length} tables, the header ${rows.length}.`
      );
    }
    const blobLengths = lengths(b, 'blobs');
    return { type: type as string, layout, rows, blobLengths, fields };
  }
}

/** Python refuses other keys too. Numbers would come back as text. */
function textKey(key: unknown): string {
  if (typeof key !== 'string') {
    throw new TypeError(`A key is ${typeof key}, not text.`);
  }
  return key;
}

const NONE: readonly number[] = Object.freeze([]);

function lengths(value: unknown, what: string): readonly number[] {
  if (value === undefined || value === null) {
    return NONE;
  }
  if (
    !Array.isArray(value) ||
    !value.every(
      n =>
        Number.isSafeInteger(n) && (n as number) >= 0 && (n as number) < 2 ** 32
    )
  ) {
    throw new BrokenFrame(`The header's ${what} are not a list of lengths.`);
  }
  return value as readonly number[];
}
