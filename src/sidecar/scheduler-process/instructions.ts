/** Carries out what the core decides. In the scheduler process. */
import { NONE_U32, StoredKind } from '../../records/enumerations';
import { assertUnreachable } from '../../base/assert';
import type { Forgotten, Instruction, Release, Report } from '../../scheduler';
import type { AcceptedLink } from '../../link/door';
import type { DenseTaskIds } from '../../records/ids';
import { AssignBuilder } from './assign-message';
import { UseCounter } from './blob-store';
import type { ExtraReport } from './client-messages';
import type { ClusterState } from './cluster-state';
import { HOLDER } from './holds';
import { ReportBuilder, type Refusal } from './report-message';
import { outerIds } from './translate';

/** What the core does not report to a client. */
export type AlsoReported = {
  readonly reports: ExtraReport[];
  readonly refusals: Refusal[];
};

const NOTHING: ReadonlyMap<number, AlsoReported> = new Map();
/** What nobody waits for. */
const UNHURRIED: ReadonlySet<Instruction['type']> = new Set([
  'release',
  'forgotten'
] as const);
const NO_REPORTS: ReadonlyMap<number, ReportBuilder> = new Map();
/** Results that one turn releases, of together less than this, stay with a worker for some milliseconds more, until it is told something else, too. */
const SMALL_BYTES = 1 << 20;

export class InstructionPerformer {
  private readonly _assigns: AssignBuilder;
  private _forgotten: Forgotten[] = [];

  constructor(private readonly _cluster: ClusterState) {
    const { rows, blobs, start } = _cluster;
    this._assigns = new AssignBuilder(rows, blobs, start);
  }

  /**
   * Carries out all instructions of a turn. The ids of forgotten tasks stay taken until {@link InstructionPerformer.giveBackIds}: the log
   * may still need rows about them.
   *
   * @param clients - where reports go, by the clients' numbers.
   * @param also - what else there is to report, by client.
   */
  perform(
    clients: ReadonlyMap<number, AcceptedLink<'client'>>,
    also: ReadonlyMap<number, AlsoReported> = NOTHING
  ): void {
    const { core, rows, inlines } = this._cluster;
    // Every other turn has nothing to report: a task is submitted in one and ends in another.
    let reports: Map<number, ReportBuilder> | null = null;
    const reportTo = (client: number): ReportBuilder => {
      reports ??= new Map();
      let report = reports.get(client);
      if (report === undefined) {
        report = this._emptyReport(client);
        reports.set(client, report);
      }
      return report;
    };
    let isAwaited = also.size > 0;
    for (const instruction of core.takeInstructions()) {
      isAwaited ||= !UNHURRIED.has(instruction.type);
      if (instruction.type !== 'report') {
        this._perform(instruction);
      } else if (instruction.client === HOLDER) {
        this._cluster.holds.reported(instruction);
      } else {
        reportTo(instruction.client).add(instruction);
      }
    }
    for (const [client, { reports: extra, refusals }] of also) {
      extra.forEach(row => reportTo(client).addRow(...row));
      refusals.forEach(refusal => reportTo(client).addRefusal(refusal));
    }
    for (const [client, report] of reports ?? NO_REPORTS) {
      if (!report.isEmpty) {
        const { fields, tables, blobs } = report.message();
        clients.get(client)?.send('report', fields, tables, blobs);
      }
    }
    for (const { task } of inlines) {
      rows.inline[task] = 0;
    }
    inlines.length = 0;
    if (!isAwaited) {
      // It leaves at the end of the turn if blobs are to be dropped, else within 5 ms.
      return;
    }
    for (const { link } of this._cluster.workers.values()) {
      link.flush();
    }
    for (const link of clients.values()) {
      link.flush();
    }
  }

  /** Lets the ids of forgotten tasks be used again, and drops what only they needed. */
  giveBackIds(): void {
    const { blobs, workers } = this._cluster;
    if (this._forgotten.length > 0) {
      this._giveBack(this._forgotten);
      this._forgotten = [];
    }
    const freed = blobs.takeFreed();
    if (freed.templates.length + freed.chunks.length === 0) {
      return;
    }
    for (const { blobs: has, link } of workers.values()) {
      const held = {
        templates: freed.templates.filter(id => has.templates.delete(id)),
        chunks: freed.chunks.filter(id => has.chunks.delete(id))
      };
      if (held.templates.length + held.chunks.length > 0) {
        link.send('dropBlobs', held);
      }
    }
  }

  private _giveBack(forgotten: readonly Forgotten[]): void {
    const { rows, blobs, errors, follows } = this._cluster;
    const templates = new UseCounter((id, n) => blobs.unuseTemplate(id, n));
    const chunks = new UseCounter((id, n) => blobs.unuseChunk(id, n));
    for (const { taskIds } of forgotten) {
      for (const task of taskIds) {
        templates.add(rows.template[task]!);
        chunks.add(rows.chunk[task]!);
        errors.delete(task);
        follows.forgotten(task);
        rows.giveBack(task);
      }
    }
    templates.end();
    chunks.end();
  }

  private _emptyReport(client: number): ReportBuilder {
    const cluster = this._cluster;
    return new ReportBuilder(
      cluster.rows,
      cluster.core.tasks,
      cluster.inlines,
      task => cluster.errors.get(task),
      task => cluster.keyOf(task),
      cluster,
      client
    );
  }

  private _perform(instruction: Exclude<Instruction, Report>): void {
    const { core, rows, workers } = this._cluster;
    switch (instruction.type) {
      case 'takeBack': {
        const { worker, taskIds, runIds } = instruction;
        workers
          .get(worker)
          ?.link.send(
            'takeBack',
            {},
            { tasks: { taskId: outerIds(rows, taskIds), runId: runIds } }
          );
        return;
      }
      case 'release':
        return this._release(instruction);
      case 'assign': {
        const session = workers.get(instruction.worker);
        if (session === undefined) {
          return;
        }
        const { launch, launchVersion } = this._cluster;
        for (let begin = 0; begin < instruction.taskIds.length;) {
          const { end, fields, tables, blobs } = this._assigns.build(
            instruction,
            core.tasks,
            session.blobs,
            begin
          );
          begin = end;
          const isNews = session.launchVersion !== launchVersion;
          session.launchVersion = launchVersion;
          session.link.send(
            'assign',
            {
              templates: [...fields.templates],
              chunks: [...fields.chunks],
              ...(isNews && launch !== null ? { launch } : {})
            },
            tables,
            blobs
          );
        }
        return;
      }
      case 'acquire':
        return this._acquire(instruction.worker, instruction.taskIds);
      case 'forgotten':
        this._forgotten.push(instruction);
        return;
      default:
        return assertUnreachable(instruction);
    }
  }

  private _acquire(worker: number, taskIds: DenseTaskIds): void {
    const { core, rows, workers } = this._cluster;
    const tasks = [...taskIds];
    workers.get(worker)?.link.send(
      'acquire',
      {},
      {
        items: {
          taskId: outerIds(rows, taskIds),
          worker: tasks.map(task => {
            // Several that ask for the same ask different holders.
            const holders = core.tasks.holdersOf(task);
            return holders[worker % holders.length]!;
          }),
          nbytes: tasks.map(task => core.tasks.nbytes[task]!)
        }
      }
    );
  }

  private _release(release: Release): void {
    const { worker, taskIds, runIds, held, nbytes } = release;
    const { at, rows, workers, log } = this._cluster;
    const session = workers.get(worker);
    if (session !== undefined) {
      const ids = { taskId: outerIds(rows, taskIds), held };
      if (session.isPaused || !isSmall(release)) {
        session.link.send('release', {}, { ids });
      } else {
        session.link.sendLater('release', {}, { ids });
      }
    }
    for (let i = 0; i < taskIds.length; i++) {
      const task = taskIds[i]!;
      if (held[i] === 1) {
        log.stored(worker, task, rows, StoredKind.Released, -nbytes[i]!);
      } else {
        // If a thread has begun it, its run is reported when it ends, however long that takes.
        log.givenUp.keep(rows.ids.outer(task), {
          node: rows.node[task]!,
          functionId: rows.functionId[task]!,
          span: rows.span[task]!,
          unfinishedSince: rows.unfinishedSince[task]!,
          attempts: rows.attempts[task]!
        });
        if (runIds[i] !== NONE_U32) {
          log.measured.givenUp(worker, runIds[i]!, at);
        }
      }
    }
  }
}

/** Whether a release has only results that take little memory; and no run that is given up: it must not begin. */
function isSmall({ held, nbytes }: Release): boolean {
  let bytes = 0;
  for (let i = 0; i < held.length; i++) {
    bytes += held[i] === 1 ? nbytes[i]! : Infinity;
  }
  return bytes < SMALL_BYTES;
}
