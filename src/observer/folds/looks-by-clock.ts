import { SampleState } from '../../records/enumerations';
import { STATUS_REPLACED } from '../store/log-store';
import { Coverage } from './coverage';
import { resolveRange, type FoldContext, type Slices } from './context';

/** Of longer logs the looks are left as they are. */
const MOST_SECONDS = 500_000;

/** Second → how many samples, by state. */
type BySecond = ReadonlyMap<number, readonly number[]>;

/**
 * Dask's looks by second, each second with as many as are due for the time that its threads worked. An event loop that is busy looks less
 * often, so that by the mean rate calm seconds would have more threads than there are; and a worker tells its looks when the second that they
 * are of has ended by its own clock, so that those of a second are in the log's same or next one:
 *
 *     worked, in threads      4   4   4   4   0
 *     looks in the log        0 400 400 100 100     a mean of 62.5 in a second of a thread
 *     by the clock          250 250 250 250   0
 *
 * Where nothing is known to have worked, as before it was watched, looks stay as they were.
 *
 * @param passing - those that the filter leaves.
 * @param all - those of other spans, functions and workers, too, by second.
 * @param rateHz - in a second of a thread, on average.
 */
export function* looksByClock(
  context: FoldContext,
  passing: BySecond,
  all: ReadonlyMap<number, number>,
  rateHz: number
): Slices<BySecond> {
  const { wholeFrom } = context.log;
  let first = Infinity;
  let last = -Infinity;
  for (const second of all.keys()) {
    first = Math.min(first, second);
    last = Math.max(last, second);
  }
  if (!(last >= first) || last - first > MOST_SECONDS) {
    return passing;
  }
  const worked = yield* workedBySecond(context, first - 1, last + 1);
  const workedIn = (second: number): number =>
    second < wholeFrom ? 0 : (worked[second - first + 1] ?? 0);
  const found = new Map<number, readonly number[]>();
  // (looks that the log has at the beginning of a range may be of the second before it)
  const from =
    context.time === 'all' ? first - 1 : Math.floor(resolveRange(context).from);
  for (const [second, counts] of passing) {
    if (workedIn(second) + workedIn(second - 1) === 0) {
      found.set(second, counts);
    }
  }
  for (let second = Math.max(first - 1, from); second <= last; second++) {
    const due = workedIn(second) * rateHz;
    const looks = (all.get(second) ?? 0) + (all.get(second + 1) ?? 0);
    const here = passing.get(second);
    const next = passing.get(second + 1);
    if (due > 0 && looks > 0 && (here ?? next) !== undefined) {
      found.set(
        second,
        Array.from(
          { length: SampleState.Unknown + 2 },
          (_, state) =>
            (((here?.[state] ?? 0) + (next?.[state] ?? 0)) / looks) * due
        )
      );
    }
  }
  return found;
}

/** Seconds of threads in each second from `from` to `to`. */
function* workedBySecond(
  { log, moment, now }: FoldContext,
  from: number,
  to: number
): Slices<Float64Array> {
  const cover = new Coverage(to - from, from, to);
  for (const { columns: c, rows } of log.runs.rowsBefore(moment.rows.runs)) {
    for (let i = 0; i < rows; i++) {
      if (c.status[i] !== STATUS_REPLACED) {
        cover.add(c.start[i]!, c.start[i]! + c.duration[i]!);
      }
    }
    yield;
  }
  for (const { started } of moment.running.values()) {
    cover.add(started, now);
  }
  return cover.read();
}
