import { NONE_U16, NONE_U32 } from '../../records/enumerations';
import type { SystemLine, SystemResult } from '../../wire/panel-link';
import type { LogStore } from '../store/log-store';
import {
  resolveRange,
  type FoldContext,
  type Honoured,
  type Slices
} from './context';
import { honouredBy } from './honoured';
import { workerName } from './run-detail';

/** An answer must fit in one message of the panel link: a point has twelve numbers of nine bytes. */
const MOST_POINTS = 600;
const MOST_POINTS_IN_ALL = 3_600;
const MOST_LINES = 512;

/** What is a mean over the row's seconds, … */
const MEANS = [
  'cpu',
  'netRead',
  'netWrite',
  'diskRead',
  'diskWrite',
  'hostDiskRead',
  'hostDiskWrite',
  'loopInterval'
] as const;
/** … and what is so at its end. */
const LEVELS = ['memory', 'fds'] as const;
type Mean = (typeof MEANS)[number];
type Level = (typeof LEVELS)[number];

/** One row, or neighbours that are one point. */
type Point = Record<Mean | Level | 't' | 'seconds', number>;

/**
 * What the system counts for each process over time. A row stands for the seconds before it, and is in a range that these touch. Of more
 * rows than fit, as many neighbours as need be are one point: with the mean of what is a rate, so that rate times seconds adds up to the
 * same, and the highest of what is a level.
 */
export function* foldSystem(
  context: FoldContext
): Slices<{ readonly result: SystemResult; readonly honoured: Honoured }> {
  const { log, filter, time } = context;
  const range = time === 'all' ? null : resolveRange(context);
  const byWorker = new Map<number, Point[]>();
  for (const { columns: c, rows } of log.system.rowsBefore(Infinity)) {
    for (let i = 0; i < rows; i++) {
      const worker = c.worker[i]!;
      const t = c.t[i]!;
      const seconds = c.seconds[i]!;
      if (
        filter.workers[worker] === 0 ||
        (range !== null && (t <= range.from || t - seconds >= range.to))
      ) {
        continue;
      }
      const point = { t, seconds } as Point;
      for (const name of [...MEANS, ...LEVELS]) {
        point[name] = c[name][i]!;
      }
      if (c.fds[i] === NONE_U32) {
        point.fds = NaN;
      }
      let points = byWorker.get(worker);
      if (points === undefined) {
        points = [];
        byWorker.set(worker, points);
      }
      points.push(point);
    }
    yield;
  }
  const workers = [...byWorker.keys()].sort(schedulerFirst);
  const shown = workers.slice(0, MOST_LINES);
  const most = Math.min(
    MOST_POINTS,
    Math.floor(MOST_POINTS_IN_ALL / Math.max(1, shown.length))
  );
  return {
    result: {
      view: 'system',
      lines: shown.map(worker =>
        lineOf(log, worker, byWorker.get(worker)!, most)
      ),
      dropped: workers.length - shown.length
    },
    honoured: honouredBy('system', context)
  };
}

function schedulerFirst(one: number, other: number): number {
  return Number(other === NONE_U16) - Number(one === NONE_U16) || one - other;
}

function lineOf(
  log: LogStore,
  worker: number,
  rows: readonly Point[],
  most: number
): SystemLine {
  const together = Math.max(1, Math.ceil(rows.length / most));
  const points = Array.from(
    { length: Math.ceil(rows.length / together) },
    (_, i) => merged(rows.slice(i * together, (i + 1) * together))
  );
  const column = (name: Mean | Level): (number | null)[] =>
    points.map(point => (Number.isNaN(point[name]) ? null : point[name]));
  return {
    ...(worker === NONE_U16
      ? { worker: null, name: 'scheduler', address: '', host: hostOf(log) }
      : {
          worker,
          name: workerName(log, worker),
          address: log.shape.workers.get(worker)?.address ?? '',
          host: log.shape.workers.get(worker)?.host ?? ''
        }),
    rows: rows.length,
    t: points.map(({ t }) => t),
    seconds: points.map(({ seconds }) => seconds),
    cpu: column('cpu'),
    memory: column('memory'),
    fds: column('fds'),
    netRead: column('netRead'),
    netWrite: column('netWrite'),
    diskRead: column('diskRead'),
    diskWrite: column('diskWrite'),
    hostDiskRead: column('hostDiskRead'),
    hostDiskWrite: column('hostDiskWrite'),
    ...(points.some(point => !Number.isNaN(point.loopInterval))
      ? { loopInterval: column('loopInterval') }
      : {})
  };
}

/** Of the scheduler, if its log says it. */
function hostOf({ header }: LogStore): string {
  const { host } = header;
  return typeof host === 'string' ? host : '';
}

function merged(rows: readonly Point[]): Point {
  if (rows.length === 1) {
    return rows[0]!;
  }
  const point = {
    t: rows.at(-1)!.t,
    seconds: rows.reduce((sum, { seconds }) => sum + seconds, 0)
  } as Point;
  for (const name of MEANS) {
    const known = rows.filter(row => !Number.isNaN(row[name]));
    const seconds = known.reduce((sum, row) => sum + row.seconds, 0);
    point[name] =
      known.reduce((sum, row) => sum + row[name] * row.seconds, 0) / seconds;
  }
  for (const name of LEVELS) {
    const known = rows
      .map(row => row[name])
      .filter(each => !Number.isNaN(each));
    point[name] = known.length > 0 ? Math.max(...known) : NaN;
  }
  return point;
}
