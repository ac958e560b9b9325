import { ClusterState } from '../cluster-state';
import { deathSentence } from '../death-sentence';
import { WorkerSession } from '../worker-session';

function ended(
  memoryLimit: number,
  process: number,
  managed = 0,
  isOutOfMemory = false
): string {
  const cluster = new ClusterState(
    () => 0,
    0,
    () => undefined
  );
  const session = new WorkerSession(
    {} as WorkerSession['link'],
    { worker: 3, threads: 2, memoryLimit } as WorkerSession['intro']
  );
  session.isOutOfMemory = isOutOfMemory;
  session.memory = { process, managed, spilled: 0, unmanagedOld: 0 };
  return deathSentence(cluster, session, 'was ended by SIGKILL');
}

describe('how a worker ended', () => {
  it('is said with what it last used of how much', () => {
    expect(ended(2 ** 30, 2 ** 29, 2 ** 20)).toBe(
      '(worker 3) was ended by SIGKILL. It last used 512 MiB of the 1.00 GiB that it might use (1.00 MiB of it results)'
    );
  });

  it('is said without a limit, and before anything was measured', () => {
    expect(ended(0, 2 ** 29)).toBe(
      '(worker 3) was ended by SIGKILL. It last used 512 MiB, without a limit (0 B of it results)'
    );
    expect(ended(0, 0)).toBe('(worker 3) was ended by SIGKILL');
  });

  it('is said with what can be done where its own limit ended it', () => {
    const advice = 'Client(memory_limit=…)';
    expect(ended(2 ** 30, 2 ** 31, 0, true)).toContain(advice);
    expect(ended(2 ** 30, 2 ** 29)).not.toContain(advice);
  });
});
