/** The message `report`: what became of the client's tasks in one turn. In the scheduler process. */
import { NONE_U16, NONE_U32, ReportStatus } from '../../records/enumerations';
import {
  DEFAULT_OPTIONS,
  FailureReason,
  NONE,
  type Report,
  type TaskTable
} from '../../scheduler';
import type { ClientTaskId, DenseTaskId, OuterTaskId } from '../../records/ids';
import type { FieldsInput } from '../../wire/schema';
import { NO_TASK, type TaskRows } from './task-rows';

const NO_CAUSE = NONE_U32 as ClientTaskId;
/** Stands for a task that has no row. */
export const NO_ROW = 0 as OuterTaskId;

/** An error as its worker reported it. */
export type TaskError = {
  readonly type: string;
  readonly message: string;
  readonly text: string;
  /** A payload that opens to the exception, or null. */
  readonly payload: Uint8Array | null;
};

/** A small result, or the sign of a larger one, that came with the end of its run. */
export type InlineResult = {
  readonly task: DenseTaskId;
  readonly bytes: Uint8Array;
  /** They say where the result lies in its worker's memory. */
  readonly isSign: boolean;
};

/** Tasks that the client has submitted and the scheduler has not, and the error that they get. */
export type Refusal = {
  readonly clientIds: readonly ClientTaskId[];
  readonly type: string;
  readonly message: string;
};

type ErrorRow = NonNullable<
  FieldsInput<'client', 'down', 'report'>['errors']
>[number];

/** Columns of `report`, filled row by row. */
export class ReportBuilder {
  private readonly _columns = {
    id: [] as ClientTaskId[],
    taskId: [] as OuterTaskId[],
    status: [] as number[],
    worker: [] as number[],
    nbytes: [] as number[],
    inlineStart: [] as number[],
    inlineLength: [] as number[],
    cause: [] as ClientTaskId[]
  };
  private readonly _signs: number[] = [];
  private _inline: Uint8Array[] = [];
  private _inlineEnd = 0;
  private _errors = new Map<DenseTaskId, ErrorRow>();
  private readonly _refusals: ErrorRow[] = [];
  /** One cause for all tasks whose graph was refused in this turn, since a client keeps only some thousand reasons. */
  private _refusedCause = NO_TASK;
  private _payloads: Uint8Array[] = [];

  /**
   * @param _inlines - the inline results of this turn; `rows.inline` counts them from 1.
   * @param _errorOf - what a worker said of a task that raised.
   * @param _keyOf - a task's key as text.
   * @param _why - sentences that explain the reason.
   * @param _client - who is told.
   */
  constructor(
    private readonly _rows: TaskRows,
    private readonly _tasks: TaskTable,
    private readonly _inlines: readonly InlineResult[],
    private readonly _errorOf: (task: DenseTaskId) => TaskError | undefined,
    private readonly _keyOf: (task: DenseTaskId) => string,
    private readonly _why: FailureFacts,
    private readonly _client = 0
  ) {}

  get isEmpty(): boolean {
    return this._columns.id.length === 0;
  }

  /** Adds what the core reports, under each id by which the client wants the task. */
  add(report: Report): void {
    const rows = this._rows;
    for (let i = 0; i < report.taskIds.length; i++) {
      const task = report.taskIds[i]!;
      const status = report.status[i]! as ReportStatus;
      const cause = report.cause[i]!;
      const reason = report.reason[i]! as FailureReason;
      rows.forEachWanted(task, this._client, clientId =>
        this.addRow(clientId, task, status, cause, reason)
      );
      if (status === ReportStatus.Cancelled) {
        rows.unwantAll(task, this._client);
      }
    }
  }

  addRow(
    clientId: ClientTaskId,
    task: DenseTaskId,
    status: ReportStatus,
    cause: DenseTaskId,
    reason: FailureReason
  ): void {
    if (reason === FailureReason.NoRoom) {
      this._refusedCause =
        this._refusedCause === NONE ? cause : this._refusedCause;
      cause = this._refusedCause;
    }
    const { firstReplica, replicas, nbytes } = this._tasks;
    const out = this._columns;
    const isMemory = status === ReportStatus.Memory;
    const head = isMemory ? firstReplica[task]! : NONE;
    const inline = isMemory ? this._rows.inline[task]! : 0;
    out.id.push(clientId);
    out.taskId.push(this._rows.ids.outer(task));
    out.status.push(status);
    out.worker.push(head === NONE ? NONE_U16 : replicas.value(head));
    out.nbytes.push(isMemory ? nbytes[task]! : 0);
    if (inline > 0) {
      const { bytes, isSign } = this._inlines[inline - 1]!;
      if (isSign) {
        this._signs.push(out.inlineStart.length);
      }
      this._addInline(bytes);
    } else {
      out.inlineStart.push(NONE_U32);
      out.inlineLength.push(NONE_U32);
    }
    if (status === ReportStatus.Erred) {
      out.cause.push(this._rows.numberFor(cause, this._client));
      this._addError(cause, reason);
    } else if (status === ReportStatus.Cancelled) {
      out.cause.push(this._rows.numberFor(cause, this._client));
    } else {
      out.cause.push(NO_CAUSE);
    }
  }

  /** Adds tasks that have no row. */
  addRefusal({ clientIds, type, message }: Refusal): void {
    const out = this._columns;
    const cause = clientIds[0]!;
    for (const clientId of clientIds) {
      out.id.push(clientId);
      out.taskId.push(NO_ROW);
      out.status.push(ReportStatus.Erred);
      out.worker.push(NONE_U16);
      out.nbytes.push(0);
      out.inlineStart.push(NONE_U32);
      out.inlineLength.push(NONE_U32);
      out.cause.push(cause);
    }
    this._refusals.push({ cause, key: '', type, message, text: '', blob: -1 });
  }

  /** The finished message: fields, tables, blobs. */
  message(): {
    fields: FieldsInput<'client', 'down', 'report'>;
    tables: { tasks: ReportBuilder['_columns']; signs: { row: number[] } };
    blobs: Uint8Array[];
  } {
    const blobs: Uint8Array[] = [];
    if (this._inlineEnd > 0 || this._payloads.length > 0) {
      blobs.push(this._joinedInline(), ...this._payloads);
    }
    return {
      fields: { errors: [...this._errors.values(), ...this._refusals] },
      tables: { tasks: this._columns, signs: { row: this._signs } },
      blobs
    };
  }

  private _addInline(bytes: Uint8Array): void {
    this._columns.inlineStart.push(this._inlineEnd);
    this._columns.inlineLength.push(bytes.length);
    this._inline.push(bytes);
    this._inlineEnd += Math.ceil(bytes.length / 8) * 8;
  }

  private _joinedInline(): Uint8Array {
    const joined = new Uint8Array(this._inlineEnd);
    let at = 0;
    for (const bytes of this._inline) {
      joined.set(bytes, at);
      at += Math.ceil(bytes.length / 8) * 8;
    }
    return joined;
  }

  private _addError(cause: DenseTaskId, reason: FailureReason): void {
    if (this._errors.has(cause)) {
      return;
    }
    const key = this._keyOf(cause);
    const error =
      reason === FailureReason.Raised ? this._errorOf(cause) : undefined;
    const { type, message, text } =
      error ?? describe(reason, cause, key, this._why);
    this._errors.set(cause, {
      cause: this._rows.numberFor(cause, this._client),
      key,
      type,
      message,
      text,
      // Blob 0 is the inline results.
      blob: error?.payload ? this._payloads.push(error.payload) : -1
    });
  }
}

/** Sentences that are added to the reason why a task failed. */
type FailureFacts = {
  /** How the last worker ended, as the end of a sentence. */
  readonly deathSentence: string;
  /** How many workers died while the task could have been running there, if that is why it failed; else 0. */
  deathsUnder(task: DenseTaskId): number;
  /** Why nothing could move any more. */
  readonly stallSentence: string;
  /** Why a graph was refused. */
  readonly roomSentence: string;
};

/** @param deaths - 0: too many workers ended without a step ahead, whatever ran there. */
function killedWorkerSentences(
  key: string,
  deaths: number,
  deathSentence: string
): string {
  const died =
    deaths === 0
      ? 'Workers died, or were stopped, again and again'
      : deaths === 1
        ? 'A worker died, or was stopped,'
        : `${deaths} workers died, or were stopped,`;
  return (
    `${died} while ${key} could have been running there. ` +
    'It may use more memory than a worker has, or crash or stop the interpreter. ' +
    `The ${deaths === 1 ? 'worker' : 'last one'} ${deathSentence}.`
  );
}

/** A failure of which no worker has told. */
export function describe(
  reason: FailureReason,
  cause: DenseTaskId,
  key: string,
  facts: FailureFacts
): { type: string; message: string; text: string } {
  switch (reason) {
    case FailureReason.KilledWorker:
      return {
        type: 'KilledWorker',
        message: killedWorkerSentences(
          key,
          facts.deathsUnder(cause),
          facts.deathSentence
        ),
        text: ''
      };
    case FailureReason.Stalled:
      return { type: 'StallError', message: facts.stallSentence, text: '' };
    case FailureReason.NoRoom:
      return { type: 'TooManyTasks', message: facts.roomSentence, text: '' };
    case FailureReason.LostDependencies:
      return {
        type: 'LostDependencies',
        message: `${key} needs a result that the cluster does not hold any more. Compute it again.`,
        text: ''
      };
    case FailureReason.Rescheduled:
      return {
        type: 'TaskError',
        message:
          `${key} has raised Reschedule more than ${DEFAULT_OPTIONS.mostReschedules} times, and is given up. ` +
          'Let it wait for what it needs, or submit it when that is there.',
        text: ''
      };
    case FailureReason.LostData:
      return {
        type: 'LostData',
        message: `The data ${key} was scattered to workers that are gone. Scatter it again.`,
        text: ''
      };
    default:
      return {
        type: 'Error',
        message: `${key} failed, and its worker did not say why.`,
        text: ''
      };
  }
}
