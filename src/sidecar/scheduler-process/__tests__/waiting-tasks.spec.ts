/** The log's account of what waits: what is written, and when. */
import { WaitReason } from '../../../records/enumerations';
import type { ClusterState } from '../cluster-state';
import { WaitingTasks } from '../waiting-tasks';
import { WaitedCluster } from './waited-cluster';

type Row = {
  reason: WaitReason;
  tasks: number;
  told: string;
  need: string;
  command: string;
};

const row = (
  reason: WaitReason,
  tasks: number,
  told = '',
  need = '',
  command = ''
): Row => ({ reason, tasks, told, need, command });

describe('what the log says of tasks that wait', () => {
  let cluster: WaitedCluster;
  let written: Row[];
  let looks: number;
  let waiting: WaitingTasks;
  let notices: Map<WaitReason, { notice: string; command?: string }>;
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
      { gather: act => act() },
      { look: () => void 0, unseen: () => void 0 }
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
      row(WaitReason.Input, 1),
      row(WaitReason.Thread, 1)
    ]);
    expect(look()).toEqual([]);
    notices.set(WaitReason.Thread, { notice: 'It waits.' });
    notices.set(WaitReason.NoWorker, { notice: 'Nothing waits for this.' });
    expect(look()).toEqual([row(WaitReason.Thread, 1, 'It waits.')]);
    cluster.s.finish(0, 'a');
    cluster.s.finish(0, 'b');
    cluster.s.finish(0, 'c');
    expect(look()).toEqual([
      row(WaitReason.Input, 0),
      row(WaitReason.Thread, 0)
    ]);
    expect(look()).toEqual([]);
  });

  it('is not looked for while nobody would see it, and told anew to who comes', () => {
    cluster.submit('a', { want: 'a' });
    waiting.viewed(false);
    expect(look()).toEqual([]);
    expect(looks).toBe(0);
    waiting.viewed(true);
    expect(look()).toEqual([row(WaitReason.NoWorker, 1)]);
    // Whoever comes is not shown what was so when the last one left.
    written.length = 0;
    waiting.viewed(false);
    expect(written).toEqual([row(WaitReason.NoWorker, 0)]);
    waiting.viewed(true);
    expect(look()).toEqual([row(WaitReason.NoWorker, 1)]);
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
    notices.set(WaitReason.NoWorker, {
      notice: 'x'.repeat(1e6),
      command: 'x'.repeat(1e6)
    });
    const [first] = look();
    expect(first!.told.length).toBeLessThan(2100);
    expect(first!.command).toBe('');
  });

  it('names resources that are needed and missing, some of them, and the command of the notice', () => {
    cluster.join(0, 1);
    const submit = (name: string, resources: Record<string, number>) =>
      cluster.submit(name, {
        want: name,
        restrict: { [name]: { workers: null, allowOther: false, resources } }
      });
    submit('a', { GPU: 1, MEM: 0.5 });
    submit('b', { GPU: 1, MEM: 0.5 });
    submit('c', { TPU: 1 });
    const { NoResource } = WaitReason;
    notices.set(NoResource, { notice: 'It waits.', command: 'start one' });
    expect(look()).toEqual([
      row(NoResource, 3, 'It waits.', 'GPU=1, MEM=0.5; TPU=1', 'start one')
    ]);
    // Another need is another row, though as many tasks wait.
    cluster.s.cancel('c');
    submit('d', { ['n'.repeat(1000)]: 1 });
    const [changed] = look();
    expect(changed!.need).toMatch(/^GPU=1, MEM=0.5; n+ … n+=1$/);
    expect(changed!.need.length).toBeLessThan(310);
    [...'efg'].forEach(name => submit(name, { [name]: 1 }));
    expect(look()[0]!.need).toMatch(/; …$/);
  });

  it('counts of paused and stopped workers as running what they have told', () => {
    const session = cluster.join(0, 2);
    cluster.submit('a b c', { want: 'a b c' });
    expect(look()).toEqual([row(WaitReason.Thread, 1)]);
    cluster.runs('a', 3);
    session.standing = 'stopped';
    expect(look()).toEqual([
      row(WaitReason.Thread, 0),
      row(WaitReason.Paused, 2)
    ]);
    session.standing = 'well';
    session.isPaused = true;
    expect(look()).toEqual([]);
    session.isPaused = false;
    expect(look()).toEqual([
      row(WaitReason.Thread, 1),
      row(WaitReason.Paused, 0)
    ]);
  });
});
