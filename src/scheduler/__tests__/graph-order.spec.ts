import fc from 'fast-check';
import { staticOrder } from '../../order/static-order';
import { TaskTable } from '../task-table';
import { SchedulerFixture } from '../../testing/scheduler-fixture';

/** A worker of one thread that is given one task at a time. */
function oneByOne(): SchedulerFixture {
  const s = new SchedulerFixture({ options: { aheadPerThread: 1 } });
  s.join(0);
  return s;
}

/** Finishes what is assigned until nothing is; the tasks in the order in which they ran. */
function runAll(s: SchedulerFixture): string[] {
  const ran: string[] = [];
  for (let line = s.saidOf('assign').pop(); line;) {
    const name = line.split(' ').pop()!;
    ran.push(name);
    s.finish(0, name);
    line = s.saidOf('assign').pop();
  }
  return ran;
}

/** Of each place the places before it that it needs. */
const drawn = fc
  .integer({ min: 1, max: 25 })
  .chain(count =>
    fc.tuple(
      ...Array.from({ length: count }, (_, place) =>
        place === 0
          ? fc.constant([])
          : fc.uniqueArray(fc.nat(place - 1), { maxLength: 3 })
      )
    )
  );

describe('the order of a graph that comes in', () => {
  it('is the static order', () => {
    fc.assert(
      fc.property(drawn, fc.nat(24), (needs, boundary) => {
        const drawing = needs.map((own, place) =>
          own.length === 0
            ? `t${place}`
            : `${own.map(need => `t${need}`).join(' ')} -> t${place}`
        );
        const used = new Set(needs.flat());
        const leaves = needs.flatMap((_, i) => (used.has(i) ? [] : [`t${i}`]));
        const s = oneByOne();
        // In one part or in two: nothing of the first may run before the whole is known, but what needs nothing and is wanted.
        const first = drawing.slice(0, boundary);
        const mayRunEarly = first.some((_, i) => !used.has(i));
        if (first.length > 0 && first.length < drawing.length && !mayRunEarly) {
          s.submit(first.join('; '), { want: '', last: false });
          expect(s.saidOf('assign')).toEqual([]);
          s.submit(drawing.slice(boundary).join('; '), {
            want: leaves.join(' ')
          });
        } else {
          s.submit(drawing.join('; '), { want: leaves.join(' ') });
        }
        const start = [0];
        const ids: number[] = [];
        for (const own of needs) {
          ids.push(...own);
          start.push(ids.length);
        }
        const numbers = staticOrder({
          dependencies: {
            start: Int32Array.from(start),
            ids: Int32Array.from(ids)
          },
          data: null,
          nodeCount: needs.length
        });
        const expected = needs
          .map((_, place) => place)
          .sort((a, b) => numbers[a]! - numbers[b]!);
        expect(runAll(s)).toEqual(expected.map(place => `t${place}`));
      }),
      { numRuns: 300 }
    );
  });

  it('takes loads one by one, though the graph names them first', () => {
    const s = oneByOne();
    s.submit('l0; l1; l2; l3; l0 -> f0; f0 l1 -> f1; f1 l2 -> f2; f2 l3 -> f3');
    const ran = runAll(s);
    expect(ran.indexOf('f1')).toBeLessThan(ran.indexOf('l3'));
    expect(ran.indexOf('f0')).toBeLessThan(ran.indexOf('l2'));
  });

  it('starts at once what is wanted and needs nothing of a graph that is still coming in', () => {
    const s = oneByOne();
    s.submit('before');
    s.finish(0, 'before');
    s.said();
    s.submit('a; before -> b; a -> c', { want: 'a b c', last: false });
    expect(s.saidOf('assign')).toEqual(['assign 0: a']);
    s.finish(0, 'a');
    s.finish(0, 'b');
    expect(s.states('a b c')).toBe('Memory Memory Released');
    s.submit('d', { want: 'd' });
    expect(runAll(s).sort()).toEqual(['c', 'd']);
  });

  it('makes an input once whose users come in different parts', () => {
    const s = oneByOne();
    s.submit('x -> v', { want: 'v', last: false });
    expect(s.saidOf('assign')).toEqual([]);
    s.submit('x -> w', { want: 'w', last: false });
    s.submit('x v -> y', { want: 'y' });
    expect(runAll(s)).toEqual(['x', 'v', 'y', 'w']);
  });

  it('starts what is needed when the client of an open graph leaves', () => {
    const s = oneByOne();
    s.submit('a -> b', { want: 'b', last: false });
    s.want('b', 1);
    expect(s.saidOf('assign')).toEqual([]);
    s.clientLeft(0);
    expect(runAll(s)).toEqual(['a', 'b']);
  });
});

describe('a graph in parts that say who has users', () => {
  it('starts each part when it comes, in the static order of that part', () => {
    const s = oneByOne();
    s.submit('l0; l1; l0 -> f0; f0 l1 -> f1', {
      want: '',
      users: { l0: 1, l1: 1, f0: 1, f1: 1 },
      last: false
    });
    expect(runAll(s)).toEqual(['l0', 'f0', 'l1', 'f1']);
    s.submit('l2; f1 l2 -> f2', { want: 'f2', users: { l2: 1 } });
    expect(runAll(s)).toEqual(['l2', 'f2']);
    s.release('f2');
    expect(s.scheduler.tasks.size).toBe(0);
  });

  it('makes an input once whose users come in different parts, and lets it go after the last', () => {
    const s = oneByOne();
    const users = { x: 3, v: 1, w: 0 };
    s.submit('x -> v', { want: '', users, last: false });
    expect(runAll(s)).toEqual(['x', 'v']);
    s.submit('x -> w', { want: 'w', users, last: false });
    expect(runAll(s)).toEqual(['w']);
    expect(s.states('x v')).toBe('Memory Memory');
    s.submit('x v -> y', { want: 'y', users: {}, last: false });
    expect(runAll(s)).toEqual(['y']);
    // Its graph is still coming in.
    expect(s.states('x v')).toBe('Released Released');
    s.submit('z', { want: 'z', users: {} });
    expect(runAll(s)).toEqual(['z']);
  });

  it('makes an input once whose last user waits for others of its part', () => {
    const s = oneByOne();
    s.submit('a', { want: '', users: { a: 1 }, last: false });
    expect(runAll(s)).toEqual(['a']);
    s.submit('a -> b -> c', { want: 'c', users: { b: 1 } });
    expect(runAll(s)).toEqual(['b', 'c']);
  });

  it('keeps what its users have not all come for until the graph is complete, and no longer', () => {
    const s = oneByOne();
    s.submit('a -> b', { want: 'b', users: { a: 5 }, last: false });
    expect(runAll(s)).toEqual(['a', 'b']);
    expect(s.states('a')).toBe('Memory');
    s.submit('c', { want: 'c', users: {} });
    expect(s.states('a')).toBe('Released');
  });

  it('makes again what was lost before its users came', () => {
    const s = oneByOne();
    s.submit('a', { want: '', users: { a: 1 }, last: false });
    expect(runAll(s)).toEqual(['a']);
    s.join(1);
    s.leave(0);
    expect(s.saidOf('assign')).toEqual(['assign 1: a']);
  });

  it('goes when its client leaves in the middle, but for what others want', () => {
    const s = oneByOne();
    s.submit('a -> b', { want: '', users: { a: 1, b: 1 }, last: false });
    expect(runAll(s)).toEqual(['a', 'b']);
    s.want('b', 1);
    s.clientLeft(0);
    expect(s.states('a b')).toBe('Released Memory');
    s.release('b', 1);
    expect(s.scheduler.tasks.size).toBe(0);
  });

  it('has users looked for only if another client sends one', () => {
    const looks = (client: number | null): number => {
      const s = new SchedulerFixture();
      if (client !== null) {
        s.submit('x', { want: '', last: false, client });
      }
      const look = jest.spyOn(TaskTable.prototype, 'waitsForItsGraph');
      const validate = jest
        .spyOn(s.scheduler, 'validateState')
        .mockImplementation(() => undefined);
      s.submit('a b -> c', { want: 'c', users: { a: 1, b: 1 }, last: false });
      const count = look.mock.calls.length;
      look.mockRestore();
      validate.mockRestore();
      return count;
    };
    // (As it is wanted.)
    expect(looks(null)).toBe(1);
    expect(looks(1)).toBe(3);
  });

  it('ends what has begun when there is no room for the rest', () => {
    const s = oneByOne();
    s.submit('a -> b; c', {
      want: 'b',
      users: { a: 1, c: 1 },
      last: false
    });
    s.refuse();
    expect(runAll(s)).toEqual(['a', 'b']);
    expect(s.states('b c')).toBe('Memory Forgotten');
  });
});

describe('a graph for the rest of which there is no room', () => {
  it('fails with all that has no result, and goes', () => {
    const s = oneByOne();
    s.submit('before');
    s.finish(0, 'before');
    s.submit('done; running; queued; before -> x -> y -> z', {
      want: 'done running queued y z',
      last: false
    });
    s.finish(0, 'done');
    expect(s.states('done running queued')).toBe('Memory Processing Queued');
    s.said();
    const run = s.runId('running');
    s.refuse();
    expect(s.states('before done running queued x y z')).toBe(
      'Memory Memory Erred Erred Erred Erred Erred'
    );
    expect(s.said()).toEqual(
      expect.arrayContaining([
        'release 0: running',
        'report 0: running Erred by running, NoRoom'
      ])
    );
    s.retry('z');
    expect(s.states('z')).toBe('Erred');
    s.finish(0, 'running', { runIds: [run] });
    s.submit('before -> later');
    expect(runAll(s)).toEqual(['later']);
    s.release('before done running queued y z later');
    expect(s.scheduler.tasks.size).toBe(0);
  });
});
