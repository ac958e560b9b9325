import fc from 'fast-check';
import { SchedulerFixture } from '../../testing/scheduler-fixture';
import { lineOf } from '../root-line';
import type { TaskTable } from '../task-table';

/** Roots of a stencil, `r0` to `r<count − 1>`: each has a user in common with the next. */
function chainOf(count: number): {
  fixture: SchedulerFixture;
  roots: number[];
} {
  const fixture = new SchedulerFixture();
  const users = Array.from(
    { length: count - 1 },
    (_, i) => `r${i} r${i + 1} -> u${i}`
  );
  fixture.submit(users.join('; '), {
    want: users.map((_, i) => `u${i}`).join(' ')
  });
  const roots = Array.from({ length: count }, (_, i) => fixture.id(`r${i}`));
  return { fixture, roots };
}

/** Cuts a list at some places, and puts the pieces together in another order, some of them turned round. */
function shuffled(
  list: readonly number[],
  pieces: readonly { length: number; place: number; isTurned: boolean }[]
): number[] {
  let from = 0;
  return pieces
    .map(({ length, place, isTurned }, i) => {
      const end = i === pieces.length - 1 ? list.length : from + length;
      const piece = list.slice(from, end);
      from = Math.min(end, list.length);
      return { place, piece: isTurned ? piece.reverse() : piece };
    })
    .sort((a, b) => a.place - b.place)
    .flatMap(({ piece }) => piece);
}

describe('the line of roots', () => {
  it('is that of the graph, wherever the order went to and fro', () => {
    const { fixture, roots } = chainOf(30);
    const piece = fc.record({
      length: fc.integer({ min: 1, max: 12 }),
      place: fc.integer(),
      isTurned: fc.boolean()
    });
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), pieces => {
        const order = Int32Array.from(shuffled(roots, pieces));
        const line = [...lineOf(fixture.scheduler.tasks, order)];
        expect(line[0] === roots[0] ? line : line.reverse()).toEqual(roots);
      }),
      { numRuns: 300 }
    );
  });

  it('goes on at the other end of a root that lies alone', () => {
    const { fixture, roots } = chainOf(30);
    const [first, second, third, fourth, ...others] = roots;
    // Of `third`, `fourth` takes one end before `second` comes to it.
    const order = [first!, fourth!, second!, ...others, third!];
    const line = lineOf(fixture.scheduler.tasks, Int32Array.from(order));
    expect([...line]).toEqual(roots);
  });

  it.each([
    [300, 9, 'is put together of many long pieces'],
    [300, 2, 'is left as it lies in many short ones']
  ])('%i pieces of %i: %s', (pieces, length, what) => {
    const { fixture, roots } = chainOf(pieces * length);
    // Every second piece first, so no two that lie side by side belong together.
    const places = Array.from({ length: pieces }, (_, i) => i);
    const order = [0, 1].flatMap(half =>
      places
        .filter(place => place % 2 === half)
        .flatMap(place => roots.slice(place * length, (place + 1) * length))
    );
    const line = lineOf(fixture.scheduler.tasks, Int32Array.from(order));
    expect([...line]).toEqual(what.startsWith('is put') ? roots : order);
  });

  it('looks at few roots where it decides nothing', () => {
    const s = new SchedulerFixture();
    const users = Array.from(
      { length: 4000 },
      (_, i) => `l${2 * i} l${2 * i + 1} -> u${i}`
    );
    s.submit(users.join('; '), {
      want: users.map((_, i) => `u${i}`).join(' ')
    });
    const leaves = Int32Array.from({ length: 8000 }, (_, i) => s.id(`l${i}`));
    const { edges, firstInput, firstDependent } = s.scheduler.tasks;
    let looks = 0;
    const counted = new Proxy(firstDependent, {
      get: (column, name) => {
        looks++;
        return Reflect.get(column, name) as unknown;
      }
    });
    const table = { edges, firstInput, firstDependent: counted } as TaskTable;
    expect(lineOf(table, leaves)).toBe(leaves);
    expect(looks).toBeGreaterThan(0);
    // Pieces of two: until there are more than 256 of them.
    expect(looks).toBeLessThanOrEqual(2 * 257);
  });

  it('stays as it is where roots have no user in common, and in a ring', () => {
    const s = new SchedulerFixture();
    s.submit('a -> v; b -> w; c -> x', { want: 'v w x' });
    const apart = Int32Array.of(s.id('b'), s.id('c'), s.id('a'));
    expect(lineOf(s.scheduler.tasks, apart)).toEqual(apart);
    const { fixture, roots } = chainOf(4);
    fixture.submit('r3 r0 -> ring', { want: 'ring' });
    const ring = Int32Array.of(...roots.slice(2), ...roots.slice(0, 2));
    expect(lineOf(fixture.scheduler.tasks, ring)).toEqual(ring);
  });
});
