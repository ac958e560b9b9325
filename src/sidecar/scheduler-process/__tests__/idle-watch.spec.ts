import { ClientTurns } from '../../../scheduler/client-turns';
import { TaskTable } from '../../../scheduler/task-table';
import { WorkerRecord } from '../../../scheduler/worker-table';
import type { ClusterState } from '../cluster-state';
import { IdleWatch, idleTime } from '../idle-watch';

describe('IdleWatch', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function made(seconds: number): {
    core: { queuedCount: number; unplacedCount: number; stepsAhead: number };
    busy: WorkerRecord;
    host: { clientsSeen: number; isHeld: boolean };
    ended: number[];
    watch: IdleWatch;
  } {
    const busy = new WorkerRecord(
      0,
      1,
      0,
      'here',
      new ClientTurns(new TaskTable())
    );
    const core = {
      queuedCount: 0,
      unplacedCount: 0,
      stepsAhead: 0,
      workers: { all: [busy] }
    };
    const ended: number[] = [];
    const host = {
      clientsSeen: 0,
      isHeld: false,
      gather: (act: () => void) => act(),
      idleTooLong: () => ended.push(performance.now() / 1000)
    };
    const cluster = { core, clock: () => performance.now() / 1000 };
    const watch = new IdleWatch(
      cluster as unknown as ClusterState,
      host,
      seconds
    );
    return { core, busy, host, ended, watch };
  }

  it('ends a cluster after the time, once', () => {
    const { ended } = made(10);
    jest.advanceTimersByTime(100_000);
    expect(ended).toHaveLength(1);
    expect(ended[0]).toBeGreaterThanOrEqual(10);
    expect(ended[0]).toBeLessThan(12.5);
  });

  it('never ends one without a limit, or that was closed', () => {
    const { ended } = made(0);
    const closed = made(10);
    closed.watch.close();
    jest.advanceTimersByTime(1e6);
    expect([...ended, ...closed.ended]).toEqual([]);
  });

  it.each([
    'queuedCount',
    'unplacedCount',
    'processingCount',
    'secededCount'
  ] as const)('%s keeps it', name => {
    const { core, busy, ended } = made(10);
    const at = name in core ? core : busy;
    (at as unknown as Record<string, number>)[name] = 1;
    jest.advanceTimersByTime(60_000);
    expect(ended).toEqual([]);
    (at as unknown as Record<string, number>)[name] = 0;
    jest.advanceTimersByTime(13_000);
    expect(ended).toHaveLength(1);
  });

  it('a task that has ended, and a client that comes or goes, begin the time anew', () => {
    const { core, host, ended } = made(10);
    for (let i = 0; i < 10; i++) {
      jest.advanceTimersByTime(5_000);
      core.stepsAhead += i % 2;
      host.clientsSeen += 1 - (i % 2);
    }
    expect(ended).toEqual([]);
  });

  it('what is held keeps it', () => {
    const { host, ended } = made(10);
    host.isHeld = true;
    jest.advanceTimersByTime(60_000);
    expect(ended).toEqual([]);
    host.isHeld = false;
    jest.advanceTimersByTime(13_000);
    expect(ended).toHaveLength(1);
  });

  it('says times as people do', () => {
    expect([1800, 90, 0.5, 60].map(idleTime)).toEqual([
      '30 min',
      '90 s',
      '0.5 s',
      '1 min'
    ]);
  });
});
