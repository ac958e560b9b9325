/**
 * Messages over a pipe. Small things are one piece of structured-clone bytes; large memory follows it raw, so that it is neither copied into
 * that piece nor out of it.
 *
 * ```
 *   u32 bytes of body │ u32 buffers │ f64 bytes of each │ body │ buffer 0 │ buffer 1 …
 * ```
 *
 * Numbers are little-endian.
 */
import { Deserializer, Serializer } from 'node:v8';
import { collectLargeBuffers } from './large-buffers';

const HEADER_BYTES = 8;
const LENGTH_BYTES = 8;

type EncodedFrame = {
  readonly chunks: readonly Uint8Array[];
  /** Whether memory of the message itself is among the chunks. */
  readonly isLarge: boolean;
};

/**
 * @param values - where in the message large memory may be
 * @throws an error if something has no copy: a function, a `SharedArrayBuffer`.
 */
export function encodeFrame(
  message: unknown,
  values: readonly unknown[]
): EncodedFrame {
  const large = new Set<ArrayBuffer>();
  for (const value of values) {
    collectLargeBuffers(value, large);
  }
  for (const buffer of large) {
    // Views of it could not be put onto the memory that arrives, which has one size.
    if ((buffer as { resizable?: boolean }).resizable === true) {
      large.delete(buffer);
    }
  }
  const serializer = new Serializer();
  let index = 0;
  for (const buffer of large) {
    serializer.transferArrayBuffer(index++, buffer);
  }
  serializer.writeHeader();
  serializer.writeValue(message);
  const body = serializer.releaseBuffer();
  const head = Buffer.alloc(HEADER_BYTES + LENGTH_BYTES * large.size);
  head.writeUInt32LE(body.byteLength, 0);
  head.writeUInt32LE(large.size, 4);
  index = 0;
  for (const buffer of large) {
    head.writeDoubleLE(
      buffer.byteLength,
      HEADER_BYTES + LENGTH_BYTES * index++
    );
  }
  return {
    chunks: [
      head,
      body,
      ...Array.from(large, buffer => new Uint8Array(buffer))
    ],
    isLarge: large.size > 0
  };
}

/** Whether {@link encodeFrame} can encode the value. */
export function canEncode(value: unknown): boolean {
  try {
    encodeFrame(value, [value]);
    return true;
  } catch {
    return false;
  }
}

/** The value as it arrives in another process. @throws as {@link encodeFrame} */
export function decodedCopy(value: unknown): unknown {
  const serializer = new Serializer();
  serializer.writeHeader();
  serializer.writeValue(value);
  const deserializer = new Deserializer(serializer.releaseBuffer());
  deserializer.readHeader();
  return deserializer.readValue() as unknown;
}

/** Puts the chunks of a stream together and hands out each message. */
export class FrameReader {
  private _lengths: number[] = [];
  private _body: Uint8Array | null = null;
  private _buffers: Uint8Array[] = [];
  /** What is being filled, and how far. */
  private _target: Uint8Array = new Uint8Array(HEADER_BYTES);
  private _filled = 0;
  private _part: 'header' | 'lengths' | 'body' | 'buffers' = 'header';
  private _bodyBytes = 0;

  /** @param _onUnreadable - told of a message that cannot be put together again, such as one with a `WebAssembly.Module` */
  constructor(
    private readonly _onMessage: (message: unknown) => void,
    private readonly _onUnreadable: (error: unknown) => void
  ) {}

  push(chunk: Uint8Array): void {
    let at = 0;
    do {
      const take = Math.min(
        chunk.byteLength - at,
        this._target.byteLength - this._filled
      );
      this._target.set(chunk.subarray(at, at + take), this._filled);
      this._filled += take;
      at += take;
      // More than once: parts may be empty.
      while (this._filled === this._target.byteLength) {
        this._complete();
      }
    } while (at < chunk.byteLength);
  }

  private _complete(): void {
    const view = new DataView(
      this._target.buffer,
      this._target.byteOffset,
      this._target.byteLength
    );
    switch (this._part) {
      case 'header':
        this._bodyBytes = view.getUint32(0, true);
        this._next('lengths', LENGTH_BYTES * view.getUint32(4, true));
        break;
      case 'lengths':
        for (let at = 0; at < view.byteLength; at += LENGTH_BYTES) {
          this._lengths.push(view.getFloat64(at, true));
        }
        this._next('body', this._bodyBytes);
        break;
      case 'body':
        this._body = this._target;
        this._nextBuffer();
        break;
      case 'buffers':
        this._buffers.push(this._target);
        this._nextBuffer();
        break;
    }
  }

  private _nextBuffer(): void {
    const bytes = this._lengths[this._buffers.length];
    if (bytes !== undefined) {
      this._next('buffers', bytes);
      return;
    }
    const deserializer = new Deserializer(this._body!);
    this._buffers.forEach((buffer, id) =>
      deserializer.transferArrayBuffer(id, buffer.buffer as ArrayBuffer)
    );
    this._lengths = [];
    this._buffers = [];
    this._body = null;
    this._next('header', HEADER_BYTES);
    let message: unknown;
    try {
      deserializer.readHeader();
      message = deserializer.readValue();
    } catch (error) {
      this._onUnreadable(error);
      return;
    }
    this._onMessage(message);
  }

  private _next(part: FrameReader['_part'], bytes: number): void {
    this._part = part;
    // Memory of its own, not zeroed: every byte of it is written.
    this._target = Buffer.allocUnsafeSlow(bytes);
    this._filled = 0;
  }
}
