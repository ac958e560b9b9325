import fc from 'fast-check';
import { PartKind, RunStatus, wordsOf } from '../../records/enumerations';
import { idOf } from '../../testing/ids';
import type { SpanId } from '../../records/ids';
import { ACTIVITIES } from '../store/activity-cells';
import {
  bookRun,
  clippedNanoseconds,
  hasBegun,
  undividedExecutions,
  type PartFigures
} from '../store/run-book';

/** Whole nanoseconds: 15,625,000. */
const TICK = 1 / 64;
const NS = 1e9 * TICK;
const KIND = wordsOf(PartKind);

const anyPart = fc.record({
  kind: fc.oneof(fc.constant(PartKind.Compute), fc.integer({ min: 1, max: 7 })),
  held: fc.boolean(),
  span: fc.nat(2),
  function: fc.integer({ min: 5, max: 6 }),
  offset: fc.integer({ min: -5, max: 40 }),
  duration: fc.nat(30),
  // More than it took, and below 0, as clocks of two kinds may say.
  cpu: fc.oneof(fc.constant(NaN), fc.integer({ min: -3, max: 40 })),
  coreWait: fc.oneof(fc.constant(NaN), fc.integer({ min: -3, max: 40 }))
});
const anyRun = fc.record({
  span: fc.nat(2),
  function: fc.integer({ min: 5, max: 6 }),
  start: fc.nat(20),
  duration: fc.nat(60),
  cpu: fc.oneof(fc.constant(NaN), fc.integer({ min: -3, max: 70 })),
  status: fc.constantFrom(
    RunStatus.Ok,
    RunStatus.Failed,
    RunStatus.Lost,
    RunStatus.Missing,
    RunStatus.Cancelled
  )
});
const anyClip = fc.option(
  fc
    .tuple(fc.integer({ min: -10, max: 90 }), fc.nat(90))
    .map(([from, length]) => ({ from, to: from + length }))
);

/** What all of a run's seconds are, and its parts', if it came to nothing. */
const LUMPS: Readonly<Partial<Record<RunStatus, string>>> = {
  [RunStatus.Failed]: 'failed',
  [RunStatus.Missing]: 'cancelled',
  [RunStatus.Cancelled]: 'cancelled'
};

type Clip = { readonly from: number; readonly to: number } | null;
const clamp = (value: number, most: number): number =>
  Math.min(most, Math.max(0, value));

/** Ticks of [start, start + duration) in the clip. */
function within(start: number, duration: number, clip: Clip): number {
  const from = Math.max(start, clip?.from ?? -Infinity);
  const to = Math.min(start + duration, clip?.to ?? Infinity);
  return Math.max(0, to - from);
}

describe('the book of runs', () => {
  it('divides what is in the range among activities, to the nanosecond', () => {
    fc.assert(
      fc.property(
        anyRun,
        fc.array(anyPart, { maxLength: 4 }),
        anyClip,
        fc.constantFrom(1 as const, -1 as const),
        (run, parts, clip, sign) => {
          const booked = new Map<string, number>();
          const expected = new Map<string, number>();
          const add = (
            sums: Map<string, number>,
            { span, function: fn }: { span: number; function: number },
            activity: string,
            ns: number
          ): void => {
            const key = `${span} ${fn} ${activity}`;
            sums.set(key, (sums.get(key) ?? 0) + ns);
          };
          const compute = (
            of: { span: number; function: number; cpu: number },
            coreWait: number,
            duration: number,
            ticks: number
          ): void => {
            if (Number.isNaN(of.cpu)) {
              add(expected, of, 'compute', ticks * NS);
              return;
            }
            // Of what is cut, CPU time and waiting count in proportion.
            const share = duration === 0 ? 0 : ticks / duration;
            const cpu = clamp(of.cpu, duration) * share;
            add(expected, of, 'thread-cpu', cpu * NS);
            if (Number.isNaN(coreWait)) {
              add(expected, of, 'thread-noncpu', (ticks - cpu) * NS);
            } else {
              const waited = clamp(coreWait, duration) * share;
              const core = clamp(waited, ticks - cpu);
              add(expected, of, 'core', core * NS);
              add(expected, of, 'blocked', (ticks - cpu - core) * NS);
            }
          };
          const whole = within(run.start, run.duration, clip);
          const held = parts.filter(part => part.held);
          const lump = LUMPS[run.status];
          if (run.status === RunStatus.Lost) {
            add(expected, run, 'lost', whole * NS);
          } else if (held.length === 0 && lump !== undefined) {
            add(expected, run, lump, whole * NS);
          } else if (held.length === 0) {
            compute(run, NaN, run.duration, whole);
          } else {
            let rest = whole;
            for (const part of held) {
              const start = run.start + part.offset;
              // Parts that are longer than their run are cut.
              const ticks = Math.min(rest, within(start, part.duration, clip));
              rest -= ticks;
              if (lump !== undefined) {
                add(expected, part, lump, ticks * NS);
              } else if (part.kind === PartKind.Compute) {
                compute(part, part.coreWait, part.duration, ticks);
              } else {
                add(expected, part, KIND[part.kind]!, ticks * NS);
              }
            }
            add(expected, run, lump ?? 'other', rest * NS);
          }
          const seconds = <T extends Record<string, number | boolean>>(
            of: T,
            names: readonly string[]
          ): T =>
            Object.fromEntries(
              Object.entries(of).map(([name, value]) => [
                name,
                names.includes(name) ? Number(value) * TICK : value
              ])
            ) as T;
          const clipped = clip === null ? null : seconds(clip, ['from', 'to']);
          let sum = 0;
          bookRun(
            {
              ...seconds(run, ['start', 'duration', 'cpu']),
              span: idOf<SpanId>(run.span)
            },
            parts.map(part => ({
              ...seconds(part, ['offset', 'duration', 'cpu', 'coreWait']),
              span: idOf<SpanId>(part.span)
            })),
            clipped,
            sign,
            (span, fn, activity, ns) => {
              expect(Number.isInteger(ns)).toBe(true);
              expect(sign * ns).toBeGreaterThanOrEqual(0);
              add(booked, { span, function: fn }, ACTIVITIES[activity]!, ns);
              sum += ns;
            }
          );
          const exact = clippedNanoseconds(
            run.start * TICK,
            run.duration * TICK,
            clipped
          );
          expect(exact).toBe(whole * NS);
          expect(sum - sign * exact).toBe(0);
          expect([...booked.keys()].sort()).toEqual(
            [...expected.keys()].sort()
          );
          for (const [key, ns] of expected) {
            expect(Math.abs(booked.get(key)! - sign * ns)).toBeLessThan(5);
          }
        }
      ),
      { numRuns: 150 }
    );
  });

  it('counts a run as an execution of its own, unless parts stand for it or it did not run', () => {
    const part = (kind: PartKind, held: boolean): PartFigures => ({
      kind,
      held,
      function: 1,
      span: idOf<SpanId>(0),
      offset: 0,
      duration: 1,
      cpu: 1,
      coreWait: 0
    });
    const computing = part(PartKind.Compute, true);
    const others = [
      part(PartKind.Transfer, true),
      part(PartKind.Compute, false)
    ];
    expect(undividedExecutions(RunStatus.Ok, [])).toBe(1);
    expect(undividedExecutions(RunStatus.Failed, others)).toBe(1);
    expect(undividedExecutions(RunStatus.Lost, [])).toBe(1);
    expect(undividedExecutions(RunStatus.Ok, [...others, computing])).toBe(0);
    expect(undividedExecutions(RunStatus.Missing, [])).toBe(0);
  });

  it('tells a run that took no time from one that could not begin', () => {
    expect(hasBegun(1, NaN)).toBe(true);
    expect(hasBegun(0, 0)).toBe(true);
    expect(hasBegun(0, NaN)).toBe(false);
    expect(hasBegun(NaN, NaN)).toBe(false);
  });
});
