/** Lanes as a log has them: of this thread's tasks, and of a pool against the threads that the package's own `Profiler` saw. */
import fc from 'fast-check';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OVERLAPPING_FROM } from '../../../records/beside-lanes';
import { logRows } from '../../../testing/log-rows';
import { buildNodePrograms } from '../../../testing/node-programs';
import { waitFor } from '../../../testing/wait-for';
import { Profiler } from '../../diagnostics/profiler';
import { keyText } from '../../graph/key';
import { type Graph, task } from '../../graph/nodes';
import { getAsync } from '../../local/get-async';
import { getSync } from '../../local/get-sync';
import { getThreads } from '../../pools/get-threads';
import { ThreadPool } from '../../pools/worker-pool';
import { LiveLog } from '../live-log';
import { ObservedComputations } from '../observed-computations';
import { RunningBoard } from '../running-board';

/** The thread's own lane, and those that overlap. */
const LANES = [
  0,
  ...Array.from({ length: 50 }, (_, at) => OVERLAPPING_FROM + at)
];

/** Where and when each task ran, by key. */
type Places = Map<string, { lane: number; start: number; duration: number }>;

type Observed = { readonly places: Places; readonly profiler: Profiler };

/** Follows what is run in it, and keeps what it writes. */
function follower() {
  const { emit, tables } = logRows();
  const live = new LiveLog('lanes', {
    open: () => undefined,
    write: bytes => emit({ seq: 0, bytes }),
    flush: () => Promise.resolve(),
    end: () => Promise.resolve()
  });
  const following = new ObservedComputations(
    live,
    new RunningBoard(),
    () => undefined
  );
  const end = async (): Promise<Places> => {
    await live.end('closed');
    const keys = new Map(
      tables.nodes!.map(({ node, group, suffix }) => [
        node,
        `${String(group)}${String(suffix)}`
      ])
    );
    const lanes = new Map(
      tables.lanes!.map(({ lane, thread }) => [lane, Number(thread)])
    );
    return new Map(
      tables.runs!.map(({ node, lane, start, duration }) => [
        keys.get(node)!,
        {
          lane: lanes.get(lane)!,
          start: Number(start),
          duration: Number(duration)
        }
      ])
    );
  };
  return { following, end };
}

/** @param watched - how many observe it, within each other. @returns what each of them wrote. */
async function observed(
  graph: Graph,
  numWorkers: number,
  watched = 1
): Promise<Observed[]> {
  const profiler = new Profiler();
  let run = () =>
    profiler.run(() => getAsync(graph, Object.keys(graph), { numWorkers }));
  const followers = Array.from({ length: watched }, () => {
    const each = follower();
    const inner = run;
    run = () => each.following.run(inner);
    return each;
  });
  await run();
  const written = await Promise.all(followers.map(({ end }) => end()));
  return written.map(places => ({ places, profiler }));
}

/** Each thread has one lane, in which one task follows the other. */
function expectOneLaneEach({ places, profiler }: Observed): Set<number> {
  const results = profiler.results;
  expect(places.size).toBe(results.length);
  const laneOf = new Map<number | null, number>();
  const stops = new Map<number, number>();
  const inOrder = [...results].sort((a, b) => a.startTime - b.startTime);
  for (const { key, workerId } of inOrder) {
    const { lane, start, duration } = places.get(keyText(key))!;
    expect(lane).toBe(laneOf.get(workerId) ?? lane);
    laneOf.set(workerId, lane);
    // Durations are single precision.
    expect(start).toBeGreaterThanOrEqual((stops.get(lane) ?? 0) - 1e-6);
    stops.set(lane, start + duration);
  }
  return new Set(stops.keys());
}

/** Seconds: stamps and durations of a log are rounded. */
const ROUNDED = 2e-6;

function expectLowestFree(places: Places): void {
  const inOrder = [...places.values()].sort((a, b) => a.start - b.start);
  inOrder.forEach(({ lane, start }, at) => {
    const before = inOrder.slice(0, at);
    const stopOf = (other: number) =>
      Math.max(
        ...before
          .filter(each => each.lane === other)
          .map(each => each.start + each.duration)
      );
    expect(stopOf(lane)).toBeLessThanOrEqual(start + ROUNDED);
    for (const lower of LANES.slice(0, LANES.indexOf(lane))) {
      expect(stopOf(lower)).toBeGreaterThanOrEqual(start - ROUNDED);
    }
  });
}

describe('a task of getAsync has the thread’s lane, else the first free one of those that overlap', () => {
  it('so that functions that compute are all in the thread’s, whatever is allowed at once', async () => {
    // Several turns: between them timers and sockets have theirs, and tasks wait in all slots.
    const spin = () => {
      const end = performance.now() + 4;
      while (performance.now() < end);
    };
    const graph = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`spin${at}`, task(spin)])
    );
    const [{ places, profiler }] = (await observed(graph, 16)) as [Observed];
    expect(
      new Set(profiler.results.map(({ workerId }) => workerId)).size
    ).toBeGreaterThan(1);
    expect(places.size).toBe(40);
    expect(new Set([...places.values()].map(({ lane }) => lane))).toEqual(
      new Set([0])
    );
  });

  it('also after a run that failed while a promise waited, which goes on beside the thread', async () => {
    let keep: (value: number) => void = () => undefined;
    const graph = {
      waits: task(() => new Promise(resolve => (keep = resolve))),
      fails: task(() => {
        throw new Error('no');
      })
    };
    const { following, end } = follower();
    await expect(
      following.run(() => getAsync(graph, ['waits', 'fails']))
    ).rejects.toThrow('no');
    const lanesInUse = following.lanes.count;
    following.run(() => getSync({ later: task(() => 1) }, 'later'));
    keep(2);
    await new Promise(setImmediate);
    const places = await end();
    const laneOf = (key: string) => places.get(key)?.lane;
    expect(laneOf('later')).toBe(0);
    expect(laneOf('fails')).toBe(OVERLAPPING_FROM);
    // None that another one had: it began before.
    expect(laneOf('waits')).toBe(OVERLAPPING_FROM + 1);
    expect(lanesInUse).toBe(1);
    expect(following.lanes.count).toBe(0);
  });

  it('however many promises are kept at a time, in whichever order, whoever looks on', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 2 }),
        fc.array(
          fc.oneof(
            fc.constant('now' as const),
            // In which order of those that wait it ends, and whether others follow it at once.
            fc.record({ rank: fc.nat(), isAlone: fc.boolean() })
          ),
          { minLength: 1, maxLength: 20 }
        ),
        async (numWorkers, watched, tasks) => {
          const waiting: {
            rank: number;
            isAlone: boolean;
            resolve: () => void;
          }[] = [];
          const graph = Object.fromEntries(
            tasks.map((drawn, at) => [
              `task${at}`,
              drawn === 'now'
                ? task(() => at)
                : task(
                    () =>
                      new Promise<void>(resolve => {
                        waiting.push({ ...drawn, resolve });
                      })
                  )
            ])
          );
          const timer = setInterval(() => {
            waiting.sort((a, b) => a.rank - b.rank);
            let next = waiting.shift();
            while (next !== undefined) {
              next.resolve();
              next = next.isAlone ? undefined : waiting.shift();
            }
          }, 0);
          try {
            const all = await observed(graph, numWorkers, watched);
            all.forEach(({ places }) => expectLowestFree(places));
          } finally {
            clearInterval(timer);
          }
        }
      ),
      { numRuns: 60 }
    );
  });
});

/** A task that says that it runs, and ends once it may. */
const held = (begun: string, enough: string) => {
  const { existsSync: isThere, writeFileSync: write } =
    process.getBuiltinModule('node:fs');
  const cell = new Int32Array(new SharedArrayBuffer(4));
  write(begun, '');
  while (!isThere(enough)) {
    Atomics.wait(cell, 0, 0, 2);
  }
};

const same = (x: number) => x;

describe('a thread of a pool keeps its lane', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lanes-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('though another one is ended and replaced while it is at a long task', async () => {
    buildNodePrograms('pool-thread.mjs');
    const file = (name: string) => join(folder, name);
    const hold = (name: string, enough = 'enough') =>
      task(held, file(name), file(enough));
    const isThere = (name: string) =>
      waitFor(`${name} has begun`, () => existsSync(file(name)));
    const profiler = new Profiler();
    const { following, end } = follower();
    await using pool = new ThreadPool({ size: 2 });
    const run = (graph: Graph, signal?: AbortSignal) =>
      getThreads(graph, Object.keys(graph), {
        pool,
        chunkSize: 1,
        ...(signal === undefined ? {} : { signal })
      });

    const runAll = async () => {
      // Each waits for the other one: both threads have a lane.
      await run({ one: hold('first', 'second'), two: hold('second', 'first') });
      const long = run({ long: hold('long') });
      await isThere('long');
      // The other thread was idle for less time, when it is ended.
      await run({ other: task(same, 1) });
      const abort = new AbortController();
      const aborted = run({ aborted: hold('aborted') }, abort.signal);
      await isThere('aborted');
      abort.abort(new Error('not wanted'));
      await expect(aborted).rejects.toThrow('not wanted');
      await run({ replaced: task(same, 2) });
      writeFileSync(file('enough'), '');
      await long;
      await run({ late1: task(same, 3), late2: task(same, 4) });
    };
    await following.run(() => profiler.run(runAll));

    const { results } = profiler;
    expect(new Set(results.map(({ workerId }) => workerId)).size).toBe(3);
    const lanes = expectOneLaneEach({ places: await end(), profiler });
    expect([...lanes].sort()).toEqual([0, 1]);
  });
});
