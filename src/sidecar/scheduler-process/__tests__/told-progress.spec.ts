/** The log's account of how far tasks are: what is written, and when. */
import type { ClusterState } from '../cluster-state';
import { ToldProgress } from '../told-progress';
import { WaitedCluster } from './waited-cluster';

type Row = Readonly<
  Record<
    'function' | 'within' | 'done' | 'memory' | 'running' | 'waiting',
    number
  >
> & { readonly failed: number; readonly dropped: number };

describe('what the log says of how far tasks are', () => {
  let cluster: WaitedCluster;
  let written: string[];
  let progress: ToldProgress;

  beforeEach(() => {
    cluster = new WaitedCluster();
    written = [];
    progress = new ToldProgress(
      {
        ...cluster.state,
        tallies: {
          functionOf: (tally: number) => 100 + tally,
          spanOf: (tally: number) => 200 + tally
        },
        log: {
          progress: (_: number, rows: readonly Row[]) =>
            written.push(...rows.map(text)),
          progressUntold: () => written.push('not kept up')
        }
      } as unknown as ClusterState,
      { gather: act => act() }
    );
  });

  /** "a: 1 done (1 kept), 1 waiting" */
  function text(row: Row): string {
    const name = String.fromCharCode(96 + row.function - 100);
    expect(row.within).toBe(row.function + 100);
    const counts = (
      ['done', 'running', 'waiting', 'failed', 'dropped'] as const
    ).flatMap(count => (row[count] === 0 ? [] : [`${row[count]} ${count}`]));
    const kept = row.memory === 0 ? '' : `, ${row.memory} kept`;
    return `${name}: ${counts.join(', ')}${kept}`;
  }

  function look(): string[] {
    written.length = 0;
    progress.look();
    return [...written];
  }

  it('is what has changed, from their submission to their end, and after it', () => {
    expect(look()).toEqual([]);
    cluster.join(0, 1);
    cluster.submit('a1 a2 -> b', { want: 'a1 a2 b' });
    expect(look()).toEqual(['a: 1 running, 1 waiting', 'b: 1 waiting']);
    cluster.runs('a1', 3);
    expect(look()).toEqual([]);
    cluster.s.finish(0, 'a1');
    expect(look()).toEqual(['a: 1 done, 1 running, 1 kept']);
    expect(look()).toEqual([]);
    cluster.s.fail(0, 'a2');
    expect(look()).toEqual(['a: 1 done, 1 failed, 1 kept', 'b: 1 failed']);
    // Forgotten tasks are as far as they came.
    cluster.s.release('a1 a2 b');
    expect(look()).toEqual(['a: 1 done, 1 failed']);
  });

  it('has a task for each thread of a worker that has so many, whatever of it the worker has told', () => {
    // Workers tell of runs that last, and most do not: between two of them a thread stood empty.
    cluster.join(0, 2);
    cluster.submit('a1 a2 a3 b1', { want: 'a1 a2 a3 b1' });
    expect(look()).toEqual(['a: 2 running, 1 waiting', 'b: 1 waiting']);
    // It has begun another one than was taken for begun.
    cluster.runs('b1', 0.2);
    expect(look()).toEqual(['a: 1 running, 2 waiting', 'b: 1 running']);
    // One that has seceded leaves its thread to the next.
    cluster.s.secede(0, 'b1');
    expect(look()).toEqual(['a: 2 running, 1 waiting']);
    // A worker that begins nothing has what it has told.
    cluster.sessions.get(0)!.isPaused = true;
    expect(look()).toEqual(['a: 3 waiting']);
  });

  it('tells of tasks that were given up before they ran, and of those that run again', () => {
    cluster.join(0, 1);
    cluster.submit('a -> b', { want: 'b' });
    cluster.submit('c', { want: 'c' });
    cluster.s.finish(0, 'a');
    cluster.s.cancel('c');
    expect(look()).toEqual([
      'a: 1 done, 1 kept',
      'b: 1 waiting',
      'c: 1 dropped'
    ]);
    // Its result is lost, and needed.
    cluster.s.leave(0, 'died');
    expect(look()).toEqual(['a: 1 waiting']);
  });

  it('is told anew to who comes, once nobody has looked', () => {
    progress.unseen();
    expect(written).toEqual([]);
    cluster.submit('a', { want: 'a' });
    look();
    progress.unseen();
    expect(written).toEqual(['a: 1 waiting', 'not kept up']);
    progress.unseen();
    expect(written).toHaveLength(2);
    expect(look()).toEqual(['a: 1 waiting']);
  });
});
