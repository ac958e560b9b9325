import type { Restriction } from '../../../scheduler';
import { WaitedCluster } from './waited-cluster';
import type { ClusterState } from '../cluster-state';
import { workerCommand } from '../worker-command';

/** For a task that waits so, in a cluster that has a worker named x. */
function command(
  restriction: Partial<Restriction>,
  address = 'tcp://127.0.0.1:8786'
): string | null {
  const cluster = new WaitedCluster();
  cluster.join(0, 1, ['x']);
  cluster.submit('a', {
    want: 'a',
    restrict: { a: { workers: null, allowOther: false, ...restriction } }
  });
  const state = { ...cluster.state, address } as ClusterState;
  return workerCommand(state, cluster.s.id('a'));
}

describe('the command that starts a worker', () => {
  it('has what the task needs, as the shell reads it', () => {
    expect(command({ resources: { GPU: 0.5 } })).toBe(
      'spanwise worker tcp://127.0.0.1:8786 --resources GPU=0.5'
    );
    expect(command({ resources: { "it's": 1, $b: 2 } }, '/tmp/my files')).toBe(
      "spanwise worker '/tmp/my files' --resources '$b=2 it'\\''s=1'"
    );
    expect(command({ workers: [7, 'x', 'y'] })).toBe(
      'spanwise worker tcp://127.0.0.1:8786 --name y'
    );
  });

  it.each<Partial<Restriction>>([
    { resources: { 'a b': 1 } },
    { resources: { 'a=b': 1 } },
    // A worker that is there has the name, or no worker can be given it.
    { workers: ['x'], resources: { GPU: 1 } },
    { workers: [4, 'worker-4', '127.0.0.1:80', 'unix:/tmp/a'] }
  ])('is none for %j', restriction => {
    expect(command(restriction)).toBeNull();
  });
});
