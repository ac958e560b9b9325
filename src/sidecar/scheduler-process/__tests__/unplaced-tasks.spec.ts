import type { DenseTaskId } from '../../../records/ids';
import { SchedulerFixture } from '../../../testing/scheduler-fixture';
import type { ClusterState } from '../cluster-state';
import { UnplacedTasks } from '../unplaced-tasks';

/** A cluster whose tasks are submitted and whose workers come and go, with a clock of its own. */
class Unplaced {
  readonly told: string[] = [];
  readonly s = new SchedulerFixture();
  /** Workers that have come and set up plugins. */
  preparing = 0;
  readonly fleet = { startingCount: 0 };
  private _now = 0;
  private readonly _tasks: UnplacedTasks;

  constructor() {
    const { s } = this;
    const preparing = { isReady: false, leaving: null };
    const workers = { values: () => Array(this.preparing).fill(preparing) };
    this._tasks = new UnplacedTasks(
      {
        address: 'unix:/tmp/one/scheduler.sock',
        core: s.scheduler,
        workers,
        keyOf: (task: number) => `key-${task}`
      } as unknown as ClusterState,
      {
        fleet: this.fleet as never,
        warn: sentence => this.told.push(sentence)
      }
    );
  }

  /** What is told again to who waits for these tasks. */
  standing(...tasks: readonly number[]): string {
    return this._tasks.standing(tasks as DenseTaskId[]);
  }

  /** Lets time pass, and returns what was told meanwhile. */
  pass(seconds: number): string[] {
    this.told.length = 0;
    for (let i = 0; i < seconds; i++) {
      this._tasks.look(this._now++);
    }
    return [...this.told];
  }
}

describe('tasks without a worker', () => {
  it('are told once as long as there is none, however many come, and again when that was over', () => {
    const cluster = new Unplaced();
    expect(cluster.pass(100)).toEqual([]);
    cluster.s.submit('a', { want: 'a' });
    expect(cluster.pass(3)).toEqual([]);
    expect(cluster.pass(1)).toEqual([
      'The task key-0 waits, and the cluster has no worker that takes tasks. ' +
        'It runs when one comes: client.scale(1), or more, starts some. ' +
        'Else cancel what waits (while a cell waits for it, interrupt the kernel first).'
    ]);
    cluster.s.submit('b c', { want: 'b c' });
    expect(cluster.pass(100)).toEqual([]);
    cluster.s.join(0);
    expect(cluster.pass(100)).toEqual([]);
    cluster.s.leave(0);
    expect(cluster.pass(3)).toEqual([]);
    expect(cluster.pass(100)).toEqual([
      expect.stringMatching(/^3 tasks, key-\d among them, wait, and the/)
    ]);
  });

  it('are told of again to who waits for them, once they were told of and while there is none', () => {
    const cluster = new Unplaced();
    cluster.s.submit('a', { want: 'a' });
    cluster.pass(3);
    expect(cluster.standing(0)).toBe('');
    cluster.pass(3);
    expect(cluster.standing(0)).toMatch(/^The task key-0 waits, and the/);
    expect(cluster.standing()).toBe('');
    cluster.s.join(0);
    expect(cluster.standing(0)).toBe('');
  });

  it('are told again if workers came and went between two looks', () => {
    const cluster = new Unplaced();
    cluster.s.submit('a', { want: 'a' });
    expect(cluster.pass(6)).toHaveLength(1);
    cluster.s.join(0);
    cluster.s.finish(0, 'a');
    cluster.s.leave(0, 'closed');
    cluster.s.submit('b', { want: 'b' });
    expect(cluster.pass(3)).toEqual([]);
    expect(cluster.pass(100)).toHaveLength(1);
  });

  it('are told of while the only worker stays without taking tasks', () => {
    const cluster = new Unplaced();
    cluster.s.join(0);
    cluster.s.handle({ type: 'workerRetires', at: 1, worker: 0 });
    cluster.s.submit('a', { want: 'a' });
    expect(cluster.pass(6)).toEqual([
      expect.stringContaining('no worker that takes tasks')
    ]);
  });

  it('are told apart from those that workers= keeps from all workers', () => {
    const cluster = new Unplaced();
    cluster.s.join(0);
    cluster.s.submit('a', {
      want: 'a',
      restrict: { a: { workers: ['nobody'], allowOther: false } }
    });
    expect(cluster.pass(6)).toEqual([
      'The task key-0 waits for a worker that is not there: the cluster has none that workers= names and that takes tasks. ' +
        'It runs when such a worker joins (in a terminal, `spanwise worker unix:/tmp/one/scheduler.sock --name nobody` starts one); ' +
        'otherwise cancel what waits (while a cell waits for it, interrupt the kernel first) and submit it again.'
    ]);
    expect(cluster.pass(100)).toEqual([]);
    // To start one, as `adapt` does, would be no help: that is not advised.
    cluster.s.leave(0);
    expect(cluster.pass(100)).toEqual([]);
    cluster.s.submit('b', { want: 'b' });
    expect(cluster.pass(6)).toEqual([
      expect.stringContaining('no worker that takes tasks')
    ]);
  });

  it('are told of with the command that starts a worker with their resources', () => {
    const cluster = new Unplaced();
    cluster.s.join(0);
    cluster.s.submit('a', {
      want: 'a',
      restrict: {
        a: { workers: null, allowOther: false, resources: { GPU: 1, MEM: 4e9 } }
      }
    });
    expect(cluster.pass(6)).toEqual([
      'The task key-0 waits for a worker that is not there: the cluster has none that has GPU=1, MEM=4000000000 and takes tasks. ' +
        "It runs when such a worker joins (in a terminal, `spanwise worker unix:/tmp/one/scheduler.sock --resources 'GPU=1 MEM=4000000000'` " +
        'starts one); otherwise cancel what waits (while a cell waits for it, interrupt the kernel first) and submit it again.'
    ]);
  });

  it('are not told of while a worker starts, unless none comes for a minute', () => {
    const cluster = new Unplaced();
    cluster.s.submit('a', { want: 'a' });
    cluster.fleet.startingCount = 1;
    expect(cluster.pass(60)).toEqual([]);
    expect(cluster.pass(100)).toEqual([
      expect.stringContaining('none of the workers that are being started')
    ]);
    // It has come, and sets up plugins: those are told of elsewhere.
    cluster.fleet.startingCount = 0;
    cluster.preparing = 1;
    expect(cluster.pass(100)).toEqual([]);
    cluster.preparing = 0;
    expect(cluster.pass(6)).toHaveLength(1);
  });
});
