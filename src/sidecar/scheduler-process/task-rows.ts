/**
 * What the scheduler's process knows of tasks beside the core: the client's ids, what runs, where the key's text is.
 * In the scheduler process.
 */
import { NONE_U32 } from '../../records/enumerations';
import { grownColumn, nextCapacity } from '../../base/growable-columns';
import { EMPTY_LIST, ValueLists } from '../../base/value-lists';
import { VersionedIds } from '../../base/versioned-ids';
import type { TaskTable } from '../../scheduler';
import type { PerTask, TaskFacts } from '../../sources';
import { arrayOf, type ArrayOf } from '../../base/typed-arrays';
import type {
  ClientTaskId,
  DenseTaskId,
  OuterTaskId,
  SpanId
} from '../../records/ids';
import { ClientIds } from './client-ids';

/** A dense id that stands for no task, and the same outside. */
export const NO_TASK = -1 as DenseTaskId;
const NO_OUTER_TASK = NONE_U32 as OuterTaskId;

/** The texts of the keys of one message. */
type KeyTexts = {
  readonly blob: Uint8Array;
};

/**
 * Columns by dense task id. The ids are given out here: what the core calls 7, the worker and peer links call the outer id of 7 (see
 * `VersionedIds`), and the client calls by an id of its own. A task may have several ids of the client's: an alias is another name of
 * its dependency.
 *
 * ```
 *   client id 12 ─┐
 *                 ├─► dense id 7 ◄─► outer id (2 << 22) | 7 on worker and peer links
 *   alias id 15 ──┘
 * ```
 */
export class TaskRows implements TaskFacts {
  readonly ids: VersionedIds<DenseTaskId, OuterTaskId>;
  /** The client's own id of the task. */
  clientId: PerTask<ArrayOf<Uint32Array, ClientTaskId>> = arrayOf(
    Uint32Array,
    []
  );
  /** 1: the client wants the task under `clientId`. */
  wanted: PerTask<Uint8Array> = new Uint8Array(0);
  /** Head of the list of aliases that the client wants. */
  firstAlias: PerTask<Int32Array> = new Int32Array(0);
  template: PerTask<Uint32Array> = new Uint32Array(0);
  chunk: PerTask<Uint32Array> = new Uint32Array(0);
  row: PerTask<Uint32Array> = new Uint32Array(0);
  /** The log's names of function and group. */
  functionId: PerTask<Uint32Array> = new Uint32Array(0);
  group: PerTask<Uint32Array> = new Uint32Array(0);
  span: PerTask<ArrayOf<Uint16Array, SpanId>> = arrayOf(Uint16Array, []);
  /** {@link SubmitFlag} bits. */
  flags: PerTask<Uint8Array> = new Uint8Array(0);
  node: PerTask<Uint32Array> = new Uint32Array(0);
  attempts: PerTask<Uint8Array> = new Uint8Array(0);
  /** The rest of the key's text: bytes [keyStart, keyEnd) of the task's key texts. */
  keyStart: PerTask<Uint32Array> = new Uint32Array(0);
  keyEnd: PerTask<Uint32Array> = new Uint32Array(0);
  /** Index + 1 of an inline result that came in this turn, 0: none. */
  inline: PerTask<Uint32Array> = new Uint32Array(0);
  private _keyTexts: PerTask<(KeyTexts | undefined)[]> = [];
  private readonly _aliases = new ValueLists<ClientTaskId>();
  /** Outer ids; those of forgotten tasks are no longer valid. */
  private readonly _byClientId = new ClientIds(NO_OUTER_TASK);
  /** Head of the list of all ids that stand for the task besides `clientId`. */
  private _firstName: PerTask<Int32Array> = new Int32Array(0);
  private readonly _names = new ValueLists<ClientTaskId>();

  /**
   * @param _core - the scheduler's own columns, by the same ids.
   * @param mostTasks - how many there may be at a time.
   */
  constructor(
    private readonly _core: TaskTable,
    mostTasks?: number
  ) {
    this.ids = new VersionedIds(mostTasks);
  }

  get unfinishedSince(): PerTask<Float64Array> {
    return this._core.unfinishedSince;
  }

  /** Takes a dense id; −1 when there are too many tasks. */
  take(clientId: ClientTaskId): DenseTaskId {
    const task = this.ids.take();
    if (task < 0) {
      return task;
    }
    if (task >= this.clientId.length) {
      this._grow(task + 1);
    }
    this.clientId[task] = clientId;
    this.attempts[task] = 0;
    this.wanted[task] = 0;
    this.inline[task] = 0;
    this._byClientId.bind(clientId, this.ids.outer(task));
    return task;
  }

  /** One more than the largest id that the client has given. */
  get clientIds(): number {
    return this._byClientId.end;
  }

  /** The client has given ids below `end`; those that are not bound stand for nothing. */
  skipClientIds(end: number): void {
    this._byClientId.skipTo(end);
  }

  /** How many pages of the client's ids take memory. */
  get clientIdPages(): number {
    return this._byClientId.pages;
  }

  /** Makes the unused `clientId` another id of a task. */
  bind(clientId: ClientTaskId, task: DenseTaskId): void {
    this._byClientId.bind(clientId, this.ids.outer(task));
    this._firstName[task] = this._names.add(this._firstName[task]!, clientId);
  }

  /** The dense id that a client's id stands for, or −1. */
  resolve(clientId: ClientTaskId): DenseTaskId {
    const outer = this._byClientId.get(clientId);
    return outer === NO_OUTER_TASK ? NO_TASK : this.ids.resolve(outer);
  }

  setKeyTexts(task: DenseTaskId, texts: KeyTexts): void {
    this._keyTexts[task] = texts;
  }

  /** The bytes of the key after its group. */
  keySuffix(task: DenseTaskId): Uint8Array {
    const texts = this._keyTexts[task];
    return texts === undefined
      ? new Uint8Array(0)
      : texts.blob.subarray(this.keyStart[task], this.keyEnd[task]);
  }

  // ---- wants, under each of the client's ids

  /** @returns whether the task was not wanted before. */
  want(clientId: ClientTaskId, task: DenseTaskId): boolean {
    const isFirst = !this.isWanted(task);
    if (this.clientId[task] === clientId) {
      this.wanted[task] = 1;
    } else if (!this._aliases.has(this.firstAlias[task]!, clientId)) {
      this.firstAlias[task] = this._aliases.add(
        this.firstAlias[task]!,
        clientId
      );
    }
    return isFirst;
  }

  /** @returns whether it was wanted under this id and now is not under any. */
  unwant(clientId: ClientTaskId, task: DenseTaskId): boolean {
    if (!this.isWanted(task)) {
      return false;
    }
    if (this.clientId[task] === clientId) {
      this.wanted[task] = 0;
    } else {
      this.firstAlias[task] = this._aliases.remove(
        this.firstAlias[task]!,
        clientId
      );
    }
    return !this.isWanted(task);
  }

  /** Drops the wants under all ids. */
  unwantAll(task: DenseTaskId): void {
    this.wanted[task] = 0;
    while (this.firstAlias[task] !== EMPTY_LIST) {
      const head = this.firstAlias[task]!;
      this.firstAlias[task] = this._aliases.remove(
        head,
        this._aliases.value(head)
      );
    }
  }

  isWanted(task: DenseTaskId): boolean {
    return this.wanted[task] === 1 || this.firstAlias[task] !== EMPTY_LIST;
  }

  /** The ids under which the client wants a task. */
  forEachWanted(
    task: DenseTaskId,
    tell: (clientId: ClientTaskId) => void
  ): void {
    if (this.wanted[task] === 1) {
      tell(this.clientId[task]!);
    }
    for (
      let node = this.firstAlias[task]!;
      node !== EMPTY_LIST;
      node = this._aliases.next(node)
    ) {
      tell(this._aliases.value(node));
    }
  }

  /** The core has forgotten the task. */
  giveBack(task: DenseTaskId): void {
    this.unwantAll(task);
    this._keyTexts[task] = undefined;
    this._byClientId.free(this.clientId[task]!);
    while (this._firstName[task] !== EMPTY_LIST) {
      const head = this._firstName[task]!;
      const name = this._names.value(head);
      this._firstName[task] = this._names.remove(head, name);
      this._byClientId.free((name >>> 0) as ClientTaskId);
    }
    this.ids.giveBack(task);
  }

  private _grow(extent: number): void {
    const capacity = nextCapacity(this.clientId.length, extent);
    this.clientId = grownColumn(this.clientId, capacity);
    this.wanted = grownColumn(this.wanted, capacity);
    this.firstAlias = grownColumn(this.firstAlias, capacity, EMPTY_LIST);
    this._firstName = grownColumn(this._firstName, capacity, EMPTY_LIST);
    this.template = grownColumn(this.template, capacity);
    this.chunk = grownColumn(this.chunk, capacity);
    this.row = grownColumn(this.row, capacity);
    this.functionId = grownColumn(this.functionId, capacity);
    this.group = grownColumn(this.group, capacity);
    this.span = grownColumn(this.span, capacity);
    this.flags = grownColumn(this.flags, capacity);
    this.node = grownColumn(this.node, capacity);
    this.attempts = grownColumn(this.attempts, capacity);
    this.keyStart = grownColumn(this.keyStart, capacity);
    this.keyEnd = grownColumn(this.keyEnd, capacity);
    this.inline = grownColumn(this.inline, capacity);
  }
}
