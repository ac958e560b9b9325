/** Handles the client's messages. In the scheduler process. */
import { NONE_U16, ReportStatus, SubmitFlag } from '../../records/enumerations';
import { assertUnreachable } from '../../base/assert';
import { arrayOf, type ArrayOf } from '../../base/typed-arrays';
import type {
  ClientTaskId,
  DenseTaskId,
  DenseTaskIds,
  OuterTaskId
} from '../../records/ids';
import { FailureReason, TaskState } from '../../scheduler';
import type { NamesOf } from '../../sources';
import type { Message } from '../../wire/schema';
import type { AcceptedLink } from '../../link/door';
import { checkFromClient } from './check-messages';
import type { ClusterState, Launch } from './cluster-state';
import type { MemoryRuns } from './memory-runs';
import { NO_ROW, type Refusal } from './report-message';
import { NO_TASK } from './task-rows';
import type { WorkerSession } from './worker-session';
import {
  CLIENT,
  idsTakenBy,
  translateScattered,
  translateSubmit,
  type SubmitContext
} from './translate';

type FromClient = Message<'client', 'up'>;

/** A key to be reported although the core does not: it was wanted already, under another id. */
export type ExtraReport = readonly [
  clientId: ClientTaskId,
  task: DenseTaskId,
  status: ReportStatus,
  cause: DenseTaskId,
  reason: FailureReason
];

/** What the client's messages ask of the cluster beside the core. */
export interface IClientHost {
  readonly memoryRuns: MemoryRuns;
  reportAlso(report: ExtraReport): void;
  /** Fails tasks that were not taken. */
  refuse(refusal: Refusal): void;
  /** Carries out what was decided so far: ids of tasks that are forgotten are free after that. */
  freeIds(): void;
  /** Answers once the observer has everything that was measured. */
  flush(request: number): void;
  /** How often workers measure memory may have to change. */
  memoryRatesChanged(): void;
  /** Whether the client waits, asked by `stalled`. */
  clientWaits(waiting: boolean): void;
  close(): void;
  warn(sentence: string): void;
}

export class ClientSession {
  /** The newest generation that has come whole. */
  private _generation = 0;
  /** The generation of a graph of which a part has come. */
  private _coming: number | null = null;
  /** Whether there was no room for that graph: the rest of it is not taken either. */
  private _refusing = false;

  constructor(
    readonly link: AcceptedLink<'client'>,
    private readonly _cluster: ClusterState,
    private readonly _names: NamesOf,
    private readonly _host: IClientHost
  ) {}

  /** @throws BrokenFrame before anything of the message is taken in. */
  take(message: FromClient): void {
    const { log, rows, blobs } = this._cluster;
    const names = this._names.size;
    checkFromClient(message, { rows, blobs, names, coming: this._coming });
    switch (message.type) {
      case 'submit':
        return this._submit(message);
      case 'waiting':
        return this._host.clientWaits(message.fields.waiting);
      case 'forget':
        return this._cluster.blobs.forget(message.fields.templates);
      case 'spans':
        this._names.announce(message.fields.firstName, message.fields.names);
        return log.spans(CLIENT, message.fields.spans);
      case 'want':
        return this._want(message);
      case 'release':
        return this._release(message);
      case 'cancel':
        return this._tell('clientCancels', message.tables.ids);
      case 'retry':
        return this._tell('clientRetries', message.tables.ids);
      case 'locate':
        return this._locate(message);
      case 'scattered':
        return this._scattered(message);
      case 'discard':
        return this._discard(message);
      case 'run':
        return this._run(message);
      case 'flush':
        return this._host.flush(message.fields.request);
      case 'memoryRun':
        return this._memoryRun(message);
      case 'retireWorker':
      case 'scale':
        return this._host.warn(
          'This version of Spanwise cannot change the number of workers of a running cluster. ' +
            'Make a new one with Client(n_workers=…).'
        );
      case 'close':
        return this._host.close();
      case 'hello':
      case 'proof':
      case 'refused':
        // The handshake is over; the link deals with refusals.
        return;
      default:
        return assertUnreachable(message);
    }
  }

  /** Asks the client for templates that no task needs, if there are too many. Those that a graph under way has named, it keeps. */
  askForUnused(): void {
    const templates = this._cluster.blobs.takeExcess();
    if (templates.length > 0) {
      this.link.send('unused', { generation: this._generation, templates });
    }
  }

  /** Workers that get no task of this graph have time to import what later ones want. */
  private _tellWaiting(launch: Launch): void {
    for (const session of this._cluster.workers.values()) {
      session.launchVersion = this._cluster.launchVersion;
      session.link.send('assign', { templates: [], chunks: [], launch });
    }
  }

  private _submit(message: Message<'client', 'up', 'submit'>): void {
    const { fields, blobs } = message;
    const cluster = this._cluster;
    if (fields.launch !== undefined) {
      cluster.launch = fields.launch;
      cluster.launchVersion++;
      this._tellWaiting(fields.launch);
    }
    this._coming = fields.last ? null : fields.generation;
    if (fields.last) {
      this._generation = fields.generation;
    }
    for (const { id, blob } of fields.templates) {
      cluster.blobs.addTemplate(id, blobs[blob]!);
    }
    this._names.announce(fields.firstName, fields.names);
    cluster.log.spans(CLIENT, fields.spans);
    if (this._refusing || !this._hasRoomFor(message)) {
      this._refuseGraph(message);
      return;
    }
    for (const { id, blob } of fields.chunks) {
      cluster.blobs.addChunk(id, blobs[blob]!);
    }
    const submission = translateSubmit(message, this._context());
    if (submission.newlyWanted.length > 0) {
      this._wants(arrayOf(Int32Array, submission.newlyWanted));
    }
    cluster.handle(submission.event);
    for (const [clientId, task] of submission.alsoWanted) {
      this._reportPresent(clientId, task);
    }
  }

  private _hasRoomFor({ tables }: Message<'client', 'up', 'submit'>): boolean {
    // Seldom more than the first: the other goes through all rows.
    return (
      this._hasRoom(tables.tasks.rows) ||
      idsTakenBy(tables, this._cluster.rows) <= this._cluster.rows.ids.room
    );
  }

  /** Whether so many tasks more can be taken. */
  private _hasRoom(count: number): boolean {
    const { ids } = this._cluster.rows;
    if (count > ids.room) {
      // Results that were released in this turn have their ids still.
      this._host.freeIds();
    }
    return count <= ids.room;
  }

  /**
   * Takes no task of a message for which there is no room, and none of the rest of its graph. What later graphs may name is taken:
   * templates, names, spans.
   */
  private _refuseGraph({
    fields,
    tables
  }: Message<'client', 'up', 'submit'>): void {
    const cluster = this._cluster;
    if (!this._refusing) {
      cluster.handle({ type: 'graphRefused', at: cluster.at, client: CLIENT });
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
    this._cluster.rows.skipClientIds(end);
    if (clientIds.length > 0) {
      this._host.refuse({
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
    cluster.log.spans(CLIENT, fields.spans);
    if (!this._hasRoom(tables.tasks.rows)) {
      this._refuse(tables.tasks);
      this._dropData(
        tables.holders.worker,
        k => tables.tasks.id[tables.holders.row[k]!]!
      );
      return;
    }
    const event = translateScattered(message, this._context());
    const { row, worker } = tables.holders;
    for (const [session, places] of this._byWorker(worker)) {
      const held = places.map(k => row[k]!);
      session.link.send(
        'adopt',
        {},
        {
          items: {
            dataId: held.map(row => tables.tasks.id[row]!),
            client: held.map(() => CLIENT),
            taskId: held.map(row =>
              cluster.rows.ids.outer(event.taskIds[row]!)
            ),
            nbytes: held.map(row => tables.tasks.nbytes[row]!)
          }
        }
      );
    }
    cluster.handle(event);
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
        client: places.map(() => CLIENT)
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
    for (const clientId of firstRows(tables.ids)) {
      const task = rows.resolve(clientId);
      if (task < 0) {
        continue;
      }
      rows.flags[task]! |= SubmitFlag.Wanted;
      if (rows.want(clientId, task)) {
        fresh.push(task);
      } else {
        this._reportPresent(clientId, task);
      }
    }
    this._wants(arrayOf(Int32Array, fresh));
  }

  private _release({ tables }: Message<'client', 'up', 'release'>): void {
    const cluster = this._cluster;
    const gone: DenseTaskId[] = [];
    for (const clientId of firstRows(tables.ids)) {
      const task = cluster.rows.resolve(clientId);
      if (task >= 0 && cluster.rows.unwant(clientId, task)) {
        gone.push(task);
      }
    }
    // What waits for memory may have some now.
    cluster.moves += gone.length > 0 ? 1 : 0;
    cluster.handle({
      type: 'clientReleases',
      at: cluster.at,
      client: CLIENT,
      taskIds: arrayOf(Int32Array, gone)
    });
  }

  private _tell(
    type: 'clientCancels' | 'clientRetries',
    ids: ClientIdRows
  ): void {
    const cluster = this._cluster;
    const tasks = firstRows(ids).map(id => cluster.rows.resolve(id));
    const unknown = firstRows(ids).filter((_, i) => tasks[i]! < 0);
    if (type === 'clientRetries' && unknown.length > 0) {
      this._host.refuse({
        clientIds: unknown,
        type: 'LostTask',
        message:
          'The cluster does not have this task (any more), and cannot try it again. Submit it again.'
      });
    }
    cluster.handle({
      type,
      at: cluster.at,
      client: CLIENT,
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
      const task = rows.resolve(clientId);
      const isHere = task >= 0 && core.tasks.state[task] === TaskState.Memory;
      where.id.push(clientId);
      where.taskId.push(task < 0 ? NO_ROW : rows.ids.outer(task));
      where.worker.push(isHere ? core.tasks.holdersOf(task)[0]! : NONE_U16);
      where.nbytes.push(isHere ? core.tasks.nbytes[task]! : 0);
    }
    this.link.send('located', { request: fields.request }, { where });
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
    if (state === 'start') {
      memoryRuns.start(run, label, measure, intervalSeconds);
    } else {
      this.link.send(
        'memoryRunEnded',
        { run },
        { samples: memoryRuns.stop(run) }
      );
    }
    this._host.memoryRatesChanged();
  }

  private _wants(taskIds: DenseTaskIds): void {
    const cluster = this._cluster;
    cluster.handle({
      type: 'clientWants',
      at: cluster.at,
      client: CLIENT,
      taskIds
    });
  }

  private _reportPresent(clientId: ClientTaskId, task: DenseTaskId): void {
    const { state, cause, reason } = this._cluster.core.tasks;
    if (state[task] === TaskState.Memory) {
      this._host.reportAlso([
        clientId,
        task,
        ReportStatus.Memory,
        NO_TASK,
        FailureReason.None
      ]);
    } else if (state[task] === TaskState.Erred) {
      this._host.reportAlso([
        clientId,
        task,
        ReportStatus.Erred,
        cause[task]! as DenseTaskId,
        reason[task]!
      ]);
    }
  }

  private _context(): SubmitContext {
    const { rows, log, blobs, clock, start } = this._cluster;
    const now = clock();
    return { rows, names: this._names, log, blobs, now, at: now - start };
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
