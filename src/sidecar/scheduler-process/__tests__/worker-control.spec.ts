import { SchedulerFixture } from '../../../testing/scheduler-fixture';
import type { ClusterState } from '../cluster-state';
import type { Roster } from '../roster';
import { WorkerControl, type Command } from '../worker-control';
import type { IWorkerFleet } from '../worker-fleet';

const command = (what: Command['what'], fields: Partial<Command>): Command => ({
  ...{ request: 1, what, workers: [], closes: true },
  ...{ count: 0, minimum: 0, maximum: null, ...fields }
});

/** Control over a fleet that only counts what it starts. */
function controlled() {
  const start = jest.fn();
  const fleet = { start, startingCount: 0, threads: 1 };
  const { scheduler } = new SchedulerFixture();
  const state = { workers: new Map(), core: scheduler };
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
  return { control, start };
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
