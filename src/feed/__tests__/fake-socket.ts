/** A WebSocket whose other end is the test: it reads what the page asked and answers as an observer would. */
import { FrameDecoder, FrameEncoder } from '../../wire/frame';
import type { FieldsInput, TablesInput, TypeOf } from '../../wire/schema';
import type { ISocket } from '../page-link';

type Up = ReturnType<FrameDecoder<'panel', 'up'>['decode']>;

export class FakeSocket implements ISocket {
  binaryType: BinaryType = 'blob';
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  isClosed = false;
  private _sent: Up[] = [];
  private readonly _decoder = new FrameDecoder('panel', 'up');
  private readonly _encoder = new FrameEncoder('panel', 'down');

  send(data: Uint8Array<ArrayBuffer>): void {
    this._sent.push(this._decoder.decode(data));
  }

  close(): void {
    this.isClosed = true;
  }

  open(): void {
    this.onopen?.(new Event('open'));
  }

  /** The connection breaks. */
  drop(): void {
    this.onclose?.({} as CloseEvent);
  }

  answer<T extends TypeOf<'panel', 'down'>>(
    type: T,
    fields: FieldsInput<'panel', 'down', T>,
    tables?: TablesInput<'panel', 'down', T>
  ): void {
    const body = this._encoder.encodeBody(type, fields, tables);
    this.onmessage?.({ data: body.buffer } as MessageEvent);
  }

  /** What the page has sent since the last call, as `type fields`. */
  taken(): { type: string; fields: Record<string, unknown> }[] {
    const taken = this._sent.map(({ type, fields }) => ({
      type,
      fields: JSON.parse(JSON.stringify(fields)) as Record<string, unknown>
    }));
    this._sent = [];
    return taken;
  }
}
