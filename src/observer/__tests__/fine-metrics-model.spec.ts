/**
 * The figures of Fine Performance Metrics for a drawn cluster, in each unit, of each selection, worked out a second time from the drawn facts.
 */
import { PartKind, RunStatus, wordsOf } from '../../records/enumerations';
import {
  drawCluster,
  endOf,
  TICK,
  TICKS,
  type ClusterFacts,
  type RunFact
} from '../../testing/drawn-cluster';
import { computed, isComputing } from '../../testing/drawn-computing';
import {
  DRAWN_SELECTIONS,
  type DrawnSelection
} from '../../testing/drawn-selections';
import type { TimeRange } from '../../wire/panel-link';
import { ask, takenIn } from './ask';

const END = TICKS * TICK;
const SEEDS = [1, 2];
const KIND = wordsOf(PartKind);

/** Something that a function did: so much of an activity. */
type Fact = {
  readonly function: string;
  readonly span: number;
  readonly activity: string;
  readonly seconds: number;
  readonly bytes: number;
  readonly count: number;
};
type Unit = 'seconds' | 'bytes' | 'count';

/** Computing by what the thread did meanwhile. */
function computedBy(
  of: { readonly function: string; readonly span: number },
  ...[duration, cpu, coreWait]: Parameters<typeof computed>
): Fact[] {
  return computed(duration, cpu, coreWait).map(([activity, seconds]) => ({
    function: of.function,
    span: of.span,
    activity,
    seconds,
    bytes: 0,
    count: 0
  }));
}

/** What a run's thread was held for, and how often a function computed in it. */
function factsOf(run: RunFact): Fact[] {
  const { status } = run;
  const done = partsOf(run);
  if (status !== RunStatus.Failed) {
    return done;
  }
  // It did what it did, and all of it came to nothing.
  return done.flatMap(fact => [
    { ...fact, seconds: 0 },
    { ...fact, activity: 'failed', bytes: 0, count: 0 }
  ]);
}

function partsOf(run: RunFact): Fact[] {
  const { task, status, duration, cpu } = run;
  const own = { function: task.function, span: task.span, bytes: 0, count: 0 };
  const execution = { ...own, activity: 'compute', seconds: 0, count: 1 };
  if (status === RunStatus.Missing) {
    return [];
  }
  if (status === RunStatus.Lost) {
    return [execution, { ...own, activity: 'lost', seconds: duration }];
  }
  const held = run.parts.filter(part => part.held);
  if (held.length === 0) {
    return [execution, ...computedBy(task, duration, cpu, NaN)];
  }
  const explained = held.reduce((sum, part) => sum + part.duration, 0);
  return [
    ...(held.some(isComputing) ? [] : [execution]),
    { ...own, activity: 'other', seconds: duration - explained },
    ...held.flatMap((part): Fact[] =>
      isComputing(part)
        ? [
            { ...execution, function: part.function, span: part.span },
            ...computedBy(part, part.duration, part.cpu, part.coreWait)
          ]
        : [
            {
              function: part.function,
              span: part.span,
              activity: KIND[part.kind]!,
              seconds: part.duration,
              bytes: part.bytes,
              count: 1
            }
          ]
    )
  ];
}

const sum = <T>(of: readonly T[], value: (each: T) => number): number =>
  of.reduce((total, each) => total + value(each), 0);

function byActivity(facts: readonly Fact[], unit: Unit): Map<string, number> {
  const sums = new Map<string, number>();
  for (const fact of facts) {
    sums.set(fact.activity, (sums.get(fact.activity) ?? 0) + fact[unit]);
  }
  return new Map([...sums].filter(([, value]) => value !== 0));
}

/** By function, the largest first. */
function rowsOf(facts: readonly Fact[], unit: Unit) {
  return [...new Set(facts.map(fact => fact.function))]
    .map(name => {
      const own = facts.filter(fact => fact.function === name);
      return {
        function: name,
        executions: sum(
          own.filter(({ activity }) => activity === 'compute'),
          ({ count }) => count
        ),
        total: sum(own, fact => fact[unit]),
        activities: byActivity(own, unit)
      };
    })
    .sort((a, b) => b.total - a.total || (a.function < b.function ? -1 : 1));
}

function backgroundOf(
  { runs, fine }: ClusterFacts,
  { isOwn, isWorker, isStatus }: DrawnSelection
): Map<string, unknown> {
  const rows = new Map<string, unknown>();
  const behind = runs
    .filter(run => isWorker(run.worker.worker) && isStatus(run.status))
    .flatMap(run => run.parts.filter(part => !part.held && isOwn(part)));
  for (const kind of new Set(behind.map(part => part.kind))) {
    const own = behind.filter(part => part.kind === kind);
    rows.set(KIND[kind]!, {
      seconds: sum(own, part => part.duration),
      bytes: sum(own, part => part.bytes),
      count: own.length
    });
  }
  const outside = fine.filter(row => isWorker(row.worker) && isOwn(row));
  for (const { context, activity } of outside) {
    const own = outside.filter(
      row => row.context === context && row.activity === activity
    );
    const of = (unit: Unit): number | null => {
      const measured = own.filter(row => row.unit === unit);
      return measured.length === 0 ? null : sum(measured, row => row.value);
    };
    rows.set(`${context}: ${activity}`, {
      seconds: of('seconds'),
      bytes: of('bytes'),
      count: of('count')
    });
  }
  return rows;
}

const TIMES: readonly [TimeRange, from: number, to: number][] = [
  ['all', 0, END],
  [{ from: 4, to: 12 }, 4, 12],
  [{ from: 11.5, to: 15.75 }, 11.5, 15.75],
  [{ last: 8 }, 8, END]
];

/** How long a run held its thread for tasks of the selection, within a range. */
function ownSeconds(
  run: RunFact,
  { isOwn }: DrawnSelection,
  from: number,
  to: number
): number {
  const within = (start: number, stop: number): number =>
    Math.max(0, Math.min(stop, to) - Math.max(start, from));
  const held = (run.status === RunStatus.Lost ? [] : run.parts)
    .filter(part => part.held)
    .map(part => {
      const start = run.start + part.offset;
      return { part, seconds: within(start, start + part.duration) };
    });
  const rest =
    within(run.start, endOf(run)) - sum(held, ({ seconds }) => seconds);
  return (
    sum(
      held.filter(({ part }) => isOwn(part)),
      ({ seconds }) => seconds
    ) + (isOwn(run.task) ? rest : 0)
  );
}

/** How long runs that go on have held their threads, within a range. */
function goingSeconds(
  runs: ClusterFacts['going'],
  from: number,
  to: number
): number {
  return sum(runs, ({ started }) => Math.max(0, to - Math.max(started, from)));
}

/** Equal but for the last bits of sums. */
function nearly(values: ReadonlyMap<string, number>): Record<string, unknown> {
  return Object.fromEntries(
    [...values].map(([name, value]) => [
      name,
      expect.closeTo(value, 6) as unknown
    ])
  );
}

describe('fine metrics of a drawn cluster', () => {
  const selections = DRAWN_SELECTIONS.map(
    each => [JSON.stringify(each.filter), each] as const
  );

  it.each(selections)(
    'have each figure of %s, in each unit',
    (_, selection) => {
      const { filter, isOwn, isWorker, isStatus } = selection;
      for (const seed of SEEDS) {
        const cluster = drawCluster(seed);
        const log = takenIn(cluster);
        const here = cluster.runs.filter(run => isWorker(run.worker.worker));
        const facts = here
          .filter(run => isStatus(run.status))
          .flatMap(factsOf)
          .filter(isOwn);
        const all = sum(here, run => run.duration);
        const own = sum(facts, ({ seconds }) => seconds);
        const running = goingSeconds(
          cluster.going.filter(
            ({ worker, task }) =>
              isWorker(worker.worker) && isOwn(task) && isStatus(null)
          ),
          0,
          END
        );
        for (const unit of ['seconds', 'bytes', 'count'] as const) {
          const expected = rowsOf(facts, unit);
          const total = sum(facts, fact => fact[unit]);
          for (const top of [undefined, 2]) {
            const result = ask(log, 'fine-metrics', {
              filter,
              now: END,
              params: { unit, top }
            });
            expect(result).toMatchObject({
              unit,
              units: ['seconds', 'bytes', 'count'],
              attributedNanoseconds: Math.round(own * 1e9),
              totalNanoseconds: Math.round(all * 1e9),
              otherSpansSeconds: expect.closeTo(all - own, 9) as unknown,
              gilErrorSeconds: 0
            });
            const idle = sum(result.idle, row => row.seconds);
            expect(result.wholeSeconds).toBeCloseTo(own + idle + running, 6);
            expect(result.runningSeconds).toBeCloseTo(running, 6);
            const whole = unit === 'seconds' ? result.capacitySeconds : total;
            const share = (value: number): unknown =>
              whole > 0 ? expect.closeTo(value / whole, 9) : null;
            expect(
              result.byActivity
                .filter(({ activity }) => !activity.startsWith('idle:'))
                .map(row => ({ ...row }))
            ).toEqual(
              expect.arrayContaining(
                [...byActivity(facts, unit)].map(([activity, value]) => ({
                  activity,
                  value: expect.closeTo(value, 6) as unknown,
                  share: share(value)
                }))
              )
            );
            expect(
              result.byActivity.filter(
                ({ activity }) => !activity.startsWith('idle:')
              )
            ).toHaveLength(byActivity(facts, unit).size);
            // Functions that took no time at all may have a row or none.
            const shown = result.byFunction.filter(
              row => row.total + row.executions > 0
            );
            const most = top ?? Infinity;
            const wanted = expected
              .slice(0, most)
              .filter(row => row.total + row.executions > 0);
            expect(
              shown.map(({ slot: _slot, round: _round, ...row }) => row)
            ).toEqual(
              wanted.map(({ activities, ...row }) => ({
                ...row,
                total: expect.closeTo(row.total, 6) as unknown,
                share: share(row.total),
                activities: nearly(activities)
              }))
            );
            const rest = expected.slice(most);
            if (rest.length === 0) {
              expect(result.others).toBeNull();
            } else {
              const names = rest.map(row => row.function);
              const left = facts.filter(fact => names.includes(fact.function));
              expect(result.others).toEqual({
                functions: rest.length,
                executions: sum(rest, row => row.executions),
                total: expect.closeTo(
                  sum(rest, row => row.total),
                  6
                ) as unknown,
                activities: nearly(byActivity(left, unit))
              });
            }
            expect(
              Object.fromEntries(
                result.background.map(({ activity, ...row }) => [activity, row])
              )
            ).toEqual(Object.fromEntries(backgroundOf(cluster, selection)));
            expect(result.entries).toBeUndefined();
          }
        }
      }
    }
  );

  it.each(selections)(
    'have the whole of %s in each range, with its tasks that still run',
    (_, selection) => {
      const { filter, isWorker, isOwn, isStatus } = selection;
      const unfinished: number[] = [];
      for (const seed of SEEDS) {
        const cluster = drawCluster(seed);
        const log = takenIn(cluster);
        for (const [time, from, to] of TIMES) {
          const own = sum(
            cluster.runs.filter(
              run => isWorker(run.worker.worker) && isStatus(run.status)
            ),
            run => ownSeconds(run, selection, from, to)
          );
          const going = cluster.going.filter(run =>
            isWorker(run.worker.worker)
          );
          const ownGoing = going.filter(
            ({ task }) => isOwn(task) && isStatus(null)
          );
          const running = goingSeconds(going, from, to);
          const result = ask(log, 'fine-metrics', { filter, time, now: END });
          const selected = goingSeconds(ownGoing, from, to);
          expect(result.runningSeconds).toBeCloseTo(selected, 6);
          const over = ask(log, 'fine-metrics', { filter, time, ended: true });
          expect(over.runningSeconds).toBe(0);
          const idle = sum(result.idle, row => row.seconds);
          const { capacitySeconds, otherSpansSeconds, otherIdleSeconds } =
            result;
          expect(result.attributedNanoseconds / 1e9).toBeCloseTo(own, 6);
          expect(result.wholeSeconds).toBeCloseTo(own + idle + selected, 6);
          // It is in none of the answer's other figures.
          expect(
            own + idle + otherSpansSeconds + otherIdleSeconds + running
          ).toBeCloseTo(capacitySeconds, 6);
          unfinished.push(running);
        }
      }
      // (of workers 2 and 4 nothing runs)
      const isAnyRunning = isWorker(9);
      expect(unfinished.filter(seconds => seconds > 0.1).length > 2).toBe(
        isAnyRunning
      );
    }
  );
});
