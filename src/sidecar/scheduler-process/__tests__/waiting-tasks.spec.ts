/** The log's account of what waits: what is written, and when. */
import { WaitReason } from '../../../records/enumerations';
import type { ClusterState } from '../cluster-state';
import { WaitingTasks } from '../waiting-tasks';
import { WaitedCluster } from './waited-cluster';

type Row = { reason: WaitReason; tasks: number; told: string };

describe('what the log says of tasks that wait', () => {
  let cluster: WaitedCluster;
  let written: Row[];
  let looks: number;
  let waiting: WaitingTasks;
  let notices: Map<WaitReason, string>;
  /** Seconds, and how many of them a look takes. */
  let now: number;
  let takes: number;

  beforeEach(() => {
    cluster = new WaitedCluster();
    written = [];
    looks = 0;
    notices = new Map();
    [now, takes] = [0, 0];
    const { state } = cluster;
    waiting = new WaitingTasks(
      {
        ...state,
        clock: () => now,
        log: {
          waiting: (_: number, rows: readonly Row[]) => written.push(...rows)
        }
      } as unknown as ClusterState,
      { gather: act => act() }
    );
  });

  /** Looks, and returns what was written. */
  function look(): Row[] {
    written.length = 0;
    waiting.look(() => {
      looks++;
      now += takes;
      return notices;
    });
    return [...written];
  }

  it('is what has changed, and nothing as long as nothing has waited', () => {
    expect(look()).toEqual([]);
    cluster.join(0, 1);
    cluster.submit('a b -> c', { want: 'a b c' });
    expect(look()).toEqual([
      { reason: WaitReason.Input, tasks: 1, told: '' },
      { reason: WaitReason.Thread, tasks: 1, told: '' }
    ]);
    expect(look()).toEqual([]);
    notices.set(WaitReason.Thread, 'It waits.');
    notices.set(WaitReason.NoWorker, 'Nothing waits for this.');
    expect(look()).toEqual([
      { reason: WaitReason.Thread, tasks: 1, told: 'It waits.' }
    ]);
    cluster.s.finish(0, 'a');
    cluster.s.finish(0, 'b');
    cluster.s.finish(0, 'c');
    expect(look()).toEqual([
      { reason: WaitReason.Input, tasks: 0, told: '' },
      { reason: WaitReason.Thread, tasks: 0, told: '' }
    ]);
    expect(look()).toEqual([]);
  });

  it('is not looked for while nobody would see it, and told anew to who comes', () => {
    cluster.submit('a', { want: 'a' });
    waiting.viewed(false);
    expect(look()).toEqual([]);
    expect(looks).toBe(0);
    waiting.viewed(true);
    expect(look()).toEqual([
      { reason: WaitReason.NoWorker, tasks: 1, told: '' }
    ]);
    // Whoever comes is not shown what was so when the last one left.
    written.length = 0;
    waiting.viewed(false);
    expect(written).toEqual([
      { reason: WaitReason.NoWorker, tasks: 0, told: '' }
    ]);
    waiting.viewed(true);
    expect(look()).toEqual([
      { reason: WaitReason.NoWorker, tasks: 1, told: '' }
    ]);
    waiting.viewed(false);
    cluster.s.cancel('a');
    waiting.viewed(true);
    expect(look()).toEqual([]);
  });

  it('is looked for the more seldom the longer that takes, and at once for who comes', () => {
    cluster.submit('a', { want: 'a' });
    takes = 0.2;
    // What took long once only was interrupted.
    look();
    look();
    expect(looks).toBe(2);
    for (let second = 0; second < 9; second++) {
      now += 1;
      look();
    }
    expect(looks).toBe(2);
    now += 1.1;
    look();
    expect(looks).toBe(3);
    waiting.viewed(false);
    waiting.viewed(true);
    look();
    expect(looks).toBe(4);
  });

  it('is as long as one can read, however long the notice is', () => {
    cluster.submit('a', { want: 'a' });
    notices.set(WaitReason.NoWorker, 'x'.repeat(1e6));
    const [row] = look();
    expect(row!.told.length).toBeLessThan(2100);
  });

  it('counts of paused and stopped workers as running what they have told', () => {
    const session = cluster.join(0, 2);
    cluster.submit('a b c', { want: 'a b c' });
    expect(look()).toEqual([{ reason: WaitReason.Thread, tasks: 1, told: '' }]);
    cluster.runs('a', 3);
    session.standing = 'stopped';
    expect(look()).toEqual([
      { reason: WaitReason.Thread, tasks: 0, told: '' },
      { reason: WaitReason.Paused, tasks: 2, told: '' }
    ]);
    session.standing = 'well';
    session.isPaused = true;
    expect(look()).toEqual([]);
    session.isPaused = false;
    expect(look()).toEqual([
      { reason: WaitReason.Thread, tasks: 1, told: '' },
      { reason: WaitReason.Paused, tasks: 0, told: '' }
    ]);
  });
});
