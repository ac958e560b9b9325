/**
 * What the scheduler's process knows of tasks besides the core: the client's ids, what a task runs, where its key's text is. In the
 * scheduler process.
 */
import { NONE_U32 } from '../../records/enumerations';
import { grownColumn, tightCapacity } from '../../base/growable-columns';
import { EMPTY_LIST, ValueLists } from '../../base/value-lists';
import { VersionedIds } from '../../base/versioned-ids';
import { MovedKeys } from './moved-keys';
import type { TaskTable } from '../../scheduler';
import type { PerTask, TaskFacts } from '../../sources';
import { arrayOf, type ArrayOf } from '../../base/typed-arrays';
import type {
  ClientTaskId,
  DenseTaskId,
  OuterTaskId,
  SpanId
} from '../../records/ids';

/** A dense id that stands for no task, and the same outside. */
export const NO_TASK = -1 as DenseTaskId;
export const NO_OUTER_TASK = NONE_U32 as OuterTaskId;

/** From here on numbers stand for tasks of other clients, in one report. */
const FOREIGN = 0x80000000;
const NONE_ADOPTED: readonly Adopted[] = [];

/** A client's side of its ids, see `ClientTasks`. */
type IdsOfClient = {
  readonly client: number;
  /** Tasks that it submitted and that are not forgotten. */
  living: number;
  /** The client has gone. */
  hasLeft: boolean;
  resolve(clientId: ClientTaskId): DenseTaskId;
  /** The task that this id stood for is forgotten. */
  free(clientId: ClientTaskId): void;
};

/** The id of a client for a task that another one has submitted. */
type Adopted = {
  readonly client: number;
  readonly clientId: ClientTaskId;
  wanted: boolean;
};

/** The texts of the keys of one message. */
type KeyTexts = {
  readonly blob: Uint8Array;
};

/**
 * Columns by dense task id. The ids are given out here: what the core calls 7, the worker and peer links call the outer id of 7 (see
 * `VersionedIds`), and its client calls by an id of its own (see `ClientTasks`). A task has one client and may have several ids of it: an
 * alias is another name of its dependency. Other clients that have adopted the task have ids of their own for it.
 *
 * ```
 *   client id 12 ─┐
 *                 ├─► dense id 7 ◄─► outer id (2 << 22) | 7 on worker and peer links
 *   alias id 15 ──┘
 * ```
 */
export class TaskRows implements TaskFacts {
  readonly ids: VersionedIds<DenseTaskId, OuterTaskId>;
  /** The client that submitted it. */
  client: PerTask<Uint16Array> = new Uint16Array(0);
  /** That client's own id of the task. */
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
  span: PerTask<ArrayOf<Uint32Array, SpanId>> = arrayOf(Uint32Array, []);
  /** {@link SubmitFlag} bits. */
  flags: PerTask<Uint8Array> = new Uint8Array(0);
  node: PerTask<Uint32Array> = new Uint32Array(0);
  attempts: PerTask<Uint8Array> = new Uint8Array(0);
  /** The rest of the key's text: bytes [keyStart, keyEnd) of the task's key texts. */
  keyStart: PerTask<Uint32Array> = new Uint32Array(0);
  keyEnd: PerTask<Uint32Array> = new Uint32Array(0);
  /** Index + 1 of an inline result that came in this turn, 0: none. */
  inline: PerTask<Uint32Array> = new Uint32Array(0);
  /** 1: another process may have fetched the result; its key is kept for a while, see {@link MovedKeys}. */
  mayMove: PerTask<Uint8Array> = new Uint8Array(0);
  readonly movedKeys = new MovedKeys();
  private _keyTexts: PerTask<(KeyTexts | undefined)[]> = [];
  private readonly _aliases = new ValueLists<ClientTaskId>();
  private readonly _clients = new Map<number, IdsOfClient>();
  /** Head of the list of all ids that stand for the task besides `clientId`. */
  private _firstName: PerTask<Int32Array> = new Int32Array(0);
  private readonly _names = new ValueLists<ClientTaskId>();
  /** Few tasks have any. */
  private readonly _adopted = new Map<DenseTaskId, Adopted[]>();

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

  addClient(client: IdsOfClient): void {
    this._clients.set(client.client, client);
  }

  /** The client names nothing any more. Its ids stand for tasks as long as there are any, for others may have them from it. */
  removeClient(client: number): void {
    const ids = this._clients.get(client);
    if (ids !== undefined) {
      ids.hasLeft = true;
      this._forgetIfEmpty(ids);
    }
    for (const [task, names] of this._adopted) {
      const left = names.filter(each => each.client !== client);
      if (left.length < names.length) {
        this._setAdopted(task, left);
      }
    }
  }

  /** The task that a client's id stands for, whoever asks; −1: none (any more). */
  resolve(client: number, clientId: ClientTaskId): DenseTaskId {
    return this._clients.get(client)?.resolve(clientId) ?? NO_TASK;
  }

  /** How many tasks clients have from others. */
  get adoptedCount(): number {
    return this._adopted.size;
  }

  /** Takes a dense id for a client's task; −1 when there are too many tasks. */
  take(clientId: ClientTaskId, client: number): DenseTaskId {
    const task = this.ids.take();
    if (task < 0) {
      return task;
    }
    if (task >= this.clientId.length) {
      this._grow(task + 1);
    }
    this.client[task] = client;
    this.clientId[task] = clientId;
    const ids = this._clients.get(client);
    if (ids !== undefined) {
      ids.living++;
    }
    this.attempts[task] = 0;
    this.wanted[task] = 0;
    this.inline[task] = 0;
    this.mayMove[task] = 0;
    return task;
  }

  /** Notes another id for a task, of its client or of one that adopts it. */
  addName(task: DenseTaskId, clientId: ClientTaskId, client: number): void {
    if (client === this.client[task]) {
      this._firstName[task] = this._names.add(this._firstName[task]!, clientId);
    } else {
      const names = this._adopted.get(task) ?? [];
      this._adopted.set(task, [...names, { client, clientId, wanted: false }]);
    }
  }

  /** A number by which a client knows a task of any client; for reports, each of which explains its own. */
  numberFor(task: DenseTaskId, client: number): ClientTaskId {
    return client === this.client[task]
      ? this.clientId[task]!
      : ((FOREIGN + task) as ClientTaskId);
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

  /** @returns whether the client did not want the task before. */
  want(clientId: ClientTaskId, task: DenseTaskId, client: number): boolean {
    if (client !== this.client[task]) {
      const own = this._adoptedBy(task, client);
      const isFirst = own.every(({ wanted }) => !wanted);
      for (const each of own) {
        each.wanted ||= each.clientId === clientId;
      }
      return isFirst;
    }
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

  /** @returns whether the client wanted it under this id and now does not under any. */
  unwant(clientId: ClientTaskId, task: DenseTaskId, client: number): boolean {
    if (client !== this.client[task]) {
      return this._unadopt(clientId, task, client);
    }
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

  /** Drops the client's wants under all its ids. */
  unwantAll(task: DenseTaskId, client: number): void {
    if (client !== this.client[task]) {
      for (const each of this._adoptedBy(task, client)) {
        each.wanted = false;
      }
      return;
    }
    this.wanted[task] = 0;
    while (this.firstAlias[task] !== EMPTY_LIST) {
      const head = this.firstAlias[task]!;
      this.firstAlias[task] = this._aliases.remove(
        head,
        this._aliases.value(head)
      );
    }
  }

  /** Whether the client that submitted it wants it. */
  isWanted(task: DenseTaskId): boolean {
    return this.wanted[task] === 1 || this.firstAlias[task] !== EMPTY_LIST;
  }

  /** The ids under which a client wants a task. */
  forEachWanted(
    task: DenseTaskId,
    client: number,
    tell: (clientId: ClientTaskId) => void
  ): void {
    if (client !== this.client[task]) {
      for (const { clientId, wanted } of this._adoptedBy(task, client)) {
        if (wanted) {
          tell(clientId);
        }
      }
      return;
    }
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
    if (this.mayMove[task] === 1) {
      const key = { group: this.group[task]!, suffix: this.keySuffix(task) };
      this.movedKeys.keep(this.ids.outer(task), key);
    }
    this.unwantAll(task, this.client[task]!);
    this._keyTexts[task] = undefined;
    for (const { client, clientId } of this._adopted.get(task) ??
      NONE_ADOPTED) {
      this._clients.get(client)?.free(clientId);
    }
    this._adopted.delete(task);
    const ids = this._clients.get(this.client[task]!);
    if (ids !== undefined) {
      ids.free(this.clientId[task]!);
      ids.living--;
      this._forgetIfEmpty(ids);
    }
    while (this._firstName[task] !== EMPTY_LIST) {
      const head = this._firstName[task]!;
      const name = this._names.value(head);
      this._firstName[task] = this._names.remove(head, name);
      ids?.free((name >>> 0) as ClientTaskId);
    }
    this.ids.giveBack(task);
  }

  private _adoptedBy(task: DenseTaskId, client: number): readonly Adopted[] {
    return (this._adopted.get(task) ?? NONE_ADOPTED).filter(
      each => each.client === client
    );
  }

  /** The client lets go of an id of a task that it has adopted: it will not be used again. */
  private _unadopt(
    clientId: ClientTaskId,
    task: DenseTaskId,
    client: number
  ): boolean {
    const own = this._adoptedBy(task, client);
    const going = own.find(each => each.clientId === clientId);
    if (going === undefined) {
      return false;
    }
    const names = this._adopted.get(task) ?? [];
    this._setAdopted(
      task,
      names.filter(each => each !== going)
    );
    this._clients.get(client)?.free(clientId);
    return going.wanted && own.every(each => each === going || !each.wanted);
  }

  private _setAdopted(task: DenseTaskId, names: Adopted[]): void {
    if (names.length > 0) {
      this._adopted.set(task, names);
    } else {
      this._adopted.delete(task);
    }
  }

  private _forgetIfEmpty(ids: IdsOfClient): void {
    if (ids.hasLeft && ids.living === 0) {
      this._clients.delete(ids.client);
    }
  }

  private _grow(extent: number): void {
    const capacity = tightCapacity(this.clientId.length, extent);
    this.client = grownColumn(this.client, capacity);
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
    this.mayMove = grownColumn(this.mayMove, capacity);
  }
}
