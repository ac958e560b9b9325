import * as fc from 'fast-check';
import { RunStatus } from '../../records/enumerations';
import type { DenseTaskIds } from '../../records/ids';
import { SchedulerFixture } from '../../testing/scheduler-fixture';
import { Scheduler } from '..';
import { DEFAULT_OPTIONS } from '../options';

/** Shapes of a client's many tasks. */
type Shape = 'apart' | 'chains' | 'pairs';

/** Tasks run for so long each, in seconds. */
const SECONDS = 0.001;

/** Workers that run what they are sent by priority, one step of {@link SECONDS} after another. */
class Bench {
  readonly scheduler = new Scheduler();
  /** Clients in the order in which their tasks ended. */
  readonly ended: number[] = [];
  /** By worker what it has and has not run. */
  readonly inHand = new Map<
    number,
    { task: number; run: number; at: number }[]
  >();
  private readonly _store = new Map<number, Set<number>>();
  private _next = 0;
  private _time = 0;
  private readonly _generations = new Map<number, number>();

  constructor(
    workers: number,
    private readonly _threads: number
  ) {
    for (let worker = 0; worker < workers; worker++) {
      this.inHand.set(worker, []);
      this._store.set(worker, new Set());
      this.scheduler.handle({
        type: 'workerJoined',
        at: 0,
        worker,
        threads: _threads,
        memoryLimit: 0,
        host: 'here'
      });
    }
  }

  /** Submits wanted tasks of a client. */
  submit(client: number, count: number, shape: Shape, priority = 0): void {
    const first = this._next;
    this._next += count;
    const length = { apart: 1, chains: 100, pairs: 2 }[shape];
    const firstInput = new Uint32Array(count + 1);
    const inputs: number[] = [];
    for (let i = 0; i < count; i++) {
      if (i % length > 0) {
        inputs.push(first + i - 1);
      }
      firstInput[i + 1] = inputs.length;
    }
    const generation = (this._generations.get(client) ?? 0) + 1;
    this._generations.set(client, generation);
    this.scheduler.handle({
      type: 'graphSubmitted',
      at: this._time,
      client,
      generation,
      last: true,
      taskIds: Int32Array.from(
        { length: count },
        (_, i) => first + i
      ) as DenseTaskIds,
      userPriority: new Int32Array(count).fill(priority),
      functionIds: new Uint32Array(count).fill(client),
      retries: null,
      restrictions: null,
      restrictionSets: [],
      firstInput,
      inputs: Int32Array.from(inputs) as DenseTaskIds,
      data: null,
      wanted: new Uint8Array(count).fill(1)
    });
    this._perform();
  }

  /** How many tasks the workers have. */
  get handed(): number {
    let sum = 0;
    this.inHand.forEach(tasks => (sum += tasks.length));
    return sum;
  }

  /** Each thread of each worker runs a task. @returns whether any did. */
  step(): boolean {
    this._time += SECONDS;
    let hasRun = false;
    for (const [worker, tasks] of this.inHand) {
      for (let thread = 0; thread < this._threads; thread++) {
        const best = this._best(worker, tasks);
        if (best < 0) {
          break;
        }
        hasRun = true;
        const { task, run } = tasks.splice(best, 1)[0]!;
        this._store.get(worker)!.add(task);
        this.ended.push(this.scheduler.tasks.client[task]!);
        this.scheduler.handle({
          type: 'tasksFinished',
          at: this._time,
          worker,
          taskIds: Int32Array.of(task) as DenseTaskIds,
          runIds: Uint32Array.of(run),
          status: Uint8Array.of(RunStatus.Ok),
          nbytes: Float64Array.of(8),
          duration: Float64Array.of(SECONDS),
          missingInputs: new Int32Array(0) as DenseTaskIds,
          missingWorkers: new Uint16Array(0)
        });
      }
      this._perform();
    }
    return hasRun;
  }

  /** Steps until so many tasks of a client have ended. @returns how many of others ended meanwhile. */
  until(client: number, count: number): number {
    let others = 0;
    let own = 0;
    let seen = this.ended.length;
    while (own < count) {
      if (!this.step()) {
        throw new Error(`Only ${own} of ${count} tasks of ${client} ran.`);
      }
      for (; seen < this.ended.length; seen++) {
        if (this.ended[seen] === client) {
          own++;
        } else {
          others++;
        }
      }
    }
    return others;
  }

  /** The one to run now; its inputs are in memory. */
  private _best(
    worker: number,
    tasks: readonly { task: number; at: number }[]
  ): number {
    let best = -1;
    for (let i = 0; i < tasks.length; i++) {
      if (
        (best < 0 || tasks[i]!.at < tasks[best]!.at) &&
        this.scheduler.tasks.waitingOn[tasks[i]!.task] === 0
      ) {
        best = i;
      }
    }
    return best;
  }

  private _perform(): void {
    for (const instruction of this.scheduler.takeInstructions()) {
      if (instruction.type === 'assign') {
        const { worker, taskIds, runIds, priorities } = instruction;
        taskIds.forEach((task, i) =>
          this.inHand.get(worker)!.push({
            task,
            run: runIds[i]!,
            at: priorities?.[i] ?? this.scheduler.tasks.rank[task]!
          })
        );
      } else if (instruction.type === 'takeBack') {
        const { worker, taskIds, runIds } = instruction;
        const tasks = this.inHand.get(worker)!;
        const taken = Array.from(taskIds, task => {
          const found = tasks.findIndex(each => each.task === task);
          if (found >= 0) {
            tasks.splice(found, 1);
          }
          return Number(found >= 0);
        });
        this.scheduler.handle({
          type: 'takeBackAnswered',
          at: this._time,
          worker,
          taskIds,
          runIds,
          taken: Uint8Array.from(taken)
        });
      } else if (instruction.type === 'release') {
        const gone = new Set<number>(instruction.taskIds);
        const tasks = this.inHand.get(instruction.worker)!;
        this.inHand.set(
          instruction.worker,
          tasks.filter(({ task }) => !gone.has(task))
        );
      }
    }
  }
}

const MANY = 100_000;
const shape = fc.constantFrom<Shape>('apart', 'chains', 'pairs');

describe('clients of one scheduler', () => {
  it('with ten tasks wait for few of one with a hundred thousand', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        shape,
        shape,
        fc.integer({ min: 0, max: 300 }),
        (workers, threads, many, few, before) => {
          const bench = new Bench(workers, threads);
          bench.submit(0, MANY, many);
          for (let n = 0; n < before; n++) {
            bench.step();
          }
          const ahead = bench.handed;
          bench.submit(1, 10, few);
          const others = bench.until(1, 10);
          const places = workers * threads;
          // What was at the workers; then one for each of the ten, or, where each waits for the one before, what is at the workers each time.
          const each = few === 'apart' ? 1 : 8 * places;
          expect(others).toBeLessThanOrEqual(ahead + 10 * each + 4 * places);
        }
      ),
      { numRuns: 6 }
    );
  });

  it('with much each get the same, and as much as they ask for', () => {
    const bench = new Bench(2, 2);
    bench.submit(0, 5_000, 'apart');
    bench.step();
    bench.submit(1, 2_000, 'apart');
    bench.submit(2, 2_000, 'apart');
    bench.until(2, 1_000);
    const counts = [0, 1, 2].map(
      client => bench.ended.filter(each => each === client).length
    );
    for (const count of counts) {
      expect(Math.abs(count - 1_000)).toBeLessThan(60);
    }
  });

  it('that come late have no turns due from before', () => {
    const bench = new Bench(1, 2);
    bench.submit(0, 4_000, 'apart');
    bench.submit(1, 4_000, 'apart');
    bench.until(1, 1_000);
    bench.submit(2, 500, 'apart');
    expect(bench.until(2, 500)).toBeGreaterThan(900);
  });

  it('are not held up by ones that ask again and again for little', () => {
    const bench = new Bench(1, 2);
    bench.submit(0, 2_000, 'apart');
    bench.step();
    let others = 0;
    for (let n = 0; n < 200; n++) {
      bench.submit(1, 1, 'apart');
      others += bench.until(1, 1);
    }
    // Neither waits for long, nor leaves nothing to the other.
    expect(others).toBeGreaterThanOrEqual(200);
    expect(others).toBeLessThan(200 * 15);
  });

  it.each([
    [5, 1],
    [3, 1],
    [6, 1],
    [4, 0.1]
  ])(
    'begin soon beside short tasks of which one in %i takes %d s',
    (k, long) => {
      const s = new SchedulerFixture();
      s.join(0);
      const worker = s.scheduler.workers.get(0)!;
      const sent: string[] = [];
      let ran = 0;
      const run = (): { name: string; seconds: number } => {
        for (const line of s.saidOf('assign')) {
          sent.push(...line.slice('assign 0: '.length).split(' '));
        }
        const name = sent.shift()!;
        // The first one, too: else all are sent before one is known to be long.
        const isLong = name.startsWith('a') && ran++ % k === 0;
        const seconds = isLong ? long : 20e-6;
        s.pass(seconds);
        s.finish(0, name, { duration: seconds });
        return { name, seconds };
      };
      const names = (letter: string, count: number): string[] =>
        Array.from({ length: count }, (_, i) => `${letter}${i}`);
      const submit = (all: string[], client: number): void =>
        s.submit(all.join(';'), { want: all.join(' '), client });
      submit(names('a', 600), 0);
      for (let i = 0; i < 60; i++) {
        run();
      }
      // Work for 0.1 s by the average, or two tasks.
      expect(worker.processingCount).toBeLessThanOrEqual(5);
      submit(names('b', 30), 1);
      let waited = 0;
      for (let next = run(); next.name !== 'b0'; next = run()) {
        waited += next.seconds;
      }
      // Beside that a long one that has begun, and short ones.
      const most = 10 * DEFAULT_OPTIONS.aheadSeconds + long + 0.001;
      expect(waited).toBeLessThan(most);
    }
  );

  it('let work of higher priority go first, whose it is', () => {
    const bench = new Bench(1, 1);
    bench.submit(0, 1_000, 'apart');
    bench.step();
    const ahead = bench.handed;
    bench.submit(1, 50, 'apart', 1);
    expect(bench.until(1, 50)).toBeLessThanOrEqual(ahead + 2);
  });

  it('have the order of their own work as if they were alone', () => {
    const order = (withOther: boolean): number[] => {
      const bench = new Bench(1, 1);
      bench.submit(0, 600, 'pairs');
      if (withOther) {
        bench.submit(1, 600, 'apart');
      }
      const seen: number[] = [];
      const { scheduler } = bench;
      const handle = scheduler.handle.bind(scheduler);
      scheduler.handle = event => {
        if (event.type === 'tasksFinished' && event.taskIds[0]! < 600) {
          seen.push(event.taskIds[0]!);
        }
        handle(event);
      };
      bench.until(0, 600);
      return seen;
    };
    const alone = order(false);
    const beside = order(true);
    expect(beside).toHaveLength(600);
    // A pair's second task comes soon after its first.
    const lag = (ran: readonly number[]): number =>
      Math.max(
        ...ran.map((task, i) =>
          task % 2 === 1 ? i - ran.indexOf(task - 1) : 0
        )
      );
    expect(lag(alone)).toBeLessThan(15);
    expect(lag(beside)).toBeLessThan(15);
  });
});
