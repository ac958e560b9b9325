/**
 * What the numbers of one client stand for. Every client counts its tasks, templates, chunks, spans and memory runs from the beginning;
 * within the cluster these numbers mean nothing without the client. In the scheduler's process.
 *
 * ```
 *   client 0, task 12 ──► dense id 7     client 0, template 3 ──► template 3     client 0, span 1 ──► span 1
 *   client 1, task 12 ──► dense id 8     client 1, template 3 ──► template 4     client 1, span 1 ──► span 2147483648
 * ```
 */
import { NumberSet } from '../../base/number-set';
import { NONE_U32 } from '../../records/enumerations';
import {
  DEFAULT_SPAN,
  type ClientTaskId,
  type DenseTaskId,
  type OuterTaskId,
  type SpanId
} from '../../records/ids';
import type { SpanRow } from '../../sources';
import type { BlobStore } from './blob-store';
import { ClientIds } from './client-ids';
import { DefaultSpans } from './default-spans';
import { FIRST_GIVEN, type SpanNumbers } from './span-numbers';
import { NO_OUTER_TASK, NO_TASK, type TaskRows } from './task-rows';

/** The tasks of one client. */
export class ClientTasks {
  private readonly _byClientId = new ClientIds(NO_OUTER_TASK);
  /** See `IdsOfClient`; `TaskRows` counts. */
  living = 0;
  hasLeft = false;

  constructor(
    private readonly _rows: TaskRows,
    readonly client: number
  ) {
    _rows.addClient(this);
  }

  /** Takes a dense id; −1 when there are too many tasks. */
  take(clientId: ClientTaskId): DenseTaskId {
    const task = this._rows.take(clientId, this.client);
    if (task >= 0) {
      this._byClientId.bind(clientId, this._rows.ids.outer(task));
    }
    return task;
  }

  /** Makes the unused `clientId` an id of a task that has one already, of this client or of another. */
  bind(clientId: ClientTaskId, task: DenseTaskId): void {
    this._byClientId.bind(clientId, this._rows.ids.outer(task));
    this._rows.addName(task, clientId, this.client);
  }

  /** The dense id that a client's id stands for, or −1. */
  resolve(clientId: ClientTaskId): DenseTaskId {
    const outer = this._byClientId.get(clientId);
    return outer === NO_OUTER_TASK ? NO_TASK : this._rows.ids.resolve(outer);
  }

  /** One more than the largest id that the client has given. */
  get end(): number {
    return this._byClientId.end;
  }

  /** The client has given ids below `end`; those that are not bound stand for nothing. */
  skipTo(end: number): void {
    this._byClientId.skipTo(end);
  }

  /** How many pages of the client's ids take memory. */
  get pages(): number {
    return this._byClientId.pages;
  }

  /** The task that this id stood for is forgotten. */
  free(clientId: ClientTaskId): void {
    this._byClientId.free(clientId);
  }
}

/** The templates and chunks of one client, as the workers know them. */
export class ClientBlobs {
  private readonly _templates = new Map<number, number>();
  private readonly _named = new Map<number, number>();

  constructor(private readonly _store: BlobStore) {}

  /** How many templates the client may name. */
  get size(): number {
    return this._templates.size;
  }

  hasTemplate(id: number): boolean {
    return this._templates.has(id);
  }

  /** The cluster's number of a template; none for one that this client never sent. */
  template(id: number): number {
    return this._templates.get(id) ?? NONE_U32;
  }

  addTemplate(id: number, bytes: Uint8Array): void {
    this.forget([id]);
    const outer = this._store.takeTemplateId();
    this._templates.set(id, outer);
    this._named.set(outer, id);
    this._store.addTemplate(outer, bytes);
  }

  /** @returns the cluster's number: only the message that brings a chunk names it. */
  addChunk(bytes: Uint8Array): number {
    const outer = this._store.takeChunkId();
    this._store.addChunk(outer, bytes);
    return outer;
  }

  /** The client will not name these templates again. */
  forget(ids: Iterable<number>): void {
    const outers: number[] = [];
    for (const id of ids) {
      const outer = this._templates.get(id);
      if (outer !== undefined) {
        this._templates.delete(id);
        this._named.delete(outer);
        outers.push(outer);
      }
    }
    this._store.forget(outers);
  }

  /** The client names no template any more. */
  forgetAll(): void {
    this.forget([...this._templates.keys()]);
  }

  /** This client's numbers of those templates that are its own. */
  own(outers: readonly number[]): number[] {
    return outers.flatMap(outer => this._named.get(outer) ?? []);
  }
}

type ClientSpanRow = SpanRow & {
  /** Of a worker's client: the span of the log that it is. */
  readonly same?: SpanId | undefined;
};

/** Of so many spans, the newest, it is kept that the log gave them another number than their client. Clients remember fewer that are closed. */
const MOST_RENUMBERED = 1_000_000;

/** The spans of one client, as the log numbers them. */
export class ClientSpans {
  /** By the client's number that of the log, where it is another, and the other way round. */
  private readonly _outers = new Map<SpanId, SpanId>();
  private readonly _owns = new Map<SpanId, SpanId>();
  private readonly _announced = new NumberSet();
  /** Of the client's numbers: the log's are not known any more. In the log they are spans of others. */
  private readonly _forgotten = new NumberSet();
  /** Those that have not closed, by the log's number, as they were announced. */
  private readonly _open = new Map<SpanId, SpanRow>();
  private readonly _defaults: DefaultSpans;

  /**
   * @param whose - what the client's notebook or program is called.
   * @param client - its number.
   */
  constructor(
    private readonly _numbers: SpanNumbers,
    whose: string,
    client = 0,
    private readonly _mostRenumbered = MOST_RENUMBERED
  ) {
    this._defaults = new DefaultSpans(_numbers, whose, client);
    this._announced.add(DEFAULT_SPAN);
  }

  /** The log's number; of a span that is forgotten that of the client's default span. */
  outer(id: SpanId): SpanId {
    if (id === DEFAULT_SPAN) {
      return this._defaults.span;
    }
    const known = this._outers.size === 0 ? id : this._outers.get(id);
    return known ?? (this._forgotten.has(id) ? this._defaults.span : id);
  }

  /** The client's number of a span of the log; 0: it is none of its own. */
  own(outer: SpanId): SpanId {
    const own = this._owns.get(outer);
    if (own !== undefined) {
      return own;
    }
    return outer >= FIRST_GIVEN ||
      this._outers.has(outer) ||
      this._forgotten.has(outer)
      ? DEFAULT_SPAN
      : outer;
  }

  /**
   * Gives the client a default span of its own, in which what it computes outside of all spans is told from what others do. @returns its row, the
   * first time.
   */
  takeOwnDefault(now: number): SpanRow[] {
    return this._defaults.takeOwn(now);
  }

  /** See `DefaultSpans.next`. */
  nextDefault(
    now: number,
    isUnfinished: (task: OuterTaskId) => boolean
  ): SpanRow[] {
    return this._defaults.next(now, isUnfinished);
  }

  /** A task outside of all spans has come. */
  addToDefault(task: OuterTaskId): void {
    this._defaults.add(task);
  }

  /** See `DefaultSpans.closeIdle`. */
  closeIdleDefault(
    now: number,
    isUnfinished: (task: OuterTaskId) => boolean
  ): SpanRow[] {
    return this._defaults.closeIdle(now, isUnfinished);
  }

  /** Rows of the client as rows of the log. */
  announce<R extends ClientSpanRow>(
    rows: readonly R[]
  ): (R & { readonly client?: number | undefined })[] {
    return rows.flatMap(row => {
      if (row.same !== undefined) {
        this._announced.add(row.id);
        this._bind(row.id, row.same);
        return [];
      }
      if (this._forgotten.has(row.id)) {
        // The client has forgotten it before: it was told as closed, and all of it.
        return [];
      }
      const isRoot = row.parent === DEFAULT_SPAN;
      const above = isRoot ? DEFAULT_SPAN : this.outer(row.parent);
      // What a task opens that is outside of all spans has no parent, as what its program opens.
      const client = this._numbers.clientOfDefault(above);
      const parent = client === undefined ? above : DEFAULT_SPAN;
      const id = this._numberOf(row);
      const said = { ...row, id, parent, client };
      if (said.closed === null) {
        this._open.set(id, said);
      } else {
        this._open.delete(id);
      }
      return said;
    });
  }

  /** What is still open, closed now: the client has gone. */
  close(now: number): SpanRow[] {
    const { open } = this._defaults;
    const rows = [...(open === null ? [] : [open]), ...this._open.values()];
    this._open.clear();
    return rows.map(row => ({ ...row, closed: now }));
  }

  private _numberOf({ id }: ClientSpanRow): SpanId {
    if (this._announced.add(id)) {
      this._bind(id, this._numbers.take(id));
    }
    return this.outer(id);
  }

  private _bind(id: SpanId, outer: SpanId): void {
    if (outer === id) {
      return;
    }
    this._outers.set(id, outer);
    this._owns.set(outer, id);
    for (const [oldest, number] of this._outers) {
      if (this._outers.size <= this._mostRenumbered) {
        return;
      }
      this._outers.delete(oldest);
      if (this._open.has(number)) {
        // One that is open is used: it is as the newest.
        this._outers.set(oldest, number);
        return;
      }
      this._forgotten.add(oldest);
      if (this._owns.get(number) === oldest) {
        this._owns.delete(number);
      }
    }
  }
}
