/**
 * Checks the content of messages whose form is right: offsets lie within what they point into, ids are possible, times are numbers. Checked
 * before any of the message is taken in, so that a refused message has changed nothing. In the scheduler process.
 */
import { MOST_SECEDED } from '../../sources';
import { NONE_U32, SubmitFlag } from '../../records/enumerations';
import type { ArrayOf } from '../../base/typed-arrays';
import type { ClientTaskId } from '../../records/ids';
import { MAX_DENSE_IDS } from '../../base/versioned-ids';
import { BrokenFrame } from '../../wire/broken-frame';
import { MOST_KEYS_ASKED } from '../../wire/worker-link';
import type { Message } from '../../wire/schema';
import type { ClientBlobs, ClientTasks } from './client-scope';

/**
 * Ids are dense: each one takes room for all before it. A client that gave up a submission while another of its threads scattered data
 * has skipped the submission's ids, which are no more than there can be.
 */
const MOST_SKIPPED_IDS = MAX_DENSE_IDS;
/** The same for names; each side announces its own. */
const MOST_SKIPPED_NAMES = 1 << 20;
/** Interval of a memory run, as long as anybody could want. */
const MOST_INTERVAL_SECONDS = 86_400;

type Submit = Message<'client', 'up', 'submit'>;
type Scattered = Message<'client', 'up', 'scattered'>;

/** A graph of which some parts have come and others not. */
export type ComingGraph = {
  readonly generation: number;
  /** Whether the users of its tasks are told; null: no task has come. */
  readonly isTold: boolean | null;
};

type Borders = {
  readonly tasks: ClientTasks;
  readonly blobs: ClientBlobs;
  /** How many names the sender has announced. */
  readonly names: number;
  readonly coming: ComingGraph | null;
  /** It is a worker's: what it says of the worker's tasks can be so. */
  readonly isOfWorker: boolean;
};

/** @throws BrokenFrame */
export function checkFromClient(
  message: Message<'client', 'up'>,
  borders: Borders
): void {
  const { type } = message;
  if (type === 'submit' || type === 'scattered' || type === 'spans') {
    checkNames(type, message.fields.firstName, borders.names);
    const isWithin = type === 'submit' && message.fields.within !== null;
    if (
      !borders.isOfWorker &&
      (isWithin || message.fields.spans.some(({ same }) => same !== undefined))
    ) {
      throw new BrokenFrame(
        `"${type}" is of a task that runs, and the client of no worker.`
      );
    }
  }
  if (type === 'submit') {
    checkSubmit(message, borders);
  } else if (type === 'scattered') {
    checkScattered(message, borders);
  } else if (
    type === 'logEvent' ||
    (type === 'plugin' && message.fields.setUp)
  ) {
    checkHasBlob(type, message.blobs);
  } else if (type === 'adopt') {
    checkIds('adopt', message.tables.tasks, borders.tasks);
  } else if (type === 'share') {
    checkShare(message);
  } else if (type === 'run' && message.blobs.length === 0) {
    throw new BrokenFrame('"run" has no function to run.');
  } else if (
    type === 'memoryRun' &&
    Math.abs(message.fields.intervalSeconds) > MOST_INTERVAL_SECONDS
  ) {
    throw new BrokenFrame(
      `"memoryRun": an interval of ${message.fields.intervalSeconds} s; ${MOST_INTERVAL_SECONDS} s is the longest.`
    );
  }
}

function checkSubmit(
  { fields, tables, blobs }: Submit,
  { tasks: own, blobs: kept, coming }: Borders
): void {
  const { tasks, dependencies, users } = tables;
  if (users.rows !== 0 && users.rows !== tasks.rows) {
    throw new BrokenFrame(
      `"submit": ${users.rows} counts of users for ${tasks.rows} tasks.`
    );
  }
  if (coming !== null && coming.generation !== fields.generation) {
    throw new BrokenFrame(
      `"submit": graph ${fields.generation}, while graph ${coming.generation} has not come whole.`
    );
  }
  const wasTold = coming?.isTold ?? null;
  if (wasTold !== null && tasks.rows > 0 && wasTold !== users.rows > 0) {
    throw new BrokenFrame(
      `"submit": counts of users with some pieces of graph ${fields.generation}, and not with all.`
    );
  }
  const here = new Set<number>();
  for (const { id, blob } of fields.templates) {
    checkBlob('submit', blob, blobs.length);
    here.add(id);
  }
  for (const { blob } of fields.chunks) {
    checkBlob('submit', blob, blobs.length);
  }
  const keyBytes = checkKeys('submit', fields.keysBlob, blobs);
  checkIds('submit', tasks, own);
  checkAscending('submit', 'suffix', tasks.suffix, tasks.rows, keyBytes);
  checkAscending(
    'submit',
    'firstDependency',
    tasks.firstDependency,
    tasks.rows,
    dependencies.rows
  );
  for (let i = 0; i < tasks.rows; i++) {
    const stop =
      i + 1 < tasks.rows ? tasks.firstDependency[i + 1]! : dependencies.rows;
    for (let k = tasks.firstDependency[i]!; k < stop; k++) {
      // Longer loops cannot be expressed: a row only names rows before it.
      if (dependencies.id[k] === tasks.id[i]) {
        throw new BrokenFrame(
          `"submit": task ${tasks.id[i]} depends on itself.`
        );
      }
    }
  }
  const restrictions = fields.restrictions.length;
  let known: number | null = null;
  for (let i = 0; i < tasks.rows; i++) {
    const template = tasks.template[i]!;
    // An alias runs nothing, so its function and span tell nothing about the next row's.
    if ((tasks.flags[i]! & SubmitFlag.Alias) === 0 && template !== known) {
      if (!here.has(template) && !kept.hasTemplate(template)) {
        throw new BrokenFrame(
          `"submit": task ${tasks.id[i]} names template ${template}, which was never sent.`
        );
      }
      known = template;
    }
    if (tasks.restriction[i]! > restrictions) {
      throw new BrokenFrame(
        `"submit": task ${tasks.id[i]} names restriction ${tasks.restriction[i]} of ${restrictions}.`
      );
    }
  }
}

function checkScattered(
  { fields, tables, blobs }: Scattered,
  { tasks: own }: Borders
): void {
  const { tasks, holders } = tables;
  const keyBytes = checkKeys('scattered', fields.keysBlob, blobs);
  checkIds('scattered', tasks, own);
  checkAscending('scattered', 'suffix', tasks.suffix, tasks.rows, keyBytes);
  for (let k = 0; k < holders.rows; k++) {
    if (holders.row[k]! >= tasks.rows) {
      throw new BrokenFrame(
        `"scattered": a holder of row ${holders.row[k]} of ${tasks.rows}.`
      );
    }
  }
  checkSizes('scattered', 'nbytes', tasks.nbytes, tasks.rows);
}

/**
 * @param threads - of the worker: each is a lane of the log, as is each of those beside them.
 * @throws BrokenFrame
 */
export function checkFromWorker(
  message: Message<'worker', 'up'>,
  names: number,
  threads: number
): void {
  if (message.type === 'logEvent') {
    checkHasBlob(message.type, message.blobs);
  } else if (message.type === 'share') {
    checkShare(message);
  } else if (message.type === 'finished') {
    checkNames('finished', message.fields.firstName & ~COINED, names);
    checkFinished(message, threads);
  } else if (message.type === 'measured') {
    const { samples, running, system, threads: changed } = message.tables;
    checkNames('measured', message.fields.firstName & ~COINED, names);
    checkThreads('measured', samples.thread, samples.rows, threads);
    checkThreads('measured', running.thread, running.rows, threads);
    checkThreads('measured', changed.thread, changed.rows, threads);
    checkTimes('measured', 't', changed.t, changed.rows);
    checkAmounts('measured', 'ident', changed.ident, changed.rows);
    checkTimes('measured', 't', system.t, system.rows);
    checkAmounts('measured', 'seconds', system.seconds, system.rows);
  } else if (message.type === 'seceded') {
    const { seconds, rows } = message.tables.tasks;
    checkAmounts('seceded', 'seconds', seconds, rows);
  } else if (message.type === 'replicas') {
    const { added } = message.tables;
    checkSizes('replicas', 'nbytes', added.nbytes, added.rows);
  } else if (message.type === 'askClock') {
    const { offset, within } = message.fields;
    checkSeconds('askClock', 'offset', [offset], 1, -MOST_SECONDS);
    checkSeconds('askClock', 'within', [within], 1, 0);
  } else if (message.type === 'askKeys') {
    const { rows } = message.tables.ids;
    if (rows > MOST_KEYS_ASKED) {
      throw new BrokenFrame(
        `"askKeys": ${rows} ids; ${MOST_KEYS_ASKED} are the most.`
      );
    }
  }
}

/** Python's names have at most 1,000 characters, each of which is one or two here; its leases are 32 digits. */
const MOST_NAME_UNITS = 2_000;
const MOST_LEASE_UNITS = 64;
/** What brings a value, of kinds that have values. */
const BRINGS: ReadonlySet<string> = new Set(['set', 'put', 'putBack']);

function checkShare({
  type,
  fields,
  blobs
}: Pick<Message<'client', 'up', 'share'>, 'type' | 'fields' | 'blobs'>): void {
  const { name, lease } = fields;
  if (name.length > MOST_NAME_UNITS || lease.length > MOST_LEASE_UNITS) {
    throw new BrokenFrame(
      `"${type}": a name of ${name.length} and a lease of ${lease.length} characters; ${MOST_NAME_UNITS} and ${MOST_LEASE_UNITS} are the longest.`
    );
  }
  if (BRINGS.has(fields.what) && fields.kind !== 'event') {
    checkHasBlob(type, blobs);
  }
}

/** Set in the name ids that a worker coins. */
const COINED = 0x80000000;

function checkFinished(
  { fields, tables, blobs }: Message<'worker', 'up', 'finished'>,
  threads: number
): void {
  const { runs, parts, meters, signs } = tables;
  for (const { row, blob } of fields.errors) {
    if (row >= runs.rows) {
      throw new BrokenFrame(
        `"finished": an error of row ${row} of ${runs.rows}.`
      );
    }
    if (blob >= 0) {
      checkBlob('finished', blob, blobs.length);
    }
  }
  const inlineBytes = blobs[0]?.length ?? 0;
  for (let i = 0; i < runs.rows; i++) {
    const length = runs.inlineLength[i]!;
    if (
      length !== NONE_U32 &&
      length > 0 &&
      runs.inlineStart[i]! + length > inlineBytes
    ) {
      throw new BrokenFrame(
        `"finished": a result of ${length} bytes from ${runs.inlineStart[i]} on, in ${inlineBytes}.`
      );
    }
  }
  checkThreads('finished', runs.thread, runs.rows, threads);
  checkAscending(
    'finished',
    'firstPart',
    runs.firstPart,
    runs.rows,
    parts.rows
  );
  checkAscending('finished', 'row', signs.row, signs.rows, runs.rows - 1);
  checkAscending('finished', 'row', meters.row, meters.rows, runs.rows - 1);
  checkTimes('finished', 'value', meters.value, meters.rows);
  checkAmounts('finished', 'cpu', meters.cpu, meters.rows);
  checkSeconds('finished', 'start', runs.start, runs.rows, -MOST_SECONDS);
  checkSeconds('finished', 'duration', runs.duration, runs.rows, 0);
  checkSizes('finished', 'nbytes', runs.nbytes, runs.rows);
  checkSeconds('finished', 'offset', parts.offset, parts.rows, -MOST_SECONDS);
  checkSeconds('finished', 'duration', parts.duration, parts.rows, 0);
}

function checkNames(type: string, first: number, announced: number): void {
  if (first > announced + MOST_SKIPPED_NAMES) {
    throw new BrokenFrame(
      `"${type}": names from ${first} on, of which ${announced} are known.`
    );
  }
}

function checkHasBlob(type: string, blobs: readonly Uint8Array[]): void {
  if (blobs.length === 0) {
    throw new BrokenFrame(`"${type}" brings nothing.`);
  }
}

function checkBlob(type: string, blob: number, blobs: number): void {
  if (blob >= blobs) {
    throw new BrokenFrame(`"${type}": blob ${blob} of ${blobs}.`);
  }
}

/** @returns the bytes of the keys' texts. */
function checkKeys(
  type: string,
  blob: number,
  blobs: readonly Uint8Array[]
): number {
  if (blob < 0) {
    return 0;
  }
  checkBlob(type, blob, blobs.length);
  return blobs[blob]!.length;
}

function checkIds(
  type: string,
  {
    id,
    rows: count
  }: {
    readonly id: ArrayOf<Uint32Array, ClientTaskId>;
    readonly rows: number;
  },
  own: ClientTasks
): void {
  const most = own.end + count + MOST_SKIPPED_IDS;
  // Ids nearly always ascend, and then none comes twice.
  let highest = -1;
  let seen: Set<number> | null = null;
  for (let i = 0; i < count; i++) {
    if (id[i]! > highest) {
      highest = id[i]!;
      seen?.add(highest);
    } else {
      seen ??= new Set(id.subarray(0, i));
      if (seen.has(id[i]!)) {
        throw new BrokenFrame(`"${type}": task ${id[i]} comes twice.`);
      }
      seen.add(id[i]!);
    }
    if (id[i]! >= most) {
      throw new BrokenFrame(
        `"${type}": task ${id[i]}, when the next is ${own.end}.`
      );
    }
    if (own.resolve(id[i]!) >= 0) {
      throw new BrokenFrame(`"${type}": task ${id[i]} is there already.`);
    }
  }
}

/** Each row's stretch ends where the next one's begins, the last one's at `end`. */
function checkAscending(
  type: string,
  column: string,
  values: Uint32Array,
  rows: number,
  end: number
): void {
  let last = 0;
  for (let i = 0; i < rows; i++) {
    if (values[i]! < last || values[i]! > end) {
      throw new BrokenFrame(
        `"${type}": ${column} ${values[i]} after ${last}, of ${end}.`
      );
    }
    last = values[i]!;
  }
}

function checkThreads(
  type: string,
  values: Uint16Array,
  rows: number,
  threads: number
): void {
  for (let i = 0; i < rows; i++) {
    if (values[i]! >= threads + MOST_SECEDED) {
      throw new BrokenFrame(`"${type}": thread ${values[i]} of ${threads}.`);
    }
  }
}

/** Most bytes of one result: a pebibyte. Sums with larger results lose small ones, and stay wrong when the large ones have gone. */
const MOST_BYTES = 2 ** 50;

function checkSizes(
  type: string,
  column: string,
  values: Float64Array,
  rows: number
): void {
  for (let i = 0; i < rows; i++) {
    // Written so that NaN is refused.
    if (!(values[i]! >= 0 && values[i]! <= MOST_BYTES)) {
      throw new BrokenFrame(`"${type}": ${column} is ${values[i]}.`);
    }
  }
}

/** No log lasts 30 years. */
const MOST_SECONDS = 1e9;

/** Times that are known: clients that watch runs are told of them, and what tasks take is learned. */
function checkSeconds(
  type: string,
  column: string,
  values: ArrayLike<number>,
  rows: number,
  least: number
): void {
  for (let i = 0; i < rows; i++) {
    // Written so that NaN is refused.
    if (!(values[i]! >= least && values[i]! <= MOST_SECONDS)) {
      throw new BrokenFrame(`"${type}": ${column} is ${values[i]}.`);
    }
  }
}

/** Seconds, bytes: numbers that may not be known, and are not negative. */
function checkAmounts(
  type: string,
  column: string,
  values: Float64Array,
  rows: number
): void {
  for (let i = 0; i < rows; i++) {
    if (values[i]! < 0 || values[i] === Infinity) {
      throw new BrokenFrame(`"${type}": ${column} is ${values[i]}.`);
    }
  }
}

function checkTimes(
  type: string,
  column: string,
  values: Float64Array,
  rows: number
): void {
  for (let i = 0; i < rows; i++) {
    if (Math.abs(values[i]!) === Infinity) {
      throw new BrokenFrame(`"${type}": ${column} is ${values[i]}.`);
    }
  }
}
