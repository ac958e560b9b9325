/** What is at a place of an exported picture is what looking at all of its boxes finds, and few are looked at. */
import fc from 'fast-check';
import type { DrawnBox } from '../page/drawn-boxes';
import { LaneIndex } from '../page/lane-index';

const aBox = fc
  .record({
    lane: fc.integer({ min: 0, max: 2 }),
    from: fc.integer({ min: 0, max: 20 }),
    length: fc.integer({ min: 0, max: 12 }),
    strip: fc.constantFrom(0 as const, 1 as const)
  })
  .map(({ lane, from, length, strip }): DrawnBox => ({
    lane,
    from,
    to: from + length,
    function: 0,
    kind: 0,
    strip,
    tasks: 1,
    record: 0
  }));

function lookingAtAll(
  boxes: readonly DrawnBox[],
  lane: number,
  time: number,
  inStrip: boolean,
  slack: number
): DrawnBox | null {
  let found: DrawnBox | null = null;
  for (const box of boxes) {
    if (
      box.lane === lane &&
      box.from - slack <= time &&
      time <= box.to + slack &&
      (box.strip === 1 ? inStrip : found?.strip !== 1)
    ) {
      found = box;
    }
  }
  return found;
}

it('is the same box', () => {
  let hits = 0;
  fc.assert(
    fc.property(
      fc.array(aBox, { minLength: 5, maxLength: 30 }),
      fc.boolean(),
      fc.constantFrom(0, 0.5, 2),
      (boxes, inStrip, slack) => {
        const index = new LaneIndex(boxes, 3);
        for (let lane = -1; lane <= 3; lane += 1) {
          for (let time = -1; time <= 34; time += 0.5) {
            const found = index.at(lane, time, inStrip, slack);
            const wanted = lookingAtAll(boxes, lane, time, inStrip, slack);
            if (found !== wanted) {
              // (not only one like it)
              expect([lane, time, found]).toBe(wanted);
            }
            hits += Number(found !== null);
          }
        }
      }
    ),
    { numRuns: 100 }
  );
  expect(hits).toBeGreaterThan(1000);
});

it('is found without a look at the others, of which one is as long as all', () => {
  const count = 20_000;
  const boxes = Array.from({ length: count }, (_, n): DrawnBox => ({
    lane: 0,
    from: n,
    to: n === 0 ? count : n + 0.9,
    function: 0,
    kind: 0,
    strip: 0,
    tasks: 1,
    record: n
  }));
  let looks = 0;
  const counted = <T extends object>(of: T): T =>
    new Proxy(of, {
      get: (_, name) => ((looks += 1), Reflect.get(of, name) as unknown)
    });
  const from = Float64Array.from.bind(Float64Array);
  const columns = jest
    .spyOn(Float64Array, 'from')
    .mockImplementation((...given: unknown[]) =>
      counted(from(...(given as Parameters<typeof from>)))
    );
  try {
    const index = new LaneIndex(boxes.map(counted), 1);
    looks = 0;
    expect(index.at(0, 1234.5, false, 0.1)?.record).toBe(1234);
  } finally {
    columns.mockRestore();
  }
  // At the two that are there, and those on the way to them.
  expect(looks).toBeGreaterThan(2);
  expect(looks).toBeLessThan(8 * Math.log2(count));
});
