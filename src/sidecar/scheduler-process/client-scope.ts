/**
 * What the numbers of one client stand for. Every client counts its tasks, templates, chunks, spans and memory runs from the beginning;
 * within the cluster these numbers mean nothing without the client. In the scheduler's process.
 *
 * ```
 *   client 0, task 12 ──► dense id 7     client 0, template 3 ──► template 3     client 0, span 1 ──► span 1
 *   client 1, task 12 ──► dense id 8     client 1, template 3 ──► template 4     client 1, span 1 ──► span 65534
 * ```
 */
import { LARGEST_U16, NONE_U32, SpanOrigin } from '../../records/enumerations';
import type { ArrayOf } from '../../base/typed-arrays';
import {
  DEFAULT_SPAN,
  type ClientTaskId,
  type DenseTaskId,
  type SpanId
} from '../../records/ids';
import type { BlobStore } from './blob-store';
import { ClientIds } from './client-ids';
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

/** Gives out numbers that no other client has: the wanted one if it is free, else the largest that is. */
export class SharedNumbers {
  private readonly _taken = new Set<number>();
  private _next: number;

  /** @param last - the largest number. */
  constructor(last: number) {
    this._next = last;
  }

  /**
   * @param wanted - null: any.
   * @returns −1: none is free.
   */
  take(wanted: number | null): number {
    let number = wanted;
    if (number === null || this._taken.has(number)) {
      while (this._next >= 0 && this._taken.has(this._next)) {
        this._next--;
      }
      number = this._next;
    }
    if (number >= 0) {
      this._taken.add(number);
    }
    return number;
  }
}

/** So many spans of a log have numbers of their own, whatever they are called. */
const OWN_SPANS = 32_768;

/**
 * The log's numbers of spans. When half of them are given out, a span joins the first one of the same notebook or program that has its path; only
 * if there is none it gets a number of its own. So a cluster that lives for months keeps numbers for what is new.
 */
export class SpanNumbers {
  private readonly _firstOfPath = new Map<string, number>();
  private readonly _numbers: SharedNumbers;
  private _given = 0;

  constructor(
    last: number,
    private readonly _own = OWN_SPANS
  ) {
    this._numbers = new SharedNumbers(last);
  }

  /**
   * @param wanted - null: any.
   * @param whose - notebook or program.
   * @returns −1: none is free.
   */
  take(
    wanted: number | null,
    whose: string,
    parent: SpanId,
    tag: string
  ): number {
    const path = JSON.stringify([whose, parent, tag]);
    const first = this._firstOfPath.get(path);
    if (first !== undefined && this._given >= this._own) {
      return first;
    }
    const number = this._numbers.take(wanted);
    if (number <= DEFAULT_SPAN) {
      return -1;
    }
    this._given++;
    if (first === undefined) {
      this._firstOfPath.set(path, number);
    }
    return number;
  }
}

/** What spans are called in which nothing was opened. */
const DEFAULT_TAG = 'default';

/** Stands for no span of a client that has numbers left; older ones used it for all that came after. */
const LAST_SPAN = LARGEST_U16 as SpanId;

type SpanRow = {
  readonly id: SpanId;
  readonly parent: SpanId;
  readonly tag: string;
  readonly opened: number;
  readonly closed: number | null;
  readonly origin: number;
  /** Of a worker's client: the span of the log that it is. */
  readonly same?: SpanId | undefined;
};

/** The spans of one client, as the log numbers them. */
export class ClientSpans {
  /** By the client's number that of the log; null while all are the same. */
  private _map: ArrayOf<Uint16Array, SpanId> | null = null;
  private readonly _announced = new Set<SpanId>([DEFAULT_SPAN, LAST_SPAN]);
  /** Those for which the log had no number left: they count to their parents. */
  private readonly _unnumbered = new Set<SpanId>();
  /** Those that have not closed, as they were announced. */
  private readonly _open = new Map<SpanId, SpanRow>();
  /** What the client's default span is in the log. */
  private _default: SpanId = DEFAULT_SPAN;
  private _hasOwnDefault = false;

  /** @param _whose - what the client's notebook or program is called. */
  constructor(
    private readonly _numbers: SpanNumbers,
    private readonly _whose: string
  ) {}

  /** The log's number. */
  outer(id: SpanId): SpanId {
    if (id === DEFAULT_SPAN) {
      return this._default;
    }
    return this._map === null ? id : this._map[id]!;
  }

  /** The client's number of a span of the log. */
  own(outer: SpanId): SpanId {
    const own = this._map?.indexOf(outer) ?? outer;
    return own < 0 || outer === this._default ? DEFAULT_SPAN : (own as SpanId);
  }

  /**
   * Gives the client a default span of its own, in which what it computes outside of all spans is told from what others do. @returns its row, the
   * first time.
   */
  takeOwnDefault(now: number): SpanRow[] {
    if (this._hasOwnDefault) {
      return [];
    }
    this._hasOwnDefault = true;
    const { _numbers, _whose } = this;
    const id = _numbers.take(null, _whose, DEFAULT_SPAN, DEFAULT_TAG);
    if (id < 0) {
      // All are given out.
      return [];
    }
    this._default = id as SpanId;
    const row: SpanRow = {
      id: this._default,
      parent: DEFAULT_SPAN,
      tag: DEFAULT_TAG,
      opened: now,
      closed: null,
      origin: SpanOrigin.Default
    };
    this._open.set(row.id, row);
    return [row];
  }

  /** Rows of the client as rows of the log. */
  announce<R extends SpanRow>(rows: readonly R[]): R[] {
    return rows.flatMap(row => {
      if (row.same !== undefined) {
        this._announced.add(row.id);
        this._bind(row.id, row.same);
        return [];
      }
      const isRoot = row.parent === DEFAULT_SPAN;
      const parent = isRoot ? DEFAULT_SPAN : this.outer(row.parent);
      const id = this._numberOf(row, parent);
      if (this._unnumbered.has(row.id)) {
        return [];
      }
      const said = { ...row, id, parent };
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
    const rows = [...this._open.values()].map(row => ({ ...row, closed: now }));
    this._open.clear();
    return rows;
  }

  private _numberOf({ id, parent, tag }: SpanRow, above: SpanId): SpanId {
    if (!this._announced.has(id)) {
      this._announced.add(id);
      // What is below one of those counts to the same.
      const outer = this._unnumbered.has(parent)
        ? -1
        : this._numbers.take(id, this._whose, above, tag);
      if (outer < 0) {
        this._unnumbered.add(id);
      }
      this._bind(id, outer < 0 ? this.outer(parent) : (outer as SpanId));
    }
    return this.outer(id);
  }

  private _bind(id: SpanId, outer: SpanId): void {
    if (outer !== id) {
      this._map ??= sameNumbers();
      this._map[id] = outer;
    }
  }
}

function sameNumbers(): ArrayOf<Uint16Array, SpanId> {
  return Uint16Array.from({ length: LARGEST_U16 + 1 }, (_, i) => i) as ArrayOf<
    Uint16Array,
    SpanId
  >;
}
