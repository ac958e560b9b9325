import type { BlockBuilder } from '../records/block-builder';
import { Dictionary } from '../records/dictionary';
import { SpanOrigin } from '../records/enumerations';
import { DEFAULT_SPAN, type SpanId } from '../records/ids';
import { LogWriter, type SealedBlock } from '../records/log-writer';
import type { TableName } from '../records/tables';
import { cutInTheMiddle } from './cut-text';
import type { JoinedWorker } from './joined-worker';

/** Characters of a traceback in `events`. The first 2,000 tracebacks (6 MB) are written up to this length; of later ones only the last line. */
const TRACEBACK_CHARACTERS = 3000;
const MOST_TRACEBACKS = 2000;
const LINE_CHARACTERS = 200;

/** A span as its program describes it; times are clock readings. */
export type SpanRow = {
  readonly id: SpanId;
  readonly parent: SpanId;
  readonly tag: string;
  readonly opened: number;
  readonly closed: number | null;
  readonly origin: number;
  readonly uuid?: string | undefined;
  readonly reused?: number | undefined;
  readonly code?: string | undefined;
};

/** What all logs have: a clock, names, the default span, rows about spans, workers and failed runs. */
export abstract class SourceLog {
  readonly names: Dictionary;
  protected readonly writer: LogWriter;
  private _tracebacks = 0;

  /**
   * @param start - reading of the clock from which the log's times count.
   * @param emit - takes the sealed blocks.
   */
  constructor(
    readonly start: number,
    emit: (block: SealedBlock) => void
  ) {
    this.writer = new LogWriter(emit);
    this.names = new Dictionary((id, text) =>
      this.table('names').append({ id, text })
    );
    this.spanRow(0, {
      id: DEFAULT_SPAN,
      parent: DEFAULT_SPAN,
      tag: this.names.id('default'),
      opened: start,
      closed: null,
      origin: SpanOrigin.Default
    });
  }

  /** Seconds since the log's start. */
  since(clock: number): number {
    return clock - this.start;
  }

  protected table<T extends TableName>(name: T): BlockBuilder<T> {
    return this.writer.table(name);
  }

  protected spanRow(
    client: number,
    {
      opened,
      closed,
      uuid = '',
      reused = 0,
      code = '',
      ...row
    }: Omit<SpanRow, 'tag'> & { readonly tag: number }
  ): void {
    this.table('spans').append({
      ...row,
      client,
      opened: this.since(opened),
      closed: closed === null ? NaN : this.since(closed),
      uuid,
      reused,
      code
    });
  }

  /** @param why - empty while it is there. */
  protected workerRow(
    worker: JoinedWorker,
    joined: number,
    left: number,
    why: string
  ): void {
    const { pid, threads, memoryLimit, name, address, host } = worker;
    this.table('workers').append({
      worker: worker.worker,
      pid,
      threads,
      memoryLimit,
      joined: this.since(joined),
      left: this.since(left),
      name,
      address,
      host,
      why
    });
  }

  protected failedRow(
    now: number,
    kind: number,
    worker: number,
    run: number,
    span: SpanId,
    text: string
  ): void {
    this.table('events').append({
      t: this.since(now),
      kind,
      worker,
      span,
      run,
      text:
        this._tracebacks++ < MOST_TRACEBACKS
          ? cutInTheMiddle(text, TRACEBACK_CHARACTERS)
          : cutInTheMiddle(text.trimEnd().split('\n').at(-1)!, LINE_CHARACTERS)
    });
  }
}
