import fc from 'fast-check';
import type { SpanId } from '../../records/ids';
import {
  ACTIVITIES,
  ActivityCells,
  OTHER_FUNCTION
} from '../store/activity-cells';
import { FineSums } from '../store/fine-sums';

const anySpan = fc.constantFrom(0, 1, 65_534).map(id => id as SpanId);
const anyFunction = fc.constantFrom(0, 1, 7, 2 ** 32 - 2);

describe('cells of activities', () => {
  const anyFact = fc.record({
    span: anySpan,
    // Some dozens of pairs, so that the columns grow.
    fn: fc.oneof(anyFunction, fc.nat(30)),
    activity: fc.nat(ACTIVITIES.length - 1),
    nanoseconds: fc.integer({ min: -5, max: 100 }),
    bytes: fc.constantFrom(NaN, 0, 8, 32),
    failed: fc.boolean(),
    sign: fc.constantFrom(1 as const, -1 as const),
    executions: fc.integer({ min: -1, max: 2 })
  });

  it('add up each figure by span, function and activity', () => {
    fc.assert(
      fc.property(fc.array(anyFact, { maxLength: 120, size: 'max' }), facts => {
        const met: string[] = [];
        const cells = new ActivityCells((span, fn) =>
          met.push(`${span}:${fn}`)
        );
        for (const fact of facts) {
          const cell = cells.cell(fact.span, fact.fn);
          cells.addRun(cell, fact.failed, fact.sign);
          cells.addExecutions(cell, fact.executions);
          cells.addNanoseconds(cell, fact.activity, fact.nanoseconds);
          cells.addEvent(cell, fact.activity, fact.bytes);
        }
        const pairs = [
          ...new Set(facts.map(({ span, fn }) => `${span}:${fn}`))
        ];
        expect(met).toEqual(pairs);
        expect(cells.length).toBe(pairs.length);
        const none = () => Array.from(ACTIVITIES, () => 0);
        const expected = pairs.map(() => ({
          runs: 0,
          failed: 0,
          executions: 0,
          nanoseconds: none(),
          events: none(),
          bytes: none()
        }));
        for (const fact of facts) {
          const { activity, sign } = fact;
          const own = expected[pairs.indexOf(`${fact.span}:${fact.fn}`)]!;
          own.runs += sign;
          own.failed += fact.failed ? sign : 0;
          own.executions += fact.executions;
          own.nanoseconds[activity]! += fact.nanoseconds;
          own.events[activity]! += 1;
          own.bytes[activity]! += fact.bytes || 0;
        }
        const places = Array.from(ACTIVITIES.keys());
        expect(
          pairs.map((_, cell) => ({
            runs: cells.runs(cell),
            failed: cells.failed(cell),
            executions: cells.executions(cell),
            nanoseconds: places.map(at => cells.nanoseconds(cell, at)),
            events: places.map(at => cells.events(cell, at)),
            bytes: places.map(at => cells.bytes(cell, at))
          }))
        ).toEqual(expected);
        expect(
          pairs.map((_, cell) => `${cells.span(cell)}:${cells.function(cell)}`)
        ).toEqual(pairs);
        expect(pairs.map((_, cell) => cells.totalNanoseconds(cell))).toEqual(
          expected.map(({ nanoseconds }) =>
            nanoseconds.reduce((sum, each) => sum + each)
          )
        );
        expect(
          pairs.map((_, cell) =>
            cells.cell(cells.span(cell), cells.function(cell))
          )
        ).toEqual([...pairs.keys()]);
      }),
      { numRuns: 50 }
    );
  });

  it('add up pairs beyond the bound under another one of the same span', () => {
    const cells = new ActivityCells();
    for (let fn = 0; fn < 200_000; fn++) {
      const cell = cells.cell(1 as SpanId, fn);
      cells.addExecutions(cell, fn);
      cells.addNanoseconds(cell, 3, 2 * fn);
    }
    expect(cells.length).toBe(200_000);
    expect([cells.function(7), cells.span(7)]).toEqual([7, 1]);
    expect([cells.executions(7), cells.nanoseconds(7, 3)]).toEqual([7, 14]);
    const other = cells.cell(1 as SpanId, 200_000);
    expect(cells.function(other)).toBe(OTHER_FUNCTION);
    expect(cells.cell(1 as SpanId, 200_001)).toBe(other);
    const elsewhere = cells.cell(2 as SpanId, 5);
    expect(cells.span(elsewhere)).toBe(2);
    expect(cells.function(elsewhere)).toBe(OTHER_FUNCTION);
    expect(cells.cell(1 as SpanId, 199_999)).toBe(199_999);
    expect(cells.length).toBe(200_002);
  });
});

describe('sums of fine rows', () => {
  const anyRow = fc.record({
    context: fc.nat(1),
    activity: fc.nat(1),
    unit: fc.nat(1),
    span: anySpan,
    function: fc.oneof(anyFunction, fc.constant(OTHER_FUNCTION)),
    value: fc.integer({ min: -9, max: 9 })
  });

  it('are one for all that is equal but the value', () => {
    fc.assert(
      fc.property(fc.array(anyRow), rows => {
        const sums = new FineSums();
        const expected = new Map<string, number>();
        for (const { value, ...of } of rows) {
          const { context, activity, unit, span } = of;
          sums.add(context, activity, unit, span, of.function, value);
          const key = JSON.stringify(of);
          expected.set(key, (expected.get(key) ?? 0) + value);
        }
        const found = new Map(
          [...sums.all()].map(({ value, ...of }) => [
            JSON.stringify({
              context: of.context,
              activity: of.activity,
              unit: of.unit,
              span: of.span,
              function: of.function
            }),
            value
          ])
        );
        expect(found).toEqual(expected);
        expect([...sums.all()]).toHaveLength(expected.size);
      })
    );
  });

  it('are bounded by their own number, not by that of the rows', () => {
    const sums = new FineSums();
    for (let row = 0; row < 200_000; row++) {
      sums.add(0, 0, 0, 1 as SpanId, 5, 1);
    }
    sums.add(0, 0, 0, 1 as SpanId, 6, 3);
    expect([...sums.all()].map(sum => [sum.function, sum.value])).toEqual([
      [5, 200_000],
      [6, 3]
    ]);
  });

  it('are one for all functions beyond the bound; those that are known go on', () => {
    const sums = new FineSums();
    for (let fn = 0; fn < 200_000; fn++) {
      sums.add(0, 0, 0, 1 as SpanId, fn, 1);
    }
    sums.add(0, 0, 0, 1 as SpanId, 200_000, 3);
    sums.add(0, 0, 0, 2 as SpanId, 4, 4);
    sums.add(0, 0, 0, 1 as SpanId, 7, 5);
    const found = [...sums.all()];
    expect(found).toHaveLength(200_001);
    expect(found[7]!.value).toBe(6);
    expect(found.at(-1)).toMatchObject({
      span: 0,
      function: OTHER_FUNCTION,
      value: 7
    });
  });
});
