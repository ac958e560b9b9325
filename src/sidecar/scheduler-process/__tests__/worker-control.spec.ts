import { SchedulerFixture } from '../../../testing/scheduler-fixture';
import type { ClusterState } from '../cluster-state';
import type { Roster } from '../roster';
import { WorkerControl, type Command } from '../worker-control';
import type { IWorkerFleet } from '../worker-fleet';
import type { WorkerSession } from '../worker-session';

const command = (what: Command['what'], fields: Partial<Command>): Command => ({
  ...{ request: 1, what, workers: [], closes: true },
  ...{ count: 0, minimum: 0, maximum: null, ...fields }
});

let opened: WorkerControl[] = [];

afterEach(() => {
  // Also after a failure: its timers would keep jest from ending.
  opened.forEach(control => control.close());
  opened = [];
  jest.useRealTimers();
});

/** Control over a fleet that only counts what it starts. */
function controlled() {
  const start = jest.fn();
  const fleet = {
    ...{ start, startingCount: 0, threads: 1 },
    leave: () => undefined,
    dropStarts: () => 0,
    kill: () => undefined
  };
  const { scheduler } = new SchedulerFixture();
  const workers = new Map<number, WorkerSession>();
  const state = {
    ...{ workers, core: scheduler, clock: () => 0, at: 0 },
    handle: () => undefined
  };
  const control = new WorkerControl(
    state as unknown as ClusterState,
    {} as Roster,
    {
      fleet: fleet as unknown as IWorkerFleet,
      gather: act => act(),
      workersChanged: () => undefined,
      warn: () => undefined
    }
  );
  opened.push(control);
  /** A worker joins; what it is told goes into the list. */
  const join = (id: number): string[] => {
    const told: string[] = [];
    const link = { send: (what: string) => told.push(what), flush: () => null };
    const session = { id, link, isReady: false, isRetiring: false };
    workers.set(id, {
      ...session,
      leaving: null,
      logCapacity: () => undefined
    } as unknown as WorkerSession);
    return told;
  };
  return { control, start, join, state };
}

it('starts no workers for a command that comes while the cluster closes', () => {
  const { control, start } = controlled();
  control.close();
  const answers: string[] = [];
  control.command(command('scale', { count: 5 }), (_, sentence) =>
    answers.push(sentence)
  );
  expect(start).not.toHaveBeenCalled();
  expect(answers).toEqual(['The cluster was closed.']);
});

it('adapts the number of workers no more once they cannot be started', () => {
  jest.useFakeTimers();
  const { control, start } = controlled();
  control.command(command('adapt', { minimum: 1, maximum: 2 }), () => null);
  jest.advanceTimersByTime(3_000);
  const before = start.mock.calls.length;
  expect(before).toBeGreaterThan(1);
  control.startsFail();
  jest.advanceTimersByTime(60_000);
  expect(start).toHaveBeenCalledTimes(before);
  control.close();
  jest.useRealTimers();
});

it('closes all workers for a scale to 0, also those that were retired and not to close', () => {
  const { control, join } = controlled();
  const [retired, staying] = [join(0), join(1)];
  const retire = { workers: [0], closes: false };
  control.command(command('retire', retire), () => null);
  expect(retired).toEqual([]);
  control.command(command('scale', { count: 0 }), () => null);
  expect([retired, staying]).toEqual([['close'], ['close']]);
  control.command(command('scale', { count: 0 }), () => null);
  expect(retired).toEqual(['close']);
  control.close();
});

it('closes no worker that is retired and not to close for a minimum of 0', () => {
  jest.useFakeTimers();
  const { control, join, state } = controlled();
  const [retiring, idle] = [join(0), join(1)];
  // It still runs a task.
  state.workers.get(0)!.isReady = true;
  const busy = { unmoved: 0, processingCount: 1 };
  state.core.workers.get = (id: number) =>
    (id === 0 ? busy : undefined) as never;
  const retire = { workers: [0], closes: false };
  control.command(command('retire', retire), () => null);
  control.command(command('adapt', { minimum: 0, maximum: 2 }), () => null);
  jest.advanceTimersByTime(5_000);
  expect(idle).toEqual(['close']);
  busy.processingCount = 0;
  jest.advanceTimersByTime(1_000);
  expect(retiring).toEqual([]);
  control.close();
  jest.useRealTimers();
});
