import { ref, task } from '../../graph/nodes';
import type { BatchDone, BatchOutcome, Executor } from '../executor';
import type { TaskCall } from '../execution';
import { getAsync } from '../get-async';
import { getSync } from '../get-sync';
import { runGraph } from '../run';
import { recorder } from './recorder';

/** Keeps what is submitted until the test answers. */
class HeldExecutor implements Executor {
  readonly held: {
    batch: readonly TaskCall[];
    done: (outcome: BatchOutcome) => void;
  }[] = [];
  stopped: unknown = undefined;

  constructor(readonly numWorkers: number) {}

  submit(batch: readonly TaskCall[], done: BatchDone): void {
    this.held.push({ batch, done: outcome => done(batch, outcome) });
  }

  stop(reason: unknown): Promise<void> {
    this.stopped = reason;
    return Promise.resolve();
  }

  /** Answers the oldest batch; from the item `failing` on with an error. */
  answer(failing = Infinity): void {
    const { batch, done } = this.held.shift()!;
    done({
      workerId: 7,
      results: batch
        .slice(0, failing + 1)
        .map((_, i) =>
          i === failing ? { error: new Error('batch item') } : { value: i }
        )
    });
  }

  sizes(): number[] {
    return this.held.map(({ batch }) => batch.length);
  }
}

const flat = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`k${i}`, task(() => i)])
  );
const start = (count: number, workers: number, chunkSize: number) => {
  const executor = new HeldExecutor(workers);
  const log: string[] = [];
  const graph = flat(count);
  const result = runGraph(graph, Object.keys(graph), executor, {
    chunkSize,
    callbacks: [recorder(log)]
  });
  result.catch(() => undefined);
  return { executor, log, result };
};

describe('§1.5: batching', () => {
  it('§1.5: hands out chunkSize × free workers tasks, in groups', () => {
    const { executor } = start(10, 2, 3);
    expect(executor.sizes()).toEqual([3, 3]);
    executor.answer();
    expect(executor.sizes()).toEqual([3, 3]);
    executor.answer();
    expect(executor.sizes()).toEqual([3, 1]);
  });

  it('§1.5: a worker with a part of a batch is as busy as one with a whole one', () => {
    const executor = new HeldExecutor(2);
    const graph = {
      ...flat(4),
      ...Object.fromEntries(
        Array.from({ length: 6 }, (_, at) => [
          `later${at}`,
          task((x: unknown) => x, ref('k0'))
        ])
      )
    };
    runGraph(graph, Object.keys(graph), executor, { chunkSize: 3 }).catch(
      () => undefined
    );
    expect(executor.sizes()).toEqual([3, 1]);
    executor.answer();
    // One has one task left, so the other one gets three, although six are ready.
    expect(executor.sizes()).toEqual([1, 3]);
  });

  it('§1.5: all pretasks of a hand-out come before its first submit, posttasks of a group together', () => {
    const { executor, log } = start(4, 1, 2);
    expect(log).toEqual(['start', 'startState', 'pretask k0', 'pretask k1']);
    expect(executor.sizes()).toEqual([2]);
    executor.answer();
    expect(log.slice(4)).toEqual([
      'posttask k0=0',
      'posttask k1=1',
      'pretask k2',
      'pretask k3'
    ]);
  });

  it('§1.5: -1 divides what is ready evenly among the workers', () => {
    expect(start(10, 4, -1).executor.sizes()).toEqual([3, 3, 3, 1]);
    expect(start(2, 4, -1).executor.sizes()).toEqual([1, 1]);
  });

  it('§1.5: -1 with nothing ready while tasks run submits nothing', async () => {
    const { executor, result } = start(4, 2, -1);
    expect(executor.sizes()).toEqual([2, 2]);
    executor.answer();
    expect(executor.sizes()).toEqual([2]);
    executor.answer();
    await expect(result).resolves.toEqual([0, 1, 0, 1]);
  });

  it.each([1, 3, -1])(
    '§1.5: chunkSize %d gives the same answers',
    async chunkSize => {
      const graph = {
        ...flat(7),
        sum: task(
          (parts: number[]) => parts.reduce((a, b) => a + b),
          Array.from({ length: 7 }, (_, i) => ref(`k${i}`))
        )
      };
      expect(getSync(graph, 'sum', { chunkSize })).toBe(21);
      expect(await getAsync(graph, 'sum', { chunkSize, numWorkers: 2 })).toBe(
        21
      );
    }
  );

  it('§1.7: when an item of a batch fails, those before it have had their posttask, those after it not', async () => {
    const { executor, log, result } = start(4, 1, 4);
    executor.answer(2);
    await expect(result).rejects.toThrow('batch item');
    expect(log.slice(6)).toEqual([
      'posttask k0=0',
      'posttask k1=1',
      'finish errored'
    ]);
    expect(executor.stopped).toBeInstanceOf(Error);
  });

  it('§1.7: answers that come after the failure are discarded', async () => {
    const { executor, log, result } = start(2, 2, 1);
    const [first, second] = [...executor.held];
    first!.done({ workerId: 1, results: [{ error: new Error('first') }] });
    second!.done({ workerId: 2, results: [{ value: 1 }] });
    await expect(result).rejects.toThrow('first');
    expect(log.at(-1)).toBe('finish errored');
  });

  it('§1.7: what submit throws ends the run', async () => {
    const executor = new HeldExecutor(1);
    executor.submit = () => {
      throw new TypeError('cannot be sent');
    };
    const log: string[] = [];
    await expect(
      runGraph(flat(1), 'k0', executor, { callbacks: [recorder(log)] })
    ).rejects.toThrow('cannot be sent');
    expect(log.slice(2)).toEqual(['pretask k0', 'finish errored']);
  });
});
