import { DEFAULT_OPTIONS } from '../options';
import { CheapestPlacement } from '../placement';
import { TaskTable } from '../task-table';
import type { WorkerRecord } from '../worker-table';

const BANDWIDTH = 500e6;
const BYTES = 5e6;
const LATENCY = 0.001;

/** A worker with so many seconds of work, and so many tasks whose inputs are to come there. */
const worker = (id: number, load: number, before = 0): WorkerRecord =>
  ({
    ...{ id, load, storedBytes: 0 },
    fetchingCount: Math.floor(before / 2),
    lackingCount: Math.ceil(before / 2)
  }) as WorkerRecord;

/** A task whose first input lies at worker 0, and `lacking` others at worker 1. */
function placed(lacking: number, workers: readonly WorkerRecord[]): number {
  const tasks = new TaskTable();
  const count = 1 + lacking;
  tasks.ensure(count + 1);
  for (let task = 0; task <= count; task++) {
    tasks.add(task, task, 0, 0, 0);
  }
  const first = tasks.reserveInputs(count, count);
  for (let input = 0; input < count; input++) {
    tasks.setInput(count, first + input, input);
    tasks.setBytes(input, BYTES);
    tasks.firstReplica[input] = tasks.replicas.add(
      tasks.firstReplica[input]!,
      input === 0 ? 0 : 1
    );
  }
  return new CheapestPlacement().choose(
    {
      tasks,
      options: { ...DEFAULT_OPTIONS, transferLatency: LATENCY },
      random: null as never,
      bandwidth: BANDWIDTH,
      hasReplica: () => false
    },
    count,
    workers
  ).id;
}

describe('a transfer behind others', () => {
  it.each([
    [1, 1 / 16],
    [2, 2 / 16],
    [7, 7 / 16],
    [8, 1 / 2],
    [12, 1 / 2]
  ])(
    'waits, with %i inputs that are lacking, for a share of them',
    (lacking, share) => {
      const before = 11;
      const transfer = LATENCY + (lacking * BYTES) / BANDWIDTH;
      const there = transfer * (1 + share * before);
      // Worker 1 lacks one input, and fetches nothing else.
      const load = there - (LATENCY + BYTES / BANDWIDTH);
      for (const [more, chosen] of [
        [-0.0001, 1],
        [0.0001, 0]
      ] as const) {
        const workers = [worker(0, 0, before), worker(1, load + more)];
        expect(placed(lacking, workers)).toBe(chosen);
      }
    }
  );

  it('is none where all inputs are', () => {
    expect(placed(0, [worker(0, 0.1, 1000), worker(1, 0)])).toBe(0);
    expect(placed(1, [worker(0, 0, 0), worker(1, 0.001, 0)])).toBe(0);
  });
});
