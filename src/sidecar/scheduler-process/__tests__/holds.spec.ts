import * as fc from 'fast-check';
import { ReportStatus } from '../../../records/enumerations';
import type {
  ClientTaskId,
  DenseTaskId,
  DenseTaskIds
} from '../../../records/ids';
import { Scheduler, type Report } from '../../../scheduler';
import { ClientTasks } from '../client-scope';
import { Holds, HOLDER } from '../holds';
import { TaskRows } from '../task-rows';

/** Holds over tasks 0 … 4 of client 3, and which of these the core is told to want. */
class Fixture {
  readonly wanted = new Set<number>();
  readonly rows = new TaskRows(new Scheduler().tasks);
  readonly tasks: DenseTaskId[];
  private _later: (() => void)[] = [];
  readonly holds = new Holds(
    this.rows,
    (type, taskIds) => {
      for (const task of taskIds) {
        if (type === 'clientWants') {
          expect(this.wanted.has(task)).toBe(false);
          this.wanted.add(task);
        } else {
          expect(this.wanted.delete(task)).toBe(true);
        }
      }
    },
    act => this._later.push(act)
  );

  constructor() {
    const own = new ClientTasks(this.rows, 3);
    this.tasks = [0, 1, 2, 3, 4].map(id => own.take(id as ClientTaskId));
  }

  /** A value with futures of these tasks. */
  value(ids: readonly number[], content = 0): Uint8Array {
    const value = Uint8Array.of(content);
    const why = this.holds.attach(value, {
      rows: ids.length,
      client: Uint16Array.from(ids, () => 3),
      id: Uint32Array.from(ids) as never
    });
    expect(why).toBe('');
    return value;
  }

  report(task: DenseTaskId, status: ReportStatus): void {
    this.holds.reported({
      type: 'report',
      client: HOLDER,
      taskIds: Int32Array.of(task) as DenseTaskIds,
      status: Uint8Array.of(status),
      cause: Int32Array.of(-1) as DenseTaskIds,
      reason: Uint8Array.of(0)
    } satisfies Report);
    this.turn();
  }

  turn(): void {
    this._later.splice(0).forEach(act => act());
  }
}

describe('what the scheduler wants itself', () => {
  it('is what lies in values, is on its way, or is to end, and nothing else', () => {
    const owners = [{}, {}];
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            what: fc.constantFrom(
              'take',
              'give',
              'grant',
              'take back',
              'let go',
              'leave'
            ),
            which: fc.nat(4),
            owner: fc.nat(1)
          }),
          { maxLength: 40 }
        ),
        steps => {
          const f = new Fixture();
          const values = [[0], [0, 1], [2, 2], [], [3, 1]].map((ids, i) => ({
            ids,
            value: f.value(ids, i),
            kept: 0
          }));
          const grants = new Map<number, { which: number; owner: number }>();
          /** Grants of which nothing is on its way any more. */
          const empty = new Set<number>();
          for (const { what, which, owner } of steps) {
            const at = values[which]!;
            if (what === 'take') {
              f.holds.took(at.value);
              at.kept++;
            } else if (what === 'give' && at.kept > 0) {
              f.holds.gave(at.value);
              at.kept--;
            } else if (what === 'grant') {
              const number = f.holds.grant(owners[owner]!, [at.value], 1);
              expect(number > 0).toBe(true);
              grants.set(number, { which, owner });
            } else if (what === 'take back') {
              const number = [...grants.keys()].find(each => !empty.has(each));
              const { which: granted = which } = grants.get(number ?? 7) ?? {};
              const content = Uint8Array.of(granted);
              const value = f.holds.takeBack(
                number ?? 7,
                content,
                owners[grants.get(number ?? 7)?.owner ?? 0]!
              );
              if (number === undefined) {
                expect(value).toBe(content);
              } else {
                // It is kept again, and held no longer on its way.
                expect(value).toBe(values[granted]!.value);
                f.holds.took(value);
                values[granted]!.kept++;
                empty.add(number);
              }
            } else if (what === 'let go') {
              const [number] = grants.keys();
              f.holds.letGo([number ?? 7, 99]);
              grants.delete(number ?? 7);
            } else if (what === 'leave') {
              f.holds.left(owners[owner]!);
              for (const [number, grant] of [...grants]) {
                if (grant.owner === owner) {
                  grants.delete(number);
                }
              }
            }
            f.turn();
            const expected = new Set<number>();
            const add = (index: number): void =>
              values[index]!.ids.forEach(id => expected.add(f.tasks[id]!));
            values.forEach(({ kept }, i) => kept > 0 && add(i));
            grants.forEach(
              (grant, number) => empty.has(number) || add(grant.which)
            );
            expect([...f.wanted].sort()).toEqual([...expected].sort());
          }
        }
      ),
      { numRuns: 200 }
    );
  });

  it('lets go of a value that is given and taken again in one turn without a word', () => {
    const f = new Fixture();
    const value = f.value([1]);
    f.holds.took(value);
    f.holds.gave(value);
    f.holds.took(value);
    f.turn();
    expect([...f.wanted]).toEqual([f.tasks[1]]);
  });

  it('runs to its end once, and is let go then, or when it is cancelled', () => {
    const f = new Fixture();
    const [one, other] = [f.tasks[0]!, f.tasks[1]!];
    f.holds.keepUntilDone([one, other]);
    f.holds.keepUntilDone([one]);
    expect(f.wanted.size).toBe(2);
    f.report(one, ReportStatus.Lost);
    expect(f.wanted.size).toBe(2);
    f.report(one, ReportStatus.Memory);
    expect([...f.wanted]).toEqual([other]);
    f.holds.cancelled([other]);
    f.turn();
    expect(f.wanted.size).toBe(0);
    expect(f.holds.size).toBe(0);
  });

  it('is let go, and comes back, by a word of whom it was granted to alone', () => {
    const fixture = new Fixture();
    const value = fixture.value([2], 5);
    const [owner, other] = [{}, {}];
    const grant = fixture.holds.grant(owner, [value], 1);
    const content = Uint8Array.of(5);
    expect(fixture.holds.takeBack(grant, content, other)).toBe(content);
    fixture.holds.giveUp(grant, other, 1);
    fixture.turn();
    expect([...fixture.wanted]).toEqual([fixture.tasks[2]]);
    expect(fixture.holds.takeBack(grant, content, owner)).toBe(value);
    fixture.holds.took(value);
    fixture.holds.giveUp(grant, owner, 1);
    fixture.holds.gave(value);
    fixture.turn();
    expect(fixture.wanted.size).toBe(0);
  });

  it('is refused of tasks that are not known any more', () => {
    const f = new Fixture();
    const why = f.holds.attach(new Uint8Array(1), {
      rows: 1,
      client: Uint16Array.of(3),
      id: Uint32Array.of(77) as never
    });
    expect(why).toMatch('was released or cancelled');
  });
});

describe('a client that has gone', () => {
  it('is known by its ids as long as any of its tasks is there', () => {
    const f = new Fixture();
    const other = new ClientTasks(f.rows, 8);
    other.bind(5 as ClientTaskId, f.tasks[2]!);
    expect(f.rows.want(5 as ClientTaskId, f.tasks[2]!, 8)).toBe(true);
    f.rows.removeClient(3);
    expect(f.rows.resolve(3, 2 as ClientTaskId)).toBe(f.tasks[2]);
    const seen: number[] = [];
    f.rows.forEachWanted(f.tasks[2]!, 8, id => seen.push(id));
    expect(seen).toEqual([5]);
    expect(f.rows.unwant(5 as ClientTaskId, f.tasks[2]!, 8)).toBe(true);
    expect(other.resolve(5 as ClientTaskId)).toBe(-1);
    expect(f.rows.adoptedCount).toBe(0);
    f.tasks.forEach(task => f.rows.giveBack(task));
    expect(f.rows.resolve(3, 2 as ClientTaskId)).toBe(-1);
  });

  it('is held for one who asks for many items, in however many answers they come', () => {
    const fixture = new Fixture();
    const [owner, other] = [{}, {}];
    const wanted = (): number[] => {
      fixture.turn();
      return [...fixture.wanted].sort((a, b) => a - b);
    };
    const first = fixture.holds.grant(owner, [fixture.value([0])], 1);
    for (let request = 2; request <= 10_050; request++) {
      const value = fixture.value([request % 4], request % 4);
      expect(fixture.holds.grant(owner, [value], request, first)).toBe(first);
    }
    // Another's are its own, and so are those of a number that is not known any more.
    const own = fixture.holds.grant(other, [fixture.value([4])], 2, first);
    expect(own).not.toBe(first);
    expect(wanted()).toEqual([0, 1, 2, 3, 4].map(i => fixture.tasks[i]));
    fixture.holds.letGo([first]);
    expect(wanted()).toEqual([fixture.tasks[4]]);
    const anew = fixture.holds.grant(owner, [fixture.value([0])], 1, first);
    expect([first, own]).not.toContain(anew);
    expect(wanted()).toEqual([0, 4].map(i => fixture.tasks[i]));
  });

  it('is let go, and comes back, answer by answer, the last first', () => {
    const fixture = new Fixture();
    const owner = {};
    const values = [0, 1, 2].map(id => fixture.value([id], id));
    const grant = values.reduce(
      (number, value, i) => fixture.holds.grant(owner, [value], i + 1, number),
      0
    );
    for (const i of [2, 1]) {
      const back = fixture.holds.takeBack(grant, Uint8Array.of(i), owner);
      expect(back).toBe(values[i]);
      fixture.holds.took(back);
      fixture.holds.giveUp(grant, owner, i + 1);
    }
    fixture.holds.giveUp(grant, owner, 9);
    fixture.turn();
    expect(fixture.wanted).toEqual(new Set(fixture.tasks.slice(0, 3)));
    fixture.holds.giveUp(grant, owner, 1);
    fixture.turn();
    expect(fixture.wanted).toEqual(new Set(fixture.tasks.slice(1, 3)));
  });

  it('is not let go when items come back, with those that are not known', () => {
    const fixture = new Fixture();
    const values = [0, 1, 1].map(id => fixture.value([id], id));
    const owner = {};
    const grant = fixture.holds.grant(owner, values, 1);
    const back = [1, 1, 1, 7].map(content =>
      fixture.holds.takeBack(grant, Uint8Array.of(content), owner)
    );
    expect(back[0]).toBe(values[2]);
    expect(back[1]).toBe(values[1]);
    back.forEach(value => fixture.holds.took(value));
    fixture.holds.letGo([grant]);
    fixture.turn();
    expect([...fixture.wanted]).toEqual([fixture.tasks[1]]);
  });

  it('is not let go while several values are given and granted in one turn', () => {
    const fixture = new Fixture();
    const values = [0, 1, 2].map(id => fixture.value([id]));
    values.forEach(value => fixture.holds.took(value));
    // A queue gives what is taken from it, and the answer is held on its way; the core would forget what nobody wants at once.
    const deleted = jest.spyOn(fixture.wanted, 'delete');
    values.forEach(value => fixture.holds.gave(value));
    const grant = fixture.holds.grant({}, values, 1);
    fixture.turn();
    expect(deleted).not.toHaveBeenCalled();
    fixture.holds.letGo([grant]);
    fixture.turn();
    expect(fixture.wanted.size).toBe(0);
  });
});
