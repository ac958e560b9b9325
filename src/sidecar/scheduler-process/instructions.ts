/** Carries out what the core decides. In the scheduler process. */
import { StoredKind } from '../../records/enumerations';
import { assertUnreachable } from '../../base/assert';
import type { Forgotten, Instruction, Release } from '../../scheduler';
import type { AcceptedLink } from '../../link/door';
import { AssignBuilder } from './assign-message';
import { UseCounter } from './blob-store';
import type { ExtraReport } from './client-messages';
import type { ClusterState } from './cluster-state';
import { ReportBuilder, type Refusal } from './report-message';
import { outerIds } from './translate';

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
   * @param client - where reports go, if there is a client.
   */
  perform(
    client: AcceptedLink<'client'> | null,
    extraReports: readonly ExtraReport[],
    refusals: readonly Refusal[] = []
  ): void {
    const { core, rows, errors, inlines } = this._cluster;
    const report = new ReportBuilder(
      rows,
      core.tasks,
      inlines,
      task => errors.get(task),
      task => this._cluster.keyOf(task),
      this._cluster
    );
    for (const instruction of core.takeInstructions()) {
      this._perform(instruction, report);
    }
    for (const extra of extraReports) {
      report.addRow(...extra);
    }
    for (const refusal of refusals) {
      report.addRefusal(refusal);
    }
    if (!report.isEmpty && client !== null) {
      const { fields, tables, blobs } = report.message();
      client.send('report', fields, tables, blobs);
    }
    for (const { task } of inlines) {
      rows.inline[task] = 0;
    }
    inlines.length = 0;
    for (const { link } of this._cluster.workers.values()) {
      link.flush();
    }
    client?.flush();
  }

  /** Lets the ids of forgotten tasks be used again, and drops what only they needed. */
  giveBackIds(): void {
    const { rows, blobs, errors, workers } = this._cluster;
    const templates = new UseCounter((id, n) => blobs.unuseTemplate(id, n));
    const chunks = new UseCounter((id, n) => blobs.unuseChunk(id, n));
    for (const { taskIds } of this._forgotten) {
      for (const task of taskIds) {
        templates.add(rows.template[task]!);
        chunks.add(rows.chunk[task]!);
        errors.delete(task);
        rows.giveBack(task);
      }
    }
    templates.end();
    chunks.end();
    this._forgotten = [];
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

  private _perform(instruction: Instruction, report: ReportBuilder): void {
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
      case 'report':
        return report.add(instruction);
      case 'forgotten':
        this._forgotten.push(instruction);
        return;
      default:
        return assertUnreachable(instruction);
    }
  }

  private _release({ worker, taskIds, held }: Release): void {
    const { core, rows, workers, log } = this._cluster;
    const { nbytes } = core.tasks;
    workers
      .get(worker)
      ?.link.send('release', {}, { ids: { taskId: outerIds(rows, taskIds) } });
    for (let i = 0; i < taskIds.length; i++) {
      const task = taskIds[i]!;
      if (held[i] === 1) {
        log.stored(worker, task, rows, StoredKind.Released, -nbytes[task]!);
      } else {
        // If a thread has begun it, its run is reported when it ends, however long that takes.
        log.givenUp.keep(rows.ids.outer(task), {
          node: rows.node[task]!,
          functionId: rows.functionId[task]!,
          span: rows.span[task]!,
          unfinishedSince: rows.unfinishedSince[task]!,
          attempts: rows.attempts[task]!
        });
      }
    }
  }
}
