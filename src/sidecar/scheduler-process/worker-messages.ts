/** Handles the workers' messages. In the scheduler process. */
import {
  NONE_U32,
  RunStatus,
  StoredKind,
  SubmitFlag
} from '../../records/enumerations';
import type { Seconds } from '../../base/brand';
import { assertUnreachable } from '../../base/assert';
import type { DenseTaskId, DenseTaskIds, OuterTaskId } from '../../records/ids';
import { TaskState } from '../../scheduler';
import { BrokenFrame } from '../../wire/broken-frame';
import type { Message } from '../../wire/schema';
import { checkFromWorker } from './check-messages';
import type { ClusterState } from './cluster-state';
import { NO_TASK } from './task-rows';
import { denseIds, translateFinished } from './translate';
import type { WorkerSession } from './worker-session';

type FromWorker = Message<'worker', 'up'>;

/** What only a worker says that was given tasks. */
const OF_TASKS: ReadonlySet<FromWorker['type']> = new Set([
  'finished',
  'replicas',
  'seceded',
  'takenBack'
] as const);

/** Of a worker whose clock's offset has changed by more than this, the log has an event. */
const TOLD_CLOCK_SECONDS = 0.01;

/** Runs that ended, for the log: written after the instructions that they led to have gone out. */
export type FinishedRuns = {
  readonly worker: number;
  readonly message: Message<'worker', 'up', 'finished'>;
  readonly tasks: DenseTaskIds;
};

/**
 * Takes in one message of a worker.
 *
 * @returns runs to be logged, if it brought any.
 * @throws BrokenFrame before anything of the message is taken in.
 */
export function takeWorkerMessage(
  cluster: ClusterState,
  session: WorkerSession,
  message: FromWorker
): FinishedRuns | null {
  const { log, rows } = cluster;
  const worker = session.id;
  checkFromWorker(message, log.coinedBy(worker), session.intro.threads);
  if (!session.isReady && OF_TASKS.has(message.type)) {
    throw new BrokenFrame(
      `"${message.type}" comes before the worker has set up its plugins.`
    );
  }
  switch (message.type) {
    case 'finished':
      return takeFinished(cluster, worker, message);
    case 'replicas':
      takeReplicas(cluster, worker, message);
      return null;
    case 'takenBack': {
      const { taskId, runId, ok, rows: count } = message.tables.tasks;
      cluster.handle({
        type: 'takeBackAnswered',
        at: cluster.at,
        worker,
        taskIds: denseIds(rows, taskId, count),
        runIds: runId,
        taken: ok
      });
      return null;
    }
    case 'seceded': {
      const { taskId, runId, seconds, rows: count } = message.tables.tasks;
      cluster.handle({
        type: 'tasksSeceded',
        at: cluster.at,
        worker,
        taskIds: denseIds(rows, taskId, count),
        runIds: runId,
        duration: seconds,
        back: message.fields.back
      });
      return null;
    }
    case 'measured':
      takeMeasured(cluster, session, message);
      return null;
    case 'state': {
      const { paused, why, stalled } = message.fields;
      const isNews = paused !== session.isPaused;
      const wasHeldUp = session.isHeldUp;
      session.isPaused = paused;
      session.whyPaused = paused ? why : '';
      // A worker that sends a message is not stopped, or not any more.
      session.isHeldUp = false;
      if (session.isReady) {
        cluster.handle(
          paused
            ? { type: 'workerPaused', at: cluster.at, worker, stalled }
            : { type: 'workerResumed', at: cluster.at, worker }
        );
      }
      const now = cluster.clock();
      session.logCapacity(log, now);
      if (wasHeldUp) {
        log.event(now, 'continued', worker, '');
      }
      if (isNews) {
        log.event(now, paused ? 'paused' : 'resumed', worker, why);
      }
      return null;
    }
    case 'event':
      log.event(
        cluster.clock(),
        message.fields.kind,
        worker,
        message.fields.text
      );
      return null;
    case 'logEvent':
      cluster.shared.log(message);
      return null;
    case 'askKeys': {
      const { taskId, rows: count } = message.tables.ids;
      session.link.send('keys', {
        request: message.fields.request,
        wallZero: (cluster.wallEpoch - cluster.start) as Seconds,
        keys: Array.from({ length: count }, (_, i) =>
          cluster.keyOfMoved(taskId[i]!)
        )
      });
      return null;
    }
    case 'askClock': {
      const { sent, offset, within } = message.fields;
      const now = cluster.clock();
      session.link.send('clockIs', { sent, clock: now as Seconds });
      const row = session.clock.tell(now, offset, within);
      if (row !== null) {
        log.clock(now, worker, row);
      }
      if (Math.abs(offset - session.loggedClockOffset) > TOLD_CLOCK_SECONDS) {
        session.loggedClockOffset = offset;
        const text = `${(offset * 1000).toFixed(1)} ms are added to its clock, which may be wrong by ${(within * 1000).toFixed(1)} ms.`;
        log.event(now, 'clock-differs', worker, text);
      }
      return null;
    }
    case 'share':
    case 'giveUp':
      // What a worker held ended when it was dismissed: what it sent before must not take anything for a link that nobody ends again.
      if (cluster.workers.get(worker) === session) {
        cluster.shared.share(message, session.link);
      }
      return null;
    case 'runResult':
      cluster.requests.answered(message.fields.request, message);
      return null;
    case 'flushed':
      cluster.requests.answered(message.fields.request, null);
      return null;
    case 'hello':
    case 'proof':
    case 'refused':
      // The handshake is over; the link deals with refusals.
      return null;
    default:
      return assertUnreachable(message);
  }
}

function takeFinished(
  cluster: ClusterState,
  worker: number,
  message: Message<'worker', 'up', 'finished'>
): FinishedRuns {
  const { core, log, rows, errors, inlines } = cluster;
  const { runs } = message.tables;
  log.workerNames(worker, message.fields.firstName, message.fields.names);
  const tasks = denseIds(rows, runs.taskId, runs.rows);
  const isPresent = (row: number): boolean =>
    core.tasks.isRunOf(worker, tasks[row]!, runs.runId[row]!);
  for (const { row, type, message: what, text, blob } of message.fields
    .errors) {
    const task = tasks[row]!;
    const span =
      task < 0 ? log.givenUp.get(runs.taskId[row]!)?.span : rows.span[task];
    if (span !== undefined) {
      // Errors of given-up runs are kept too, since these runs are in the log.
      log.taskFailed(
        cluster.clock(),
        worker,
        runs.runId[row]!,
        span,
        text === '' ? `${type}: ${what}` : text
      );
    }
    if (isPresent(row)) {
      // A copy: a view would keep the whole message for as long as the error.
      const payload = blob < 0 ? null : message.blobs[blob]!.slice();
      errors.set(task, { type, message: what, text, payload });
    }
  }
  const inlineBytes = message.blobs[0];
  const { signs } = message.tables;
  let nextSign = 0;
  for (let row = 0; row < runs.rows; row++) {
    const isOk = runs.status[row] === RunStatus.Ok;
    const isSign = nextSign < signs.rows && signs.row[nextSign] === row;
    nextSign += isSign ? 1 : 0;
    if (!isOk || !isPresent(row)) {
      if (runs.status[row] === RunStatus.Missing && !isPresent(row)) {
        // It was recalled before it had its inputs: it gets no row.
        tasks[row] = NO_TASK;
      }
      continue;
    }
    const task = tasks[row]!;
    const length = runs.inlineLength[row]!;
    log.stored(worker, task, rows, StoredKind.Stored, runs.nbytes[row]!);
    if (length === NONE_U32 || isSign) {
      // Its client fetches it.
      rows.mayMove[task]! |= rows.flags[task]! & SubmitFlag.Wanted;
    }
    if (length !== NONE_U32 && inlineBytes !== undefined) {
      const start = runs.inlineStart[row]!;
      const bytes = inlineBytes.subarray(start, start + length);
      rows.inline[task] = inlines.push({ task, bytes, isSign });
    }
  }
  if (!cluster.runWatchers.isEmpty) {
    cluster.runWatchers.ended(worker, runs, row =>
      runs.status[row] === RunStatus.Ok && isPresent(row)
        ? tasks[row]!
        : NO_TASK
    );
  }
  const { events } = cluster;
  if (events.isHeard) {
    events.ends(cluster.workers.get(worker), message, tasks, isPresent);
  }
  cluster.handle(translateFinished(message, worker, tasks, rows, cluster.at));
  if (events.isHeard) {
    events.ended();
  }
  return { worker, message, tasks };
}

function takeReplicas(
  cluster: ClusterState,
  worker: number,
  { tables }: Message<'worker', 'up', 'replicas'>
): void {
  const { core, log, rows, workers } = cluster;
  const known = (outer: ArrayLike<OuterTaskId>, count: number): DenseTaskIds =>
    denseIds(rows, outer, count).filter(task => task >= 0) as DenseTaskIds;
  const added = known(tables.added.taskId, tables.added.rows);
  const removed = known(tables.removed.taskId, tables.removed.rows);
  if (added.length < tables.added.rows) {
    // Copies of forgotten results: the core no longer knows these ids, and would not have them dropped.
    const taskId = [
      ...tables.added.taskId.subarray(0, tables.added.rows)
    ].filter(outer => rows.ids.resolve(outer) < 0);
    // (Held: nobody wants to hear that they are dropped.)
    const held = taskId.map(() => 1);
    workers.get(worker)?.link.send('release', {}, { ids: { taskId, held } });
  }
  const { state, nbytes } = core.tasks;
  for (const task of added) {
    rows.mayMove[task] = 1;
    if (state[task] === TaskState.Memory) {
      log.stored(worker, task, rows, StoredKind.Replica, nbytes[task]!);
    }
  }
  for (const task of removed) {
    // What is not counted there was never logged, or is logged as released.
    if (core.tasks.holdersOf(task).includes(worker)) {
      log.stored(worker, task, rows, StoredKind.Released, -nbytes[task]!);
    }
  }
  cluster.handle({
    type: 'replicasChanged',
    at: cluster.at,
    worker,
    added,
    removed
  });
}

function takeMeasured(
  cluster: ClusterState,
  session: WorkerSession,
  { fields, tables }: Message<'worker', 'up', 'measured'>
): void {
  const { log, rows } = cluster;
  const worker = session.id;
  const taskOf = (outer: OuterTaskId): DenseTaskId =>
    outer === NONE_U32 ? NO_TASK : rows.ids.resolve(outer);
  log.workerNames(worker, fields.firstName, fields.names);
  const { memory, frames, stacks, samples, running, transfers } = tables;
  for (let i = 0; i < tables.threads.rows; i++) {
    session.laneThreads.note(
      tables.threads.thread[i]!,
      tables.threads.t[i]!,
      tables.threads.ident[i]!
    );
  }
  if (memory.rows > 0) {
    const last = memory.rows - 1;
    session.memory = {
      process: memory.process[last]!,
      managed: memory.managed[last]!,
      spilled: memory.spilled[last]!,
      unmanagedOld: memory.unmanagedOld[last]!
    };
  }
  session.system = newestOf(tables.system) ?? session.system;
  session.load = newestOf(tables.load) ?? session.load;
  for (let i = 0; i < running.rows; i++) {
    const task = taskOf(running.taskId[i]!);
    if (task === NO_TASK) {
      session.running.delete(running.thread[i]!);
    } else {
      session.running.set(running.thread[i]!, {
        task,
        run: running.runId[i]!,
        started: running.started[i]!
      });
    }
  }
  if (!cluster.runWatchers.isEmpty) {
    cluster.runWatchers.began(worker, running, row =>
      taskOf(running.taskId[row]!)
    );
  }
  const { measured } = log;
  measured.memory(worker, memory);
  measured.system(worker, tables.system);
  measured.fine(worker, tables.fine);
  measured.profile(worker, frames, stacks, samples);
  measured.threads(worker, tables.threads);
  measured.running(worker, running, taskOf, rows);
  measured.spilled(worker, tables.stored);
  measured.transfers(worker, transfers, taskOf, rows);
  cluster.handle({
    type: 'transfersMeasured',
    at: cluster.at,
    bytes: transfers.bytes.slice(0, transfers.rows),
    seconds: transfers.duration.slice(0, transfers.rows)
  });
}

/** The last row of a table as an object; null: it has none. */
function newestOf<C extends { readonly rows: number }>(
  table: C
): { readonly [N in Exclude<keyof C, 'rows'>]: number } | null {
  const { rows, ...columns } = table;
  return rows === 0
    ? null
    : (Object.fromEntries(
        Object.entries(columns as Record<string, ArrayLike<number>>).map(
          ([name, column]) => [name, column[rows - 1]!]
        )
      ) as { readonly [N in Exclude<keyof C, 'rows'>]: number });
}
