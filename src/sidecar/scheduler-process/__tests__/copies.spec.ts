import type { AcceptedLink } from '../../../link/door';
import { TaskState } from '../../../scheduler';
import type { ClientTasks } from '../client-scope';
import { Copies } from '../copies';

type Message = Parameters<Copies['take']>[0];

/** Task n of the client is task n of the core; all lie at worker 0. */
function made(): {
  now: { seconds: number };
  takers: Map<number, { full: boolean; retiring: boolean }>;
  state: Record<number, TaskState>;
  at: Map<number, number[]>;
  asked: [worker: number, tasks: number[]][];
  copied: { request: number; why: string; missing: number[] }[];
  copies: Copies;
  link: AcceptedLink<'client'>;
  ask(request: number, pairs: [number, number][], drop?: boolean): void;
} {
  const now = { seconds: 0 };
  const takers = new Map(
    [0, 1, 2].map(id => [id, { full: false, retiring: false }])
  );
  const state = new Proxy<Record<number, TaskState>>(
    {},
    { get: (of, task) => of[Number(task)] ?? TaskState.Memory }
  );
  const at = new Map<number, number[]>();
  const asked: [number, number[]][] = [];
  const copied: { request: number; why: string; missing: number[] }[] = [];
  const cluster = {
    clock: () => now.seconds,
    at: 0,
    rows: { ids: { outer: (id: number) => id, resolve: (id: number) => id } },
    core: {
      workers: {
        all: [...takers.values()],
        get: (id: number) => takers.get(id)
      },
      tasks: { state, holdersOf: (task: number) => at.get(task) ?? [0] }
    },
    handle: (event: { worker: number; taskIds: Int32Array }) =>
      asked.push([event.worker, [...event.taskIds]])
  };
  const copies = new Copies(
    cluster as unknown as ConstructorParameters<typeof Copies>[0],
    act => act()
  );
  const link = {
    send: (
      _: string,
      fields: { request: number; why: string },
      tables: { missing: { id: number[] } }
    ) => copied.push({ ...fields, missing: tables.missing.id })
  } as unknown as AcceptedLink<'client'>;
  const tasks = { resolve: (id: number) => id } as unknown as ClientTasks;
  const ask = (
    request: number,
    pairs: [number, number][],
    drop = false
  ): void =>
    copies.take(
      {
        fields: { request, drop },
        tables: {
          pairs: {
            id: pairs.map(([id]) => id),
            worker: pairs.map(([, worker]) => worker),
            rows: pairs.length
          }
        }
      } as unknown as Message,
      tasks,
      link
    );
  return { now, takers, state, at, asked, copied, copies, link, ask };
}

describe('Copies', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('answers when all have come, and at once if they are there', () => {
    const { at, asked, copied, ask } = made();
    ask(1, [
      [5, 1],
      [6, 2]
    ]);
    expect(asked).toEqual([
      [1, [5]],
      [2, [6]]
    ]);
    at.set(5, [0, 1]);
    jest.advanceTimersByTime(100);
    expect(copied).toEqual([]);
    at.set(6, [0, 2]);
    jest.advanceTimersByTime(100);
    expect(copied).toEqual([{ request: 1, why: '', missing: [] }]);
    ask(2, [[5, 1]]);
    expect(copied).toHaveLength(2);
  });

  it('has 512 under way to a worker, and asks again after 5 s', () => {
    const { now, at, asked, copied, ask } = made();
    ask(
      1,
      Array.from({ length: 600 }, (_, id): [number, number] => [id, 1])
    );
    expect(asked.map(([, tasks]) => tasks.length)).toEqual([512]);
    for (let id = 0; id < 100; id++) {
      at.set(id, [0, 1]);
    }
    jest.advanceTimersByTime(20);
    expect(asked.map(([, tasks]) => tasks.length)).toEqual([512, 88]);
    now.seconds = 6;
    jest.advanceTimersByTime(20);
    expect(asked.map(([, tasks]) => tasks.length)).toEqual([512, 88, 500]);
    expect(copied).toEqual([]);
  });

  it.each([
    ['The result is not in memory any more.', 'state'],
    ['worker-1 has gone.', 'gone'],
    ['worker-1 is to leave.', 'retiring'],
    ['worker-1 is paused: its memory is full.', 'full'],
    ['worker-1 took none for 60 s.', 'time']
  ])('says that %s', (why, what) => {
    const { now, takers, state, copied, ask } = made();
    ask(1, [[5, 1]]);
    const taker = takers.get(1)!;
    if (what === 'state') {
      state[5] = TaskState.Released;
    } else if (what === 'gone') {
      takers.delete(1);
    } else if (what === 'time') {
      now.seconds = 61;
    } else {
      taker[what as 'full' | 'retiring'] = true;
    }
    jest.advanceTimersByTime(20);
    expect(copied).toEqual([{ request: 1, why, missing: [5] }]);
  });

  it('bounds what is awaited, and counts back what ends with a client', () => {
    const { copies, link, copied, ask } = made();
    const many = Array.from({ length: 2 ** 17 }, (_, id): [number, number] => [
      id,
      1
    ]);
    ask(1, many);
    ask(2, many);
    expect(copied).toEqual([]);
    ask(3, [[5, 1]]);
    expect(copied[0]).toMatchObject({ request: 3, missing: [5] });
    expect(copied[0]!.why).toContain('Too many copies are under way');
    copies.clientLeft(link);
    ask(4, [[5, 1]]);
    expect(copied).toHaveLength(1);
    copies.close();
  });
});
