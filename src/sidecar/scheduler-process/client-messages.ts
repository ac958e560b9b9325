/** Handles the messages of one client. In the scheduler process. */
import { NONE_U16, ReportStatus, SubmitFlag } from '../../records/enumerations';
import { assertUnreachable } from '../../base/assert';
import type { Seconds } from '../../base/brand';
import { arrayOf, type ArrayOf } from '../../base/typed-arrays';
import {
  DEFAULT_SPAN,
  type ClientTaskId,
  type DenseTaskId,
  type DenseTaskIds,
  type OuterTaskId
} from '../../records/ids';
import { FailureReason, TaskState } from '../../scheduler';
import type { NamesOf } from '../../sources';
import type { Message } from '../../wire/schema';
import type { AcceptedLink } from '../../link/door';
import { checkFromClient, type ComingGraph } from './check-messages';
import { ClientBlobs, ClientSpans, ClientTasks } from './client-scope';
import type { ClusterState, Launch } from './cluster-state';
import type { MemoryRuns } from './memory-runs';
import {
  answerTo,
  heldAt,
  statesBySpan,
  storyOf,
  workersOf
} from './questions';
import { addressesOf, type ComingParts } from './own-events';
import { NO_ROW, type Refusal } from './report-message';
import type { ModuleOrder } from './scheduler-plugins';
import { factsOf } from './scheduler-watchers';
import { NO_TASK } from './task-rows';
import { whyNotDone } from './why-not-done';
import type { Command, Done } from './worker-control';
import type { WorkerSession } from './worker-session';
import {
  idsTakenBy,
  translateScattered,
  translateSubmit,
  type SubmitContext
} from './translate';

/** The number of the client that has started the cluster. */
export const OWNER = 0;

type FromClient = Message<'client', 'up'>;

/** A key that the core will not report, since it was wanted already under another id: to be reported here. */
export type ExtraReport = readonly [
  clientId: ClientTaskId,
  task: DenseTaskId,
  status: ReportStatus,
  cause: DenseTaskId,
  reason: FailureReason
];

/** What handling clients' messages needs of the cluster besides the core. */
export interface IClientHost {
  readonly memoryRuns: MemoryRuns;
  /** Workers that are being started. */
  readonly startingCount: number;
  reportAlso(client: ClientSession, report: ExtraReport): void;
  /** Fails tasks that were not taken. */
  refuse(client: ClientSession, refusal: Refusal): void;
  /** Carries out what was decided so far, which frees the ids of forgotten tasks. */
  freeIds(): void;
  /** Answers once the observer has everything that was measured. */
  flush(client: ClientSession, request: number): void;
  /** The interval at which workers measure memory may have to change. */
  memoryRatesChanged(): void;
  /** The client's answer to `stalled`. */
  clientWaits(client: ClientSession, waiting: boolean): void;
  /** Where workers look for modules, or what they import ahead, may have to change. */
  launchChanged(): void;
  /** Changes the workers, as the client commands. */
  command(command: Command, done: Done): void;
  /** Numbers for workers that the client's program starts; why there are none. */
  reserve(
    client: ClientSession,
    count: number,
    names: readonly string[]
  ): { readonly workers: number[]; readonly sentence: string };
  /** A worker that the client's program started has ended. */
  workerEnded(
    client: ClientSession,
    worker: number,
    why: string,
    isReplaced: boolean
  ): void;
  /** Loads a module into this process, or unloads it. */
  module(order: ModuleOrder, done: (known: boolean, why: string) => void): void;
  /** What users were told that still keeps tasks from being done; empty: nothing. */
  standing(tasks: readonly DenseTaskId[]): string;
  /** JSON of where this process has been. */
  ownProfile(begins: boolean): string;
  /** The clients that are connected. */
  clientNumbers(): number[];
  /** How many other clients are connected: those who compute, not a Jupyter server. */
  othersThan(client: ClientSession): number;
  /**
   * @param endsAll - the cluster is to end, whoever started it.
   * @param why - as a Jupyter server says it.
   */
  close(client: ClientSession, endsAll: boolean, why: string): void;
  warn(sentence: string): void;
}

export class ClientSession {
  readonly tasks: ClientTasks;
  /** By the scheduler's clock. */
  readonly cameAt: number;
  /** It has said goodbye, and its link is about to close. */
  isLeaving = false;
  /** What this client's Python last said of itself. */
  launch: Launch | null = null;
  private readonly _blobs: ClientBlobs;
  private readonly _spans: ClientSpans;
  /** Memory runs that are on: this client's number, and the log's. */
  private readonly _memoryRuns = new Map<number, number>();
  /** The newest graph that has come whole. */
  private _generation = 0;
  private _coming: ComingGraph | null = null;
  /** Whether there was no room for that graph: the rest of it is not taken either. */
  private _refusing = false;
  /** What there is to say of the graph under way. */
  private _parts: ComingParts | null = null;

  /**
   * @param id - no other client of the cluster has had it; 0 is the owner.
   * @param worker - in whose process it is; null: in a program of its own.
   */
  constructor(
    readonly link: AcceptedLink<'client'>,
    private readonly _cluster: ClusterState,
    private readonly _names: NamesOf,
    private readonly _host: IClientHost,
    readonly id: number,
    readonly worker: number | null
  ) {
    this.tasks = new ClientTasks(_cluster.rows, id);
    this._blobs = new ClientBlobs(_cluster.blobs);
    this._spans = new ClientSpans(
      _cluster.spanNumbers,
      labelOf(link.intro),
      id
    );
    this.cameAt = _cluster.clock();
  }

  /** The client has gone: nothing is wanted or named by it any more, what it measured and marked has ended. */
  leave(): void {
    const { rows, workers, log, clock } = this._cluster;
    for (const run of this._memoryRuns.values()) {
      this._host.memoryRuns.stop(run);
    }
    if (this._memoryRuns.size > 0) {
      this._memoryRuns.clear();
      this._host.memoryRatesChanged();
    }
    log.spans(this.id, this._spans.close(clock()));
    this._blobs.forgetAll();
    for (const { link } of workers.values()) {
      link.send('discard', { clients: [this.id] });
    }
    rows.removeClient(this.id);
    this._cluster.follows.clientLeft(this.id);
    this._cluster.runWatchers.clientLeft(this.id);
    this._cluster.watchers.clientLeft(this.id);
    this._cluster.copies.clientLeft(this.link);
    this._cluster.moves++;
    this._cluster.handle({
      type: 'clientLeft',
      at: this._cluster.at,
      client: this.id
    });
  }

  /** @throws BrokenFrame before anything of the message is taken in. */
  take(message: FromClient): void {
    checkFromClient(message, {
      tasks: this.tasks,
      blobs: this._blobs,
      names: this._names.size,
      coming: this._coming,
      isOfWorker: this.worker !== null
    });
    switch (message.type) {
      case 'submit':
        return this._submit(message);
      case 'waiting':
        return this._host.clientWaits(this, message.fields.waiting);
      case 'forget':
        return this._blobs.forget(message.fields.templates);
      case 'spans':
        this._names.announce(message.fields.firstName, message.fields.names);
        return this._announceSpans(message.fields.spans);
      case 'want':
        return this._want(message);
      case 'release':
        return this._release(message);
      case 'adopt':
        return this._adopt(message);
      case 'keep':
        return this._cluster.holds.keepUntilDone(
          firstRows(message.tables.ids)
            .map(id => this.tasks.resolve(id))
            .filter(task => task >= 0)
        );
      case 'cancel':
        return this._tell('clientCancels', message.tables.ids);
      case 'retry':
        return this._tell('clientRetries', message.tables.ids);
      case 'locate':
        return this._locate(message);
      case 'question':
        return this._answer(message);
      case 'follow':
        return this._cluster.follows.take(
          message,
          this.tasks,
          this._spans,
          this.link
        );
      case 'watchRuns':
        return this._cluster.runWatchers.watch(
          this.id,
          this.link,
          message.fields.on
        );
      case 'watchScheduler':
        return this._watchScheduler(message.fields);
      case 'schedulerModule':
        return this._host.module(message.fields, (known, why) =>
          this.link.send('pluginDone', {
            request: message.fields.request,
            known,
            why
          })
        );
      case 'scattered':
        return this._scattered(message);
      case 'discard':
        return this._discard(message);
      case 'run':
        return this._run(message);
      case 'askClock':
        return this.link.send('clockIs', {
          sent: message.fields.sent,
          clock: this._cluster.clock() as Seconds
        });
      case 'flush':
        return this._host.flush(this, message.fields.request);
      case 'memoryRun':
        return this._memoryRun(message);
      case 'command': {
        const { request, alone } = message.fields;
        const others = alone ? this._host.othersThan(this) : 0;
        if (others > 0) {
          this.link.send('done', { request, workers: [], others });
          return;
        }
        const { what } = message.fields;
        if (what === 'restart') {
          this._cluster.events.restarted(this.id);
        }
        const named = addressesOf(
          message.fields.workers,
          this._cluster.workers
        );
        return this._host.command(message.fields, (workers, sentence) => {
          this._commanded(what, named, workers);
          this.link.send('done', { request, workers: [...workers], sentence });
        });
      }
      case 'copy':
        return this._cluster.copies.take(message, this.tasks, this.link);
      case 'reserve': {
        const { request, count, names } = message.fields;
        const answer = this._host.reserve(this, count, names);
        return this.link.send('done', { request, ...answer });
      }
      case 'workerEnded': {
        const { worker, why, replaced } = message.fields;
        return this._host.workerEnded(this, worker, why, replaced);
      }
      case 'logEvent':
      case 'askEvents':
      case 'subscribe':
      case 'plugin':
      case 'share':
      case 'giveUp':
        return this._cluster.shared.take(message, this.link);
      case 'close':
        return this._host.close(
          this,
          message.fields.cluster,
          message.fields.why
        );
      case 'hello':
      case 'proof':
      case 'refused':
        // The handshake is over; the link deals with refusals.
        return;
      default:
        return assertUnreachable(message);
    }
  }

  /**
   * Asks the client to forget those of its templates that no task needs. It keeps those that a graph under way names.
   *
   * @param excess - of all clients.
   */
  askForUnused(excess: readonly number[]): void {
    const templates = this._blobs.own(excess);
    if (templates.length > 0) {
      this.link.send('unused', { generation: this._generation, templates });
    }
  }

  private _watchScheduler({
    request,
    on
  }: Message<'client', 'up', 'watchScheduler'>['fields']): void {
    const { watchers, workers } = this._cluster;
    watchers.watch(this.id, this.link, on);
    this.link.send('watched', {
      request,
      workers: [...workers.values()]
        .filter(session => session.isReady)
        .map(factsOf),
      clients: this._host.clientNumbers()
    });
  }

  /** Logs what was done to workers. Those that have gone are named by what was known of them. */
  private _commanded(
    what: Command['what'],
    named: ReadonlyMap<number, string>,
    workers: readonly number[]
  ): void {
    const { ownEvents } = this._cluster;
    const done = workers.flatMap(id => named.get(id) ?? []);
    if (what === 'restart') {
      ownEvents.restarted(this.id, done);
    } else if (what === 'retire') {
      const stay = [...named.values()].filter(each => !done.includes(each));
      ownEvents.retired(done, stay);
    }
  }

  private _submit(message: Message<'client', 'up', 'submit'>): void {
    const { fields, tables, blobs } = message;
    const cluster = this._cluster;
    const parts = (this._parts ??= {
      begun: cluster.clock(),
      tasks: 0,
      newTasks: 0,
      readingSeconds: 0,
      settingSeconds: 0,
      hasDefault: false
    });
    parts.tasks += tables.tasks.rows;
    if (fields.launch !== undefined) {
      this.launch = fields.launch;
      this._host.launchChanged();
    }
    this._coming = fields.last
      ? null
      : {
          generation: fields.generation,
          isTold:
            tables.tasks.rows > 0
              ? tables.users.rows > 0
              : (this._coming?.isTold ?? null)
        };
    if (fields.last) {
      this._generation = fields.generation;
    }
    for (const { id, blob } of fields.templates) {
      this._blobs.addTemplate(id, blobs[blob]!);
    }
    this._names.announce(fields.firstName, fields.names);
    this._announceSpans(fields.spans);
    if (this._refusing || !this._hasRoomFor(message)) {
      this._refuseGraph(message);
      if (fields.last) {
        this._graphCame(parts, true);
      }
      return;
    }
    const chunks = new Map<number, number>();
    for (const { id, blob } of fields.chunks) {
      chunks.set(id, this._blobs.addChunk(blobs[blob]!));
    }
    const from = cluster.clock();
    if (
      this.worker === null &&
      !parts.hasDefault &&
      tables.tasks.span.includes(DEFAULT_SPAN)
    ) {
      parts.hasDefault = true;
      const rows = this._spans.nextDefault(from, task =>
        cluster.isUnfinished(task)
      );
      cluster.log.spans(this.id, rows);
    }
    const submission = translateSubmit(message, this._context(), chunks);
    if (submission.newlyWanted.length > 0) {
      this._wants(arrayOf(Int32Array, submission.newlyWanted));
    }
    const { events } = cluster;
    if (events.isHeard) {
      events.submitted(submission.event);
    }
    const read = cluster.clock();
    cluster.handle(submission.event);
    parts.newTasks += submission.event.taskIds.length;
    parts.readingSeconds += read - from;
    parts.settingSeconds += cluster.clock() - read;
    if (events.isHeard) {
      events.ordered();
    }
    if (fields.last) {
      this._graphCame(parts, false);
    }
    for (const [clientId, task] of submission.alsoWanted) {
      this._reportPresent(clientId, task);
    }
  }

  private _graphCame(parts: ComingParts, isRefused: boolean): void {
    const { clock, core, ownEvents, start, wallEpoch } = this._cluster;
    this._parts = null;
    ownEvents.graph(
      this.id,
      `update-graph-${core.event}`,
      parts,
      wallEpoch + parts.begun - start,
      clock() - parts.begun,
      isRefused
    );
  }

  private _hasRoomFor({ tables }: Message<'client', 'up', 'submit'>): boolean {
    // Mostly the first question is enough; the second one goes through all rows.
    return (
      this._hasRoom(tables.tasks.rows) ||
      idsTakenBy(tables, this.tasks) <= this._cluster.rows.ids.room
    );
  }

  /** Whether so many tasks more can be taken. */
  private _hasRoom(count: number): boolean {
    const { ids } = this._cluster.rows;
    if (count > ids.room) {
      // Tasks that were released in this turn still have their ids.
      this._host.freeIds();
    }
    return count <= ids.room;
  }

  /**
   * Refuses the tasks of a message for which there is no room, and those of the rest of its graph. Templates, names and spans are kept,
   * since later graphs may name them.
   */
  private _refuseGraph({
    fields,
    tables
  }: Message<'client', 'up', 'submit'>): void {
    const cluster = this._cluster;
    if (!this._refusing) {
      cluster.handle({
        type: 'graphRefused',
        at: cluster.at,
        client: this.id
      });
    }
    this._refusing = !fields.last;
    this._refuse(tables.tasks);
  }

  private _refuse({ id, flags, rows }: RefusedRows): void {
    const clientIds: ClientTaskId[] = [];
    let end = 0;
    for (let i = 0; i < rows; i++) {
      end = Math.max(end, id[i]! + 1);
      if ((flags[i]! & SubmitFlag.Wanted) !== 0) {
        clientIds.push(id[i]!);
      }
    }
    this.tasks.skipTo(end);
    if (clientIds.length > 0) {
      this._host.refuse(this, {
        clientIds,
        type: 'TooManyTasks',
        message: this._cluster.roomSentence
      });
    }
  }

  private _scattered(message: Message<'client', 'up', 'scattered'>): void {
    const { fields, tables } = message;
    const cluster = this._cluster;
    this._names.announce(fields.firstName, fields.names);
    this._announceSpans(fields.spans);
    if (!this._hasRoom(tables.tasks.rows)) {
      this._refuse(tables.tasks);
      this._dropData(
        tables.holders.worker,
        k => tables.tasks.id[tables.holders.row[k]!]!
      );
      return;
    }
    const event = translateScattered(message, this._context());
    for (const task of event.taskIds) {
      cluster.rows.mayMove[task] = 1;
    }
    const { row, worker } = tables.holders;
    for (const [session, places] of this._byWorker(worker)) {
      const held = places.map(k => row[k]!);
      session.link.send(
        'adopt',
        {},
        {
          items: {
            dataId: held.map(row => tables.tasks.id[row]!),
            client: held.map(() => this.id),
            taskId: held.map(row =>
              cluster.rows.ids.outer(event.taskIds[row]!)
            ),
            nbytes: held.map(row => tables.tasks.nbytes[row]!)
          }
        }
      );
    }
    cluster.handle(event);
    cluster.ownEvents.scattered(this.id, event.taskIds.length);
  }

  /** A worker that did not answer the client may have the data, or take it later. */
  private _discard({
    tables: { items }
  }: Message<'client', 'up', 'discard'>): void {
    this._dropData(items.worker, k => items.id[k]!);
  }

  /** Has each worker drop the data of its places in the column. */
  private _dropData(
    worker: Uint16Array,
    idOf: (k: number) => ClientTaskId
  ): void {
    for (const [session, places] of this._byWorker(worker)) {
      const items = {
        dataId: places.map(idOf),
        client: places.map(() => this.id)
      };
      session.link.send('discard', {}, { items });
    }
  }

  /** The workers that a column names, each with its places there. */
  private _byWorker(worker: Uint16Array): [WorkerSession, number[]][] {
    const places = new Map<number, number[]>();
    worker.forEach((id, k) => {
      const of = places.get(id);
      if (of === undefined) {
        places.set(id, [k]);
      } else {
        of.push(k);
      }
    });
    return [...this._cluster.workers.values()].flatMap(
      (session): [WorkerSession, number[]][] => {
        const found = places.get(session.id);
        return found === undefined ? [] : [[session, found]];
      }
    );
  }

  private _want({ tables }: Message<'client', 'up', 'want'>): void {
    const { rows } = this._cluster;
    const fresh: DenseTaskId[] = [];
    const lost: ClientTaskId[] = [];
    for (const clientId of firstRows(tables.ids)) {
      const task = this.tasks.resolve(clientId);
      if (this._isGone(task)) {
        lost.push(clientId);
        continue;
      }
      rows.flags[task]! |= SubmitFlag.Wanted;
      if (rows.want(clientId, task, this.id)) {
        fresh.push(task);
      } else {
        this._reportPresent(clientId, task);
      }
    }
    this._wants(arrayOf(Int32Array, fresh));
    this._refuseLost(lost);
  }

  /** Also what the core has just forgotten, in this turn: its id is not free yet, and nobody will report it any more. */
  private _isGone(task: DenseTaskId): boolean {
    return (
      task < 0 || this._cluster.core.tasks.state[task] === TaskState.Forgotten
    );
  }

  private _refuseLost(clientIds: readonly ClientTaskId[]): void {
    if (clientIds.length > 0) {
      this._host.refuse(this, {
        clientIds,
        type: 'LostTask',
        message:
          'The cluster does not have this task any more: all who had a future of it have let go. Submit it again.'
      });
    }
  }

  /** Has tasks that others have submitted, under ids of its own. */
  private _adopt({ fields, tables }: Message<'client', 'up', 'adopt'>): void {
    const { rows, holds } = this._cluster;
    const { id, client, theirs, rows: count } = tables.tasks;
    const found: DenseTaskId[] = [];
    const lost: ClientTaskId[] = [];
    for (let i = 0; i < count; i++) {
      const task = rows.resolve(client[i]!, theirs[i]!);
      if (this._isGone(task)) {
        lost.push(id[i]!);
        this.tasks.skipTo(id[i]! + 1);
        continue;
      }
      this.tasks.bind(id[i]!, task);
      rows.flags[task]! |= SubmitFlag.Wanted;
      if (rows.want(id[i]!, task, this.id)) {
        found.push(task);
      } else {
        this._reportPresent(id[i]!, task);
      }
    }
    this._wants(arrayOf(Int32Array, found));
    this._refuseLost(lost);
    holds.letGo(fields.letGo);
  }

  private _release({ tables }: Message<'client', 'up', 'release'>): void {
    const cluster = this._cluster;
    const gone: DenseTaskId[] = [];
    for (const clientId of firstRows(tables.ids)) {
      const task = this.tasks.resolve(clientId);
      if (task >= 0 && cluster.rows.unwant(clientId, task, this.id)) {
        gone.push(task);
      }
    }
    // Workers that wait for memory may have some now.
    cluster.moves += gone.length > 0 ? 1 : 0;
    cluster.handle({
      type: 'clientReleases',
      at: cluster.at,
      client: this.id,
      taskIds: arrayOf(Int32Array, gone)
    });
  }

  private _tell(
    type: 'clientCancels' | 'clientRetries',
    ids: ClientIdRows
  ): void {
    const cluster = this._cluster;
    const tasks = firstRows(ids).map(id => this.tasks.resolve(id));
    const unknown = firstRows(ids).filter((_, i) => tasks[i]! < 0);
    if (type === 'clientRetries' && unknown.length > 0) {
      this._host.refuse(this, {
        clientIds: unknown,
        type: 'LostTask',
        message:
          'The cluster does not have this task (any more), and cannot try it again. Submit it again.'
      });
    }
    if (type === 'clientCancels') {
      cluster.holds.cancelled(tasks.filter(task => task >= 0));
    }
    cluster.handle({
      type,
      at: cluster.at,
      client: this.id,
      taskIds: arrayOf(
        Int32Array,
        tasks.filter(task => task >= 0)
      )
    });
  }

  private _locate({ fields, tables }: Message<'client', 'up', 'locate'>): void {
    const { core, rows } = this._cluster;
    const where = {
      id: [] as ClientTaskId[],
      taskId: [] as OuterTaskId[],
      worker: [] as number[],
      nbytes: [] as number[]
    };
    for (const clientId of firstRows(tables.ids)) {
      const task = this.tasks.resolve(clientId);
      const isHere = task >= 0 && core.tasks.state[task] === TaskState.Memory;
      where.id.push(clientId);
      where.taskId.push(task < 0 ? NO_ROW : rows.ids.outer(task));
      where.worker.push(isHere ? core.tasks.holdersOf(task)[0]! : NONE_U16);
      where.nbytes.push(isHere ? core.tasks.nbytes[task]! : 0);
    }
    this.link.send('located', { request: fields.request }, { where });
  }

  private _answer(question: Message<'client', 'up', 'question'>): void {
    const { request, about } = question.fields;
    if (about === 'story') {
      const story = storyOf(this._cluster, this.tasks, question);
      this.link.send('answer', { request, next: null, story });
      return;
    }
    if (about === 'held') {
      const held = heldAt(this._cluster, question.fields.worker);
      this.link.send('answer', { request, next: null, held });
      return;
    }
    if (about === 'spans') {
      const answer = statesBySpan(this._cluster, question.fields);
      this.link.send('answer', { request, ...answer });
      return;
    }
    if (about === 'profile') {
      const json = Buffer.from(this._host.ownProfile(question.fields.begins));
      this.link.send('answer', { request, next: null }, {}, [json]);
      return;
    }
    if (about === 'why') {
      const named = firstRows(question.tables.ids)
        .map(id => this.tasks.resolve(id))
        .filter(task => task >= 0);
      const { startingCount } = this._host;
      const why = whyNotDone(this._cluster, startingCount, named);
      const standing = this._host.standing(named);
      this.link.send('answer', { request, next: null, why, standing });
      return;
    }
    if (about === 'workers') {
      const { fields, tables } = workersOf(this._cluster, question.fields);
      this.link.send('answer', { request, ...fields }, tables);
      return;
    }
    const { next, page } = answerTo(this._cluster, this.tasks, question);
    const { tasks, holders, keys } = page;
    this.link.send('answer', { request, next }, { tasks, holders }, [keys]);
  }

  private _run({ fields, blobs }: Message<'client', 'up', 'run'>): void {
    const { workers, requests } = this._cluster;
    const { request, wait } = fields;
    const payload = blobs[0];
    if (payload === undefined) {
      return;
    }
    for (const worker of fields.workers ?? [...workers.keys()]) {
      const session = workers.get(worker);
      const lost = (): void =>
        this.link.send('runResult', {
          request,
          worker,
          ok: false,
          why: `Worker ${worker} is gone.`
        });
      if (session === undefined) {
        lost();
        continue;
      }
      requests.run(session, payload, wait, answer => {
        if (answer === null) {
          lost();
          return;
        }
        const { ok, why } = answer.fields;
        this.link.send(
          'runResult',
          { request, worker, ok, ...(why === undefined ? {} : { why }) },
          {},
          answer.blobs
        );
      });
    }
  }

  private _memoryRun({ fields }: Message<'client', 'up', 'memoryRun'>): void {
    const { memoryRuns } = this._host;
    const { run, label, measure, intervalSeconds, state } = fields;
    let logged = this._memoryRuns.get(run);
    if (state === 'start') {
      if (logged === undefined) {
        logged = this._cluster.memoryRunNumbers.take(run);
        this._memoryRuns.set(run, logged);
      }
      memoryRuns.start(logged, label, measure, intervalSeconds);
    } else {
      this._memoryRuns.delete(run);
      this.link.send(
        'memoryRunEnded',
        { run },
        {
          samples:
            logged === undefined
              ? { t: [], bytes: [] }
              : memoryRuns.stop(logged)
        }
      );
    }
    this._host.memoryRatesChanged();
  }

  private _wants(taskIds: DenseTaskIds): void {
    const cluster = this._cluster;
    cluster.handle({
      type: 'clientWants',
      at: cluster.at,
      client: this.id,
      taskIds
    });
  }

  private _reportPresent(clientId: ClientTaskId, task: DenseTaskId): void {
    const { state, cause, reason } = this._cluster.core.tasks;
    if (state[task] === TaskState.Memory) {
      this._host.reportAlso(this, [
        clientId,
        task,
        ReportStatus.Memory,
        NO_TASK,
        FailureReason.None
      ]);
    } else if (state[task] === TaskState.Erred) {
      this._host.reportAlso(this, [
        clientId,
        task,
        ReportStatus.Erred,
        cause[task]! as DenseTaskId,
        reason[task]!
      ]);
    }
  }

  /** A guest's default span is told before its first task. */
  private _announceSpans(rows: Parameters<ClientSpans['announce']>[0]): void {
    const { log, clock } = this._cluster;
    const own = this._isGuest ? this._spans.takeOwnDefault(clock()) : [];
    log.spans(this.id, [...own, ...this._spans.announce(rows)]);
  }

  /** Tells that the client's default span has closed, if all of its tasks are finished and no part of a graph is to come for it. */
  closeIdleSpan(): void {
    if (this._parts?.hasDefault === true) {
      return;
    }
    const cluster = this._cluster;
    const rows = this._spans.closeIdleDefault(cluster.clock(), task =>
      cluster.isUnfinished(task)
    );
    cluster.log.spans(this.id, rows);
  }

  /** It is a program beside the one that has started the cluster. */
  private get _isGuest(): boolean {
    return this.id !== OWNER && this.worker === null;
  }

  private _context(): SubmitContext {
    const { core, rows, log, blobs, clock, start, tallies } = this._cluster;
    const now = clock();
    return {
      rows,
      tasks: this.tasks,
      spans: this._spans,
      names: this._names,
      tallies,
      log,
      blobs,
      own: this._blobs,
      states: core.tasks,
      now,
      at: now - start
    };
  }
}

type ClientIdRows = {
  readonly rows: number;
  readonly id: ArrayOf<Uint32Array, ClientTaskId>;
};
type RefusedRows = ClientIdRows & { readonly flags: Uint8Array };

function firstRows(ids: ClientIdRows): ClientTaskId[] {
  return [...ids.id.subarray(0, ids.rows)];
}

/** What the spans of a notebook or program are told by, also after it came again. */
function labelOf({ notebook, name }: AcceptedLink<'client'>['intro']): string {
  const path =
    typeof notebook === 'object' && notebook !== null && 'path' in notebook
      ? notebook.path
      : '';
  if (typeof path === 'string' && path !== '') {
    return path;
  }
  return typeof name === 'string' ? name : '';
}
