/**
 * Which task is blamed for the death of a worker. The worker is played by the test, so that it dies where it is told to: with one pack begun,
 * another waiting behind it, and some results on their way.
 */
import { KeyMap } from '../../graph/key';
import { task } from '../../graph/nodes';
import { waitFor } from '../../../testing/wait-for';
import type { FromWorker, RunMessage, ToWorker } from '../messages';
import { WorkerEndedError } from '../pool-errors';
import { PoolExecutor } from '../pool-executor';
import { ThreadPool } from '../worker-pool';
import type { IWorkerTransport, WorkerEvents } from '../worker-transport';

const same = (x: number): number => x;

// A worker that has been silent for 5 ms is given nothing more. A busy machine may take longer between two lines of a test.
let clock: jest.SpyInstance<number, []>;

beforeEach(() => {
  clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
});

afterEach(() => {
  clock.mockRestore();
});

/** A worker that does nothing by itself. */
class PlayedWorker implements IWorkerTransport {
  readonly packLimit = 16;
  readonly label: string;
  readonly packs: RunMessage[] = [];
  /** By pack: how many of its tasks have begun. */
  readonly begunOf = new Map<number, number>();

  constructor(
    readonly workerId: number,
    /** Whether it can be known how many tasks have begun, as of a thread. */
    readonly canTakeBack: boolean,
    private readonly _events: WorkerEvents
  ) {
    this.label = `worker ${workerId}`;
  }

  post(message: ToWorker): void {
    if (message.type === 'run') {
      this.packs.push(message);
    }
  }

  begun(cell: number): number | null {
    const pack = this.packs.find(each => each.cell === cell)!;
    return this.canTakeBack ? (this.begunOf.get(pack.pack) ?? 0) : null;
  }

  takeBack(_pack: number, cell: number): number | null {
    return this.begun(cell);
  }

  hold(): void {}

  async kill(): Promise<void> {}

  /** Numbers of the tasks that it was given, in order. */
  get given(): number[] {
    return this.packs.flatMap(({ args }) => args as number[]);
  }

  ready(): void {
    this._events.onMessage({ type: 'ready' });
  }

  /** The next results of its first pack; what they took makes the function a quick one. */
  answer(count: number, pack = this.packs[0]!): void {
    const results: FromWorker = {
      type: 'results',
      pack: pack.pack,
      values: pack.args.slice(0, count),
      timings: [pack.calls[0]!, 1000, 1],
      ended: count === pack.count
    };
    this._events.onMessage(results);
  }

  end(): void {
    this._events.onEnd({ how: 'was killed' });
  }
}

class PlayedPool extends ThreadPool {
  readonly played: PlayedWorker[] = [];

  constructor(
    private readonly _canTakeBack: boolean,
    size: number
  ) {
    super({ size });
  }

  protected override start(events: WorkerEvents): IWorkerTransport {
    const worker = new PlayedWorker(
      this.played.length + 1,
      this._canTakeBack,
      events
    );
    this.played.push(worker);
    return worker;
  }
}

/** A run of the pool, and what has become of its tasks. */
class Run {
  readonly values: number[] = [];
  readonly errors: { readonly key: unknown; readonly error: unknown }[] = [];
  private readonly _executor: PoolExecutor;

  constructor(pool: ThreadPool) {
    this._executor = new PoolExecutor(pool, {
      numWorkers: pool.size,
      chunkSize: 1,
      isExact: false,
      signal: undefined
    });
  }

  /** One pack, if its function is known to be quick. */
  async submit(...numbers: readonly number[]): Promise<void> {
    const calls = numbers.map(number => ({
      id: number,
      key: `k${number}`,
      node: task(same, number),
      inputs: new KeyMap<unknown>()
    }));
    this._executor.submit(calls, (told, { results, first }) => {
      results.forEach((result, at) => {
        if ('error' in result) {
          const { key } = told[(first ?? 0) + at]!;
          this.errors.push({ key, error: result.error });
        } else {
          this.values.push(result.value as number);
        }
      });
    });
    // Tasks leave in the next microtask.
    await Promise.resolve();
  }
}

/** A pool whose worker knows the function, and what it is given from here on. */
async function warmPool(
  canTakeBack: boolean,
  size = 1
): Promise<{
  readonly pool: PlayedPool;
  readonly run: Run;
  readonly worker: PlayedWorker;
}> {
  const pool = new PlayedPool(canTakeBack, size);
  const run = new Run(pool);
  await run.submit(0);
  const worker = pool.played[0]!;
  worker.ready();
  worker.answer(1);
  run.values.length = 0;
  worker.packs.length = 0;
  return { pool, run, worker };
}

function expectOneBlamed(run: Run, key: string, keys: readonly string[]): void {
  expect(run.errors.map(each => each.key)).toEqual([key]);
  const { error } = run.errors[0]!;
  expect(error).toBeInstanceOf(WorkerEndedError);
  expect((error as WorkerEndedError).keys).toEqual(keys);
}

describe('§1.7: of the tasks of a worker that dies, one is blamed', () => {
  it('the one begun last, where that is known; all others run elsewhere, in their order', async () => {
    const { pool, run, worker } = await warmPool(true);
    await run.submit(1, 2, 3, 4, 5, 6);
    await run.submit(7, 8);
    await run.submit(9);
    expect(worker.packs.map(({ count }) => count)).toEqual([6, 2, 1]);
    worker.answer(2);
    // The result of 3 is on its way when 4 ends the worker.
    worker.begunOf.set(worker.packs[0]!.pack, 4);
    worker.end();
    expect(run.values).toEqual([1, 2]);
    expectOneBlamed(run, 'k4', ['k4']);
    expect(pool.played[1]!.given).toEqual([3, 5, 6, 7, 8, 9]);
  });

  it('the first without a result, where that is not known; the error names all that may have run', async () => {
    const { pool, run, worker } = await warmPool(false);
    await run.submit(1, 2, 3, 4, 5, 6);
    await run.submit(7, 8);
    await run.submit(9);
    expect(worker.packs.map(({ count }) => count)).toEqual([6, 2, 1]);
    worker.answer(2);
    worker.end();
    expect(run.values).toEqual([1, 2]);
    expectOneBlamed(run, 'k3', ['k3', 'k4', 'k5', 'k6']);
    expect(pool.played[1]!.given).toEqual([4, 5, 6, 7, 8, 9]);
  });

  it('and no task of another run that waited there', async () => {
    const { pool, run, worker } = await warmPool(true);
    const other = new Run(pool);
    await run.submit(1, 2);
    await other.submit(11, 12);
    expect(worker.given).toEqual([1, 2, 11, 12]);
    worker.begunOf.set(worker.packs[0]!.pack, 1);
    worker.end();
    expectOneBlamed(run, 'k1', ['k1']);
    expect(other.errors).toEqual([]);
    const next = pool.played[1]!;
    expect([...next.given].sort((a, b) => a - b)).toEqual([2, 11, 12]);
    next.ready();
    next.packs.forEach(pack => next.answer(pack.count, pack));
    expect([run.values, other.values]).toEqual([[2], [11, 12]]);
  });

  it('none, while nothing had begun; after four such deaths the first, and the error names none', async () => {
    const { pool, run } = await warmPool(true);
    await run.submit(1, 2, 3);
    for (let deaths = 0; deaths < 4; deaths++) {
      expect(run.errors).toEqual([]);
      const worker = pool.played.at(-1)!;
      worker.ready();
      worker.end();
    }
    expectOneBlamed(run, 'k1', []);
    expect(pool.played.at(-1)!.given).toEqual([2, 3]);
  });
});

it('what is taken back from behind a long task runs elsewhere in its order', async () => {
  const { pool, run, worker } = await warmPool(true, 2);
  await run.submit(1, 2, 3, 4);
  const other = pool.played[1]!;
  other.ready();
  await run.submit(5, 6, 7, 8);
  expect([worker.given, other.given]).toEqual([
    [1, 2, 5, 6],
    [3, 4, 7, 8]
  ]);
  worker.begunOf.set(worker.packs[0]!.pack, 1);
  other.packs.slice().forEach(pack => other.answer(pack.count, pack));
  // Time goes on, and the worker stays silent.
  clock.mockRestore();
  await waitFor('the tasks behind 1', () => other.given.length === 7);
  expect(other.given.slice(4)).toEqual([2, 5, 6]);
  expect(run.values).toEqual([3, 4, 7, 8]);
});
