/**
 * What spans have of their own, without what lies in them, adds up to the whole: per context, function, activity and unit, of drawn clusters and of
 * recorded real runs.
 */
import type { SpanId } from '../../records/ids';
import { drawCluster } from '../../testing/drawn-cluster';
import { RECORDED, recordedRun } from '../../testing/recorded-run';
import { complete } from '../folds/context';
import { foldView } from '../folds/fold-view';
import type { LogStore } from '../store/log-store';
import type { FineMetricsResult, TimeRange } from '../../wire/panel-link';
import { contextOf, takenIn } from './ask';

type Sums = Map<string, number>;

/** Of the spans alone that are named, or of all. */
function entries(
  log: LogStore,
  time: TimeRange,
  span?: SpanId
): FineMetricsResult {
  const context = contextOf(log, { time });
  const { filter } = context;
  const spans = new Uint8Array(filter.spans.length);
  if (span !== undefined) {
    spans[span] = 1;
  }
  const { result } = complete(
    foldView(
      'fine-metrics',
      span === undefined
        ? context
        : {
            ...context,
            filter: {
              ...filter,
              key: `own ${span}`,
              isOpen: false,
              outsideTasks: 0,
              bySpan: true,
              spans
            }
          },
      { entries: true }
    )
  );
  return result as FineMetricsResult;
}

/** Seconds as whole nanoseconds. */
function sumInto(sums: Sums, { entries }: FineMetricsResult): void {
  for (const [context, fn, activity, unit, value] of entries!) {
    const key = [context, fn, activity, unit].join(' | ');
    const whole = unit === 'seconds' ? value * 1e9 : value;
    sums.set(key, (sums.get(key) ?? 0) + whole);
  }
}

/** What workers do beside tasks is of no function and of no span. */
const isBesideTasks = (key: string): boolean => key.split(' | ')[1] === '';
/** Whole nanoseconds; idle time is divided by a rule, and what is told by the second or by users may be any number. */
const isWhole = (key: string): boolean =>
  /^(?:execute|background|noncpu) \|.*\| seconds$/.test(key) &&
  !key.startsWith('execute | N/A |');

function spansOf(log: LogStore): SpanId[] {
  return [
    ...new Set([0 as SpanId, ...[...log.spans.all()].map(({ span }) => span)])
  ];
}

function check(log: LogStore, time: TimeRange): Sums {
  const all: Sums = new Map();
  sumInto(all, entries(log, time));
  const parts: Sums = new Map();
  let attributed = 0;
  for (const span of spansOf(log)) {
    const result = entries(log, time, span);
    sumInto(parts, result);
    attributed += result.attributedNanoseconds;
  }
  const whole = entries(log, time);
  expect(attributed).toBe(whole.totalNanoseconds);
  for (const [key, value] of all) {
    if (isBesideTasks(key)) {
      expect([key, parts.has(key)]).toEqual([key, false]);
      continue;
    }
    const sum = parts.get(key) ?? 0;
    if (isWhole(key)) {
      expect([key, Math.round(sum)]).toEqual([key, Math.round(value)]);
    } else {
      // Equal but for the last bits of sums.
      expect([key, sum / value]).toEqual([key, expect.closeTo(1, 9)]);
    }
  }
  expect([...parts.keys()].filter(key => !all.has(key))).toEqual([]);
  return all;
}

describe('what spans have of their own', () => {
  it.each(RECORDED)('makes up the whole of a real run, %s', name => {
    const { log } = recordedRun(name);
    check(log, 'all');
    check(log, { from: log.now / 3, to: (2 * log.now) / 3 });
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'makes up the whole of drawn cluster %d',
    seed => {
      const log = takenIn(drawCluster(seed));
      expect(spansOf(log).length).toBeGreaterThan(3);
      check(log, 'all');
      check(log, { from: 4, to: 12 });
    }
  );

  it('has what tasks measure themselves, in each unit', () => {
    const all = check(recordedRun('mixed').log, 'all');
    const found = [...all.keys()].filter(key => key.includes('| measure |'));
    for (const key of [
      'execute | measure | read | seconds',
      'execute | measure | read | bytes',
      'execute | measure | rows | rows',
      'user | measure | claimed | seconds'
    ]) {
      expect(found).toContain(key);
    }
  });
});
