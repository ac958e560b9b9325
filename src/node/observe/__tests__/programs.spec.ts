/** Whole programs that are observed: several at once, one that computes for long, and how they end. */
import { CompiledPrograms } from '../../../testing/compiled-programs';
import { FakeJupyter } from '../../../testing/fake-jupyter';
import { buildNodePrograms } from '../../../testing/node-programs';

const programs = new CompiledPrograms('observed-programs');
let jupyter: FakeJupyter;

beforeAll(async () => {
  buildNodePrograms('pool-thread.mjs', 'pool-process.mjs', 'sender.mjs');
  jupyter = await FakeJupyter.start();
});
afterEach(() => programs.kill());
afterAll(async () => {
  await jupyter.close();
  programs.remove();
});

/** Compiles and starts a program, or one that does nothing with it as what is loaded before (`node --import`). */
async function start(name: string, text: string, isPreload = false) {
  const file = await programs.compile(
    name,
    `import { writeSync } from 'node:fs';
     import { getSync, getThreads, observe, ref, span, task } from './src/node/index';
     const spin = ms => { const end = performance.now() + ms; while (performance.now() < end); return ms; };
     ${text}`
  );
  const args = isPreload ? ['--import', file, '-e', ''] : [file];
  const { child, output, ended } = programs.start(args, {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: {
      ...process.env,
      SPANWISE_CONNECTION: '',
      JUPYTER_RUNTIME_DIR: jupyter.runtimeFolder
    }
  });
  return {
    child,
    ended: ended.then(({ code, signal }) => signal ?? code),
    complaints: output
  };
}

/**
 * Of a program, before it is observed: it waits twelve times as long for its log to arrive when an observation is closed (ten seconds) and
 * when it exits (five), and so does who sends it: a busy machine may need longer than that.
 */
const ENDS_PATIENTLY = `
  import { Worker } from 'node:worker_threads';
  const wait = Atomics.wait;
  Atomics.wait = (cell, at, value, ms) => wait(cell, at, value, 12 * ms);
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...more) {
    return post.call(this, message.type === 'end' ? { ...message, limitSeconds: 12 * message.limitSeconds } : message, ...more);
  };`;

/** Of a program that is told when it has been seen. */
const IS_SEEN = `
  const hold = setInterval(() => undefined, 1000);
  const seen = new Promise(resolve => process.once('SIGUSR2', resolve));
  void seen.then(() => clearInterval(hold));`;

const isEnded = ({ state }: { readonly state: string }) => state === 'ended';

describe('observed programs', () => {
  it('are shown side by side', async () => {
    const program = (name: string) =>
      start(
        name,
        `${ENDS_PATIENTLY} ${IS_SEEN}
         await observe(async () => {
           await seen;
           await span('of ${name}', () => getThreads({ a: task(spin, 20), b: task(spin, 10, ref('a')) }, 'b'));
         }, { name: '${name}' });`
      );
    const both = await Promise.all([program('one'), program('two')]);
    await Promise.all(['one', 'two'].map(name => jupyter.cluster(name)));
    both.forEach(({ child }) => child.kill('SIGUSR2'));
    expect(await Promise.all(both.map(({ ended }) => ended))).toEqual([0, 0]);
    for (const name of ['one', 'two']) {
      const { cluster } = await jupyter.cluster(name, isEnded);
      const { rows } = await jupyter.ask(cluster, 'tasks', { limit: 500 });
      expect(rows.map(({ key, span }) => [key, ...span]).sort()).toEqual([
        ['a', `of ${name}`],
        ['b', `of ${name}`]
      ]);
    }
  });

  it('are seen while getSync holds their thread', async () => {
    const { child, complaints } = await start(
      'busy',
      `observe(); getSync({ quick: task(spin, 150), slow: task(spin, 600_000, ref('quick')) }, 'slow');`
    );
    const { cluster } = await jupyter.cluster(
      'busy',
      ({ running: count }) => count === 1
    );
    let stream = await jupyter.ask(cluster, 'task-stream');
    while (stream.running[0]?.key !== 'slow') {
      // The first may be seen too, where it takes long.
      stream = await jupyter.ask(cluster, 'task-stream');
    }
    const { rows } = await jupyter.ask(cluster, 'tasks', { limit: 500 });
    expect(rows.map(({ key }) => key)).toEqual(['quick']);
    expect(stream.running).toMatchObject([{ key: 'slow', function: 'spin' }]);
    expect(stream.workers[0]!.process).toBeGreaterThan(1e6);
    child.kill('SIGKILL');
    await jupyter.cluster('busy', ({ state }) => state === 'ended');
    expect(complaints()).toBe('');
  });

  it('are seen while a worker computes for long', async () => {
    await start(
      'patient',
      `observe(); await getThreads({ slow: task(spin, 600_000) }, 'slow');`
    );
    const { cluster } = await jupyter.cluster(
      'patient',
      ({ running: count }) => count === 1
    );
    const { running: tasks } = await jupyter.ask(cluster, 'task-stream');
    expect(tasks).toMatchObject([{ key: 'slow', function: 'spin' }]);
  });

  it.each([
    ['return', ''],
    ['process.exit', 'process.exit(3);'],
    ['throw', 'throw new Error("not caught");']
  ])('have told everything when they end by %s', async (how, end) => {
    const name = `end by ${how}`;
    const { child, ended, complaints } = await start(
      name.replaceAll(' ', '-'),
      `${ENDS_PATIENTLY}
       process.once('SIGUSR2', () => { getSync({ a: task(spin, 1) }, 'a'); clearInterval(hold); ${end} });
       const hold = setInterval(() => undefined, 1000);
       observe({ name: '${name}' });`
    );
    await jupyter.cluster(name);
    child.kill('SIGUSR2');
    const code = await ended;
    expect(code).toBe({ return: 0, 'process.exit': 3, throw: 1 }[how]);
    const { cluster, why } = await jupyter.cluster(name, isEnded);
    expect(why).toMatch(/its process has ended/);
    const { rows } = await jupyter.ask(cluster, 'tasks', { limit: 500 });
    expect(rows.map(({ key }) => key)).toEqual(['a']);
    expect(complaints().includes('Spanwise')).toBe(false);
  });

  it('have told everything when they end while their link is only just opening', async () => {
    // In the minute that an exit waits here a busy machine may not open it: of a few programs one must be told whole.
    let isWhole = false;
    const whys: unknown[] = [];
    for (let round = 1; round <= 5 && !isWhole; round++) {
      const name = `end at once ${round}`;
      const { ended, complaints } = await start(
        name.replaceAll(' ', '-'),
        `${ENDS_PATIENTLY}
         observe({ name: '${name}' }); getSync({ a: task(spin, 1) }, 'a'); process.exit(3);`
      );
      expect(await ended).toBe(3);
      expect(complaints().includes('Spanwise')).toBe(false);
      // If the exit has waited long enough, the observer knows the program by now.
      jupyter.reload();
      const [known] = await jupyter.clusters(name);
      whys.push(known === undefined ? 'not known' : null);
      if (known !== undefined) {
        const { cluster, why } = await jupyter.cluster(name, isEnded);
        whys[round - 1] = why;
        if (/its process has ended/.test(why ?? '')) {
          const { rows } = await jupyter.ask(cluster, 'tasks', { limit: 500 });
          expect(rows.map(({ key }) => key)).toEqual(['a']);
          isWhole = true;
        }
      }
    }
    expect({ isWhole, whys }).toEqual({ isWhole: true, whys });
  });

  it('may be observed by what is loaded before them: once', async () => {
    const { child, ended, complaints } = await start(
      'preloaded',
      `${ENDS_PATIENTLY} ${IS_SEEN}
       writeSync(2, 'loaded ');
       await observe(async () => { await seen; getSync({ a: task(spin, 1) }, 'a'); }, { name: 'preloaded' });`,
      true
    );
    await jupyter.cluster('preloaded');
    child.kill('SIGUSR2');
    expect(await ended).toBe(0);
    await jupyter.cluster('preloaded', isEnded);
    // Not by the thread that sends once more, and by its thread, and by that one's …
    expect(complaints()).toBe('loaded ');
  });

  it.each([
    ['while they close', `void seen[0].close(); process.exit(3);`],
    ['with many observations', 'process.exit(3);']
  ])('have told everything when they exit %s', async (how, end) => {
    const { child, ended, complaints } = await start(
      how.replaceAll(' ', '-'),
      `${ENDS_PATIENTLY}
       const seen = Array.from({ length: 12 }, (_, at) => observe({ name: '${how} ' + at }));
       process.on('SIGUSR2', () => { getSync({ a: task(spin, 1) }, 'a'); ${end} });
       setInterval(() => undefined, 1000);`
    );
    for (let at = 0; at < 12; at++) {
      await jupyter.cluster(`${how} ${at}`);
    }
    child.kill('SIGUSR2');
    expect(await ended).toBe(3);
    for (const at of [0, 11]) {
      const { cluster } = await jupyter.cluster(`${how} ${at}`, isEnded);
      const { rows } = await jupyter.ask(cluster, 'tasks', { limit: 500 });
      expect(rows.map(({ key }) => key)).toEqual(['a']);
    }
    // Node tells of leaks from eleven listeners on.
    expect(complaints()).toBe('');
  });

  it('are held for five seconds together by an observer that does not read', async () => {
    const { ended, child } = await start(
      'stopped',
      `const seen = Array.from({ length: 12 }, (_, at) => observe({ name: 'stopped ' + at }));
       process.on('SIGUSR2', () => { getSync({ a: task(spin, 1) }, 'a'); process.exit(3); });
       setInterval(() => undefined, 1000);`
    );
    await jupyter.cluster('stopped 11');
    jupyter.pauseObserver();
    try {
      const started = performance.now();
      child.kill('SIGUSR2');
      expect(await ended).toBe(3);
      // One after the other they would take 60 s.
      expect(performance.now() - started).toBeLessThan(40_000);
    } finally {
      jupyter.resumeObserver();
    }
  });

  it('do not wait for an observer that is gone, and end', async () => {
    const other = await FakeJupyter.start();
    const shown = jupyter;
    jupyter = other;
    try {
      const { ended, child } = await start(
        'left-alone',
        `const seen = observe(); process.on('SIGUSR2', async () => {
           getSync({ a: task(spin, 1) }, 'a'); await seen.close(); clearInterval(hold);
         });
         const hold = setInterval(() => undefined, 1000);`
      );
      await other.cluster('left-alone');
      await other.killObserver();
      child.kill('SIGUSR2');
      expect(await ended).toBe(0);
    } finally {
      jupyter = shown;
      await other.close();
    }
  });
});
