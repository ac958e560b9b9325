import type { ClusterState } from '../cluster-state';
import type { Roster } from '../roster';
import { WorkerControl, type Command } from '../worker-control';
import type { IWorkerFleet } from '../worker-fleet';

it('starts no workers for a command that comes while the cluster closes', () => {
  const start = jest.fn();
  const fleet = { start, startingCount: 0, threads: 1 };
  const state = { workers: new Map(), core: { workers: { all: [] } } };
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
  control.close();
  const scale: Command = {
    ...{ request: 1, what: 'scale', workers: [], closes: true },
    ...{ count: 5, minimum: 0, maximum: null }
  };
  const answers: string[] = [];
  control.command(scale, (_, sentence) => answers.push(sentence));
  expect(start).not.toHaveBeenCalled();
  expect(answers).toEqual(['The cluster was closed.']);
});
