import type { Restriction } from '../../../scheduler';
import { whyNotDone } from '../why-not-done';
import { WaitedCluster } from './waited-cluster';

let cluster: WaitedCluster;
let starting: number;

beforeEach(() => {
  cluster = new WaitedCluster();
  starting = 0;
});

function why(names: string, most?: number): string {
  const tasks = names.split(' ').map(name => cluster.s.id(name));
  return whyNotDone(cluster.state, starting, tasks, most);
}

const nobody = { workers: ['x'], allowOther: false };

function at(worker: number): Restriction {
  return { workers: [worker], allowOther: false };
}

function holding(resources: Record<string, number>): Restriction {
  return { workers: null, allowOther: false, resources };
}

function everywhere(names: string): Record<string, Restriction> {
  return Object.fromEntries(names.split(' ').map(name => [name, nobody]));
}

describe('how far tasks are', () => {
  it('is nothing of those that are done', () => {
    cluster.join(0);
    cluster.submit('a');
    cluster.s.finish(0, 'a');
    expect(why('a')).toBe('');
  });

  it('is where one runs and for how long, once its worker has told of it', () => {
    cluster.join(3);
    cluster.submit('a');
    expect(why('a')).toMatch(
      /^a was given to worker-3 0\.\d s ago and may run there by now\.$/
    );
    cluster.s.pass(58);
    cluster.runs('a', 58);
    expect(why('a')).toBe('a has run for 58 s on worker-3.');
    // What was told of an earlier run of it is out of date.
    cluster.s.cancel('a');
    cluster.submit('a2');
    expect(why('a2')).not.toContain('has run');
  });

  it('is at once that one waits for a thread which another has', () => {
    cluster.join(0);
    cluster.submit('a');
    cluster.runs('a', 0.5);
    cluster.submit('b');
    expect(why('b')).toBe(
      'b waits at worker-0 for a thread. The only thread of the cluster is held by 1 other task (a).'
    );
  });

  it('is what the only input does', () => {
    cluster.join(0);
    cluster.submit('a -> b', { want: 'b' });
    cluster.runs('a', 2);
    expect(why('b')).toBe(
      'b waits for a, which has run for 2.0 s on worker-0.'
    );
  });

  it('is how many run, how many more are at workers, and which runs longest', () => {
    cluster.join(0, 2);
    cluster.submit('a b c d -> z', { want: 'z' });
    const given = 'abcd'
      .split('')
      .filter(name => cluster.s.state(name) === 'Processing');
    expect(given.length).toBeGreaterThan(2);
    const others =
      given.length === 3
        ? '1 more waits at a worker'
        : '2 more wait at workers';
    // No worker has told yet of what runs there.
    expect(why('z')).toBe(
      `z waits for 4 tasks; of these 2 are at workers and may run there by now, and ${others}.`
    );
    cluster.runs('a', 3);
    expect(why('z')).toBe(
      'z waits for 4 tasks; of these 1 runs, 1 more is at a worker and may run there by now, ' +
        `and ${others}; a has run longest, for 3.0 s on worker-0.`
    );
    cluster.runs('b', 12, 1);
    expect(why('z')).toBe(
      `z waits for 4 tasks; of these 2 run, and ${others}; b has run longest, for 12 s on worker-0.`
    );
    expect(why('z a')).toContain(
      `They wait for 3 others; of all these 2 run, and ${others}; b has run longest`
    );
    expect(why('a b')).toMatch(/^Of them 2 run; b has run longest/);
  });

  it('is that tasks wait at workers for their inputs, however many threads are free', () => {
    cluster.join(0, 4);
    cluster.join(1, 4);
    cluster.submit('a b', { want: 'a b', restrict: { a: at(0), b: at(1) } });
    cluster.s.finish(0, 'a');
    cluster.s.finish(1, 'b');
    cluster.submit('a b -> c', { want: 'c', restrict: { c: at(0) } });
    cluster.submit('a b -> d', { want: 'd', restrict: { d: at(0) } });
    expect(why('c d')).toBe('Of them 2 wait at workers.');
  });

  it('is what is left of a graph that is not whole yet', () => {
    cluster.join(0);
    cluster.submit('a -> b', { want: 'b', last: false });
    expect(why('b')).toMatch(
      /^b waits for a|^b waits for the rest of its graph/
    );
  });

  it('is told of so many tasks at most', () => {
    cluster.submit('a -> b -> c -> d -> e', { want: 'e' });
    expect(why('e')).toMatch(/^e waits for 4 tasks, none of which/);
    expect(why('e', 3)).toMatch(/^e waits for more than 2 tasks, none of/);
  });

  it('is told of so many inputs of one task at most', () => {
    const names = Array.from({ length: 100 }, (_, i) => `a${i}`).join(' ');
    cluster.submit(`${names} -> z`, { want: 'z' });
    expect(why('z', 10)).toMatch(/^z waits for more than 9 tasks, none of/);
    expect(why('z', 101)).toMatch(/^z waits for 100 tasks, none of/);
    expect(why('z', 102)).toMatch(/^z waits for 100 tasks, none of/);
    expect(why('z', 2)).toMatch(/^z waits for more than 1 task, none of/);
  });

  it('is told of after a look at so many inputs that are done', () => {
    const names = Array.from({ length: 99 }, (_, i) => `a${i}`);
    cluster.join(0, 100);
    cluster.submit(`${names.join(' ')} b -> z`, { want: 'z' });
    cluster.s.finish(0, names.join(' '));
    expect(why('z', 2)).toMatch(/^z waits for b/);
    expect(why('z', 1)).toBe('z waits for its inputs.');
  });

  it('is told in numbers that can be read', () => {
    const names = Array.from({ length: 1200 }, (_, i) => `a${i}`).join(' ');
    cluster.submit(`${names} -> z`, { want: 'z' });
    expect(why('z')).toMatch(/^z waits for 1,200 tasks, none of which/);
  });

  it('cuts keys', () => {
    const long = 'k'.repeat(300);
    cluster.submit(long, { want: long });
    expect(why(long)).toMatch(/^k{200}… waits for a worker\./);
  });
});

describe('what keeps tasks back', () => {
  it('is that there is no worker', () => {
    cluster.submit('a');
    const none =
      'a waits for a worker. The cluster has no worker that takes tasks';
    expect(why('a')).toBe(`${none}: client.scale(1), or more, starts some.`);
    starting = 2;
    expect(why('a')).toBe(`${none}. 2 more are being started.`);
    cluster.session(7).isReady = false;
    expect(why('a')).toBe(`${none}. worker-7 is still setting up plugins.`);
  });

  it('is that all are to leave', () => {
    cluster.join(0);
    cluster.s.handle({ type: 'workerRetires', at: 1, worker: 0 });
    cluster.submit('a');
    expect(why('a')).toContain('no worker that takes tasks: client.scale(1)');
  });

  it('is that workers= and resources= leave none', () => {
    cluster.join(0, 1, ['y'], { GPU: 1 });
    const many = ['u', 'v', 'w', 'x', 'y2'];
    cluster.submit('a b c d', {
      want: 'a b c d',
      restrict: {
        a: nobody,
        d: { workers: many, allowOther: false },
        b: { workers: null, allowOther: false, resources: { GPU: 2 } },
        c: { workers: [4, 'x'], allowOther: false, resources: { FPGA: 1 } }
      }
    });
    const start =
      'In a terminal, `spanwise worker unix:/tmp/one/scheduler.sock';
    expect(why('a')).toBe(
      `a waits for a worker. No worker that takes tasks is named by workers=['x'], as a needs it. ${start} --name x\` starts one.`
    );
    expect(why('b')).toBe(
      `b waits for a worker. No worker that takes tasks has GPU=2, as b needs it. ${start} --resources GPU=2\` starts one.`
    );
    expect(why('c')).toContain(
      "No worker that takes tasks has FPGA=1 and is named by workers=[4, 'x'], as c needs it."
    );
    expect(why('d')).toContain(
      "No worker that takes tasks is named by workers=['u', 'v', 'w', …], as d needs it."
    );
    expect(why('a b')).toMatch(/^Of them none is at a worker\. No worker/);
  });

  it('are tasks that were given up and still run', () => {
    cluster.join(0, 2);
    cluster.submit('a b', { want: 'a b' });
    cluster.s.cancel('a');
    cluster.submit('c');
    cluster.s.pass(5);
    cluster.hear();
    cluster.runs('b', 5);
    const former = '1 task that was cancelled or released and still runs (a)';
    expect(why('c')).toContain(
      `All 2 threads of the cluster are held by ${former} and 1 other task (b). A thread cannot be stopped: ` +
        'client.restart_workers(["worker-0"]) ends what it runs.'
    );
    // Who waits for b too holds that thread himself.
    expect(why('c b')).toContain(
      `1 of the 2 threads of the cluster is held by ${former}. A thread`
    );
    cluster.s.cancel('b');
    cluster.s.pass(5);
    cluster.hear();
    expect(why('c')).toContain(
      'All 2 threads of the cluster are held by 2 tasks that were cancelled or released and still run (a, b).'
    );
  });

  it('are tasks of which their worker has not said yet whether it had begun them', () => {
    cluster.join(0);
    cluster.submit('a b c', { want: 'a b c' });
    cluster.s.cancel('a b c');
    cluster.submit('d');
    // (one thread runs one task, however many were sent ahead)
    expect(cluster.s.scheduler.workers.get(0)!.lingering.size).toBe(2);
    cluster.s.pass(5);
    const begin = 'The only thread of the cluster is held by 1 task that was';
    expect(why('d')).toContain(
      `${begin} cancelled or released and may still run (a).`
    );
    cluster.hear();
    expect(why('d')).toContain(
      `${begin} cancelled or released and still runs (a).`
    );
    // Nor does it run one if it has said that another does.
    cluster.join(1);
    cluster.submit('e', { restrict: { e: at(1) } });
    cluster.runs('e', 1);
    cluster.submit('f g', {
      want: 'f g',
      restrict: { f: at(1), g: at(1) }
    });
    cluster.s.cancel('f');
    cluster.s.pass(5);
    expect(why('g')).toContain(
      'The only thread of worker-1 is held by 1 other task (e).'
    );
  });

  it('are not tasks that have seceded, until they have a thread again', () => {
    cluster.join(0);
    cluster.submit('o');
    cluster.runs('o', 5);
    cluster.s.secede(0, 'o');
    cluster.submit('d');
    cluster.runs('d', 4, 1);
    cluster.submit('i', { within: 'o' });
    cluster.s.pass(5);
    expect(why('i')).toBe(
      'i waits at worker-0 for a thread. The only thread of the cluster is held by 1 other task (d).'
    );
    expect(why('o i')).toContain('o has run longest');
    cluster.s.finish(0, 'd');
    cluster.s.secede(0, 'o', true);
    expect(why('i')).toContain('is held by 1 other task (o).');
  });

  it('are those that run before it where it has its resources already', () => {
    cluster.join(0, 1, [], { GPU: 1 });
    cluster.submit('a');
    cluster.runs('a', 5);
    cluster.submit('b', { restrict: { b: holding({ GPU: 1 }) } });
    cluster.s.pass(5);
    expect(cluster.s.state('b')).toBe('Processing');
    expect(why('b')).toBe(
      'b waits at worker-0 for a thread. The only thread of the cluster is held by 1 other task (a).'
    );
  });

  it('are those that hold what is short, of all that it needs', () => {
    cluster.join(0, 4, [], { GPU: 1, disk: 9 });
    cluster.submit('a b c', {
      want: 'a b c',
      restrict: {
        a: holding({ disk: 1 }),
        b: holding({ GPU: 1 }),
        c: holding({ GPU: 1, disk: 1 })
      }
    });
    expect(why('c')).toBe('c waits for GPU=1. GPU is held by 1 task (b).');
    // Another one with each worker: of each what is short there.
    cluster.join(1, 4, [], { GPU: 9, disk: 1 });
    expect(cluster.s.state('c')).toBe('Processing');
    cluster.submit('d', {
      restrict: { d: holding({ GPU: 1, disk: 1 }) }
    });
    expect(why('d')).toBe(
      'd waits for GPU=1, disk=1. GPU, disk are held by 2 tasks (b, c).'
    );
  });

  it('are those at all workers that may run it', () => {
    [0, 1, 2].forEach(id => cluster.join(id, 1, ['x']));
    cluster.join(3);
    cluster.submit('a b c', { want: 'a b c', restrict: everywhere('a b c') });
    cluster.submit('d', { restrict: everywhere('d') });
    cluster.s.pass(5);
    'a b c'.split(' ').forEach(name => cluster.runs(name, 5));
    expect(why('d')).toContain(
      'All 3 threads of the 3 workers that may run it are held by 3 other tasks (a, b, c).'
    );
  });

  it('are only those at workers that may run it', () => {
    cluster.join(0, 1, ['one']);
    cluster.join(1, 1, ['two']);
    cluster.submit('a b', { want: 'a b' });
    cluster.s.cancel('a b');
    cluster.submit('c', {
      restrict: { c: { workers: ['two'], allowOther: false } }
    });
    cluster.s.pass(5);
    expect(why('c')).toContain('The only thread of worker-1 is held by 1 task');
  });

  it('are those that have what it needs', () => {
    cluster.join(0, 4, [], { GPU: 1 });
    const gpu = { workers: null, allowOther: false, resources: { GPU: 1 } };
    cluster.submit('a', { restrict: { a: gpu } });
    cluster.submit('b', { restrict: { b: gpu } });
    expect(why('b')).toBe('b waits for GPU=1. GPU is held by 1 task (a).');
    cluster.s.cancel('a');
    const former = 'GPU is held by 1 task that was cancelled or released and';
    const remedy =
      'A thread cannot be stopped: client.restart_workers(["worker-0"]) ends what it runs.';
    expect(why('b')).toBe(
      `b waits for GPU=1. ${former} may still run (a). ${remedy}`
    );
    cluster.s.pass(5);
    cluster.hear();
    expect(why('b')).toBe(
      `b waits for GPU=1. ${former} still runs (a). ${remedy}`
    );
  });

  it('are both those that somebody waits for and those that nobody does', () => {
    cluster.join(0, 4, [], { GPU: 3 });
    cluster.submit('a b c', {
      want: 'a b c',
      restrict: {
        a: holding({ GPU: 1 }),
        b: holding({ GPU: 1 }),
        c: holding({ GPU: 1 })
      }
    });
    cluster.s.cancel('a b');
    cluster.submit('d', { restrict: { d: holding({ GPU: 2 }) } });
    cluster.s.pass(5);
    cluster.hear();
    expect(why('d')).toContain(
      'GPU is held by 2 tasks that were cancelled or released and still run (a, b) and 1 task (c). A thread cannot'
    );
  });

  it('is that workers are full, or stopped', () => {
    const one = cluster.join(0);
    cluster.s.pause(0);
    Object.assign(one, { isPaused: true, whyPaused: '9 of 10 MiB are in use' });
    cluster.submit('a');
    expect(why('a')).toBe(
      'a waits for a worker that begins tasks. worker-0 begins no task, for it is short of memory: 9 of 10 MiB are in use.'
    );
    one.standing = 'stopped';
    expect(why('a')).toBe(
      'a waits for a worker that begins tasks. worker-0 is stopped (SIGSTOP or a debugger): continue it, or ' +
        'client.restart_workers(["worker-0"]) replaces it.'
    );
    one.standing = 'silent';
    expect(why('a')).toMatch(
      / worker-0 says nothing, and does nothing that can be seen: client\.restart_workers\(\["worker-0"\]\) replaces it\.$/
    );
  });

  it('is said once of workers that are stopped, of those that have tasks and those that would get some', () => {
    const sessions = [2, 1, 0].map(id => cluster.join(id));
    cluster.submit('a b c', { want: 'a b c' });
    [0, 1, 2].forEach(id => cluster.s.pause(id));
    sessions.forEach(each => (each.standing = 'stopped'));
    cluster.submit('d');
    expect(why('a b c d')).toMatch(
      /by now\. worker-0, worker-1, worker-2 are stopped \(SIGSTOP or a debugger\): continue them, or client\.restart_workers\(\["worker-0", "worker-1", "worker-2"\]\) replaces them\.$/
    );
    sessions[1]!.standing = 'well';
    Object.assign(sessions[1]!, { isPaused: true, whyPaused: 'it is' });
    expect(why('a b c d')).toMatch(
      / worker-0, worker-2 are stopped .* replaces them\. worker-1 begins no task, for it is short of memory: it is\.$/
    );
  });
});
