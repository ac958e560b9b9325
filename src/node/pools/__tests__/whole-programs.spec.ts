/** What only a whole program shows: Ctrl-C, its end, and what becomes of its children. */
import {
  CompiledPrograms,
  type StartedProgram
} from '../../../testing/compiled-programs';
import { buildNodePrograms } from '../../../testing/node-programs';
import { waitFor } from '../../../testing/wait-for';
import { isAlive } from './is-alive';

const programs = new CompiledPrograms('pool-programs');

beforeAll(() => buildNodePrograms('pool-thread.mjs', 'pool-process.mjs'));
afterEach(() => programs.kill());
afterAll(() => programs.remove());

type Program = StartedProgram & {
  /** Lines that begin with the word, without it. */
  said(word: string): string[];
};

/** Compiles a program that has the schedulers in scope, and gives its path. */
function compiled(name: string, text: string): Promise<string> {
  return programs.compile(
    name,
    `import { task, ref } from './src/node/graph/nodes';
     import { getAsync } from './src/node/local/get-async';
     import { getSync } from './src/node/local/get-sync';
     import { getThreads } from './src/node/pools/get-threads';
     import { getProcesses } from './src/node/pools/get-processes';
     import { ProcessPool, ThreadPool } from './src/node/pools/worker-pool';
     ${text}`
  );
}

/** Compiles and starts a program that has the schedulers in scope. */
async function start(name: string, text: string): Promise<Program> {
  const file = await compiled(name, text);
  const program = programs.start([file], { stdio: ['ignore', 'pipe', 'pipe'] });
  return {
    ...program,
    said: word =>
      program
        .output()
        .split('\n')
        .filter(line => line.startsWith(`${word} `))
        .map(line => line.slice(word.length + 1))
  };
}

/** Tasks that say who runs them and then never end; two, so that every worker is busy. */
const busy = (scheduler: string) => `
  const forever = () => {
    process.getBuiltinModule('node:fs').writeSync(1, 'busy ' + process.pid + '\\n');
    for (;;) {}
  };
  const graph = { a: task(forever), b: task(forever) };
  const callback = { finish: (_graph, _state, errored) => console.log('finish ' + errored) };
  await ${scheduler}(graph, ['a', 'b'], { numWorkers: 2, chunkSize: 1, callbacks: [callback] })
    .catch(error => console.log('error ' + error.name + ' ' + error.code));
  console.log('after the run');`;

describe.each(['getThreads', 'getProcesses'])(
  '§1.8: a program with %s',
  name => {
    it('ends by itself: the pool does not keep it alive; nothing printed is lost', async () => {
      const program = await start(
        `ends-${name}`,
        `const speak = (n: number) => { console.log('task ' + n); return process.pid; };
       const graph: Record<string, unknown> = {};
       for (let n = 0; n < 20; n++) graph['k' + n] = task(speak, n);
       const pids = await ${name}(graph, Object.keys(graph));
       console.log('pids ' + [...new Set(pids as number[])].join());`
      );
      expect(await program.ended).toEqual({ code: 0, signal: null });
      expect(program.said('task')).toHaveLength(20);
      const pids = program.said('pids')[0]!.split(',').map(Number);
      await waitFor('its workers are gone', () => !pids.some(isAlive));
    });

    it('on Ctrl-C rejects the run, tells finish, and leaves no process', async () => {
      const program = await start(`interrupted-${name}`, busy(name));
      await waitFor('both are busy', () => program.said('busy').length === 2);
      program.child.kill('SIGINT');
      expect(await program.ended).toEqual({ code: 0, signal: null });
      expect(program.said('finish')).toEqual(['true']);
      expect(program.said('error')).toEqual(['InterruptedError SIGINT']);
      expect(program.output()).toContain('after the run');
      const pids = program.said('busy').map(Number);
      await waitFor('its workers are gone', () => !pids.some(isAlive));
    });

    it('ends at Ctrl-C as ever when no run is going on', async () => {
      const program = await start(
        `idle-${name}`,
        `await ${name}({ a: task(() => process.pid) }, 'a');
       console.log('idle now');
       setInterval(() => {}, 1000);`
      );
      await waitFor('the run is over', () =>
        program.output().includes('idle now')
      );
      program.child.kill('SIGINT');
      expect(await program.ended).toEqual({ code: null, signal: 'SIGINT' });
    });

    it('that is killed leaves no process, even one that is busy for good', async () => {
      const program = await start(`killed-${name}`, busy(name));
      await waitFor('both are busy', () => program.said('busy').length === 2);
      const pids = program.said('busy').map(Number);
      program.child.kill('SIGKILL');
      await program.ended;
      await waitFor('its workers are gone', () => !pids.some(isAlive));
    });

    // Here, for jest ends its own process when that says "heap out of memory" on its error output, as the worker does.
    it('names the task of a worker that runs out of memory, and goes on', async () => {
      const program = await start(
        `hoards-${name}`,
        `const grow = () => {
         const hoard: unknown[] = [];
         for (;;) hoard.push(new Array(10_000).fill(hoard.length).map(x => ({ x })));
       };
       const pool = new ${name === 'getThreads' ? 'ThreadPool' : 'ProcessPool'}({ size: 1, maxHeapMegabytes: 32 });
       await ${name}({ hog: task(grow) }, 'hog', { pool, chunkSize: 1 })
         .catch(error => console.log('error ' + error.name + ' ' + error.message));
       console.log('next ' + await ${name}({ a: task((x: number) => x + 1, 1) }, 'a', { pool }));
       await pool.close();`
      );
      expect(await program.ended).toEqual({ code: 0, signal: null });
      expect(program.said('error')).toEqual([
        expect.stringMatching(
          /^WorkerEndedError The worker that ran hog is gone/
        )
      ]);
      expect(program.said('next')).toEqual(['2']);
    });

    it('can end with process.exit in the middle of a run', async () => {
      const program = await start(
        `exits-${name}`,
        `setInterval(() => {}, 1000);
       process.once('SIGUSR2', () => process.exit(5));
       ${busy(name)}`
      );
      await waitFor('both are busy', () => program.said('busy').length === 2);
      const pids = program.said('busy').map(Number);
      program.child.kill('SIGUSR2');
      expect((await program.ended).code).toBe(5);
      await waitFor('its workers are gone', () => !pids.some(isAlive));
    });
  }
);

describe.each(['getThreads', 'getProcesses'])(
  '§1.8: a program that sends functions of its own file with %s',
  name => {
    const run = (begin: string) => `
      import { appendFileSync } from 'node:fs';
      import { module } from './src/node/graph/portable';
      const me = import.meta.url;
      export const triple = x => 3 * x;
      // Long enough for what the worker's own import of this file has begun.
      export const slow = () => new Promise(resolve => setTimeout(resolve, 50_000));
      export const nested = x =>
        ${name}({ b: task(module(me, 'triple'), x) }, 'b', { numWorkers: 1 });
      console.log('begin here');
      ${begin}`;

    it.each([
      ['at its top level', `await main();`],
      [
        'later',
        `main().catch(error => { console.log('error ' + error.message); process.exit(1); });`
      ]
    ])(
      'without a guard, %s: an error that says what to do, not workers without end',
      async (when, begin) => {
        const program = await start(
          `${name}-own-${when.replaceAll(' ', '-')}`,
          run(`
            async function main() {
              await new Promise(resolve => setTimeout(resolve, 50));
              await ${name}({ a: task(module(me, 'slow')) }, 'a', { numWorkers: 1 });
            }
            ${begin}`)
        );
        expect((await program.ended).code).not.toBe(0);
        expect(program.output()).toMatch(
          /starts this run whenever it is imported[^]*import\.meta\.main/
        );
        expect(program.said('begin')).toHaveLength(2);
      }
    );

    it('by way of another file that sends it back: the same', async () => {
      const file = (other: string) => `
        const other = new URL('./${name}-${other}.mjs', import.meta.url).href;
        export const slow = () => new Promise(resolve => setTimeout(resolve, 50_000));
        console.log('begin here');
        await ${name}({ a: task(module(other, 'slow')) }, 'a', { numWorkers: 1 });`;
      const imports = `import { module } from './src/node/graph/portable';`;
      await compiled(`${name}-pong`, imports + file('ping'));
      const program = await start(`${name}-ping`, imports + file('pong'));
      expect((await program.ended).code).not.toBe(0);
      expect(program.output()).toMatch(
        /whenever it is imported \(by way of \S+-ping\.mjs\)[^]*import\.meta\.main/
      );
      // The program, pong, ping as pong's worker has it; that one may not send pong's.
      expect(program.said('begin')).toHaveLength(3);
    });

    it('by way of a task of another file that sends it back: the same', async () => {
      const imports = `import { module } from './src/node/graph/portable';
        const other = file => new URL('./${name}-' + file + '.mjs', import.meta.url).href;`;
      await compiled(
        `${name}-sends-back`,
        `${imports}
         export const back = () =>
           ${name}({ a: task(module(other('begins'), 'nothing')) }, 'a', { numWorkers: 1 });`
      );
      const program = await start(
        `${name}-begins`,
        `${imports}
         export const nothing = () => null;
         console.log('begin here');
         await ${name}({ a: task(module(other('sends-back'), 'back')) }, 'a', { numWorkers: 1 });`
      );
      expect((await program.ended).code).not.toBe(0);
      expect(program.output()).toMatch(
        /whenever it is imported[^]*import\.meta\.main/
      );
      expect(program.said('begin').length).toBeLessThanOrEqual(3);
    });

    it('with one: answers, also of tasks that start runs themselves', async () => {
      const program = await start(
        `${name}-own-guarded`,
        run(`
          if (import.meta.main) {
            console.log('answer ' + await ${name}(
              { a: task(module(me, 'nested'), 7) }, 'a', { numWorkers: 1 }));
          }`)
      );
      expect(await program.ended).toEqual({ code: 0, signal: null });
      expect(program.said('answer')).toEqual(['21']);
    });
  }
);

describe('§1.8: a program that runs tasks in its own thread', () => {
  it('with getAsync: Ctrl-C rejects the runs, tells finish, and the program goes on', async () => {
    const program = await start(
      'interrupted-getAsync',
      `const forever = () => { console.log('waiting x'); return new Promise(() => {}); };
       const held = setInterval(() => {}, 1000);
       const callback = { finish: (_graph, _state, errored) => console.log('finish ' + errored) };
       const run = () => getAsync({ a: task(forever), b: task(forever) }, ['a', 'b'], { callbacks: [callback] })
         .catch(error => console.log('error ' + error.name + ' ' + error.code));
       await Promise.all([run(), run()]);
       console.log('after ' + await getAsync({ a: task(() => 1) }, 'a'));
       clearInterval(held);`
    );
    await waitFor('all wait', () => program.said('waiting').length === 4);
    program.child.kill('SIGINT');
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.said('finish')).toEqual(['true', 'true']);
    expect(program.said('error')).toEqual([
      'InterruptedError SIGINT',
      'InterruptedError SIGINT'
    ]);
    expect(program.said('after')).toEqual(['1']);
  });

  it('with getAsync: the second Ctrl-C ends it as ever, and a handler of its own is left alone', async () => {
    const stubborn = await start(
      'twice-getAsync',
      `setInterval(() => {}, 1000);
       const forever = () => { console.log('waiting x'); return new Promise(() => {}); };
       await getAsync({ a: task(forever) }, 'a').catch(error => console.log('error ' + error.name));`
    );
    await waitFor('it waits', () => stubborn.said('waiting').length === 1);
    stubborn.child.kill('SIGINT');
    await waitFor(
      'it was interrupted',
      () => stubborn.said('error').length === 1
    );
    stubborn.child.kill('SIGINT');
    expect(await stubborn.ended).toEqual({ code: null, signal: 'SIGINT' });

    const own = await start(
      'own-handler-getAsync',
      `process.on('SIGINT', () => console.log('handled x'));
       const held = setInterval(() => {}, 1000);
       const wait = () => new Promise(resolve => {
         process.once('SIGUSR2', () => {
           clearInterval(held);
           resolve('whole');
         });
         // Not before: getAsync need not have called it when it returns.
         console.log('waiting x');
       });
       console.log('result ' + await getAsync({ a: task(wait) }, 'a'));`
    );
    await waitFor('it waits', () => own.said('waiting').length === 1);
    own.child.kill('SIGINT');
    await waitFor('it was handled', () => own.said('handled').length === 1);
    own.child.kill('SIGUSR2');
    expect((await own.ended).signal).toBeNull();
    expect(own.said('handled')).toEqual(['x']);
    expect(own.said('result')).toEqual(['whole']);
  });

  it('with getAsync: a run that begins while another one is being interrupted can be interrupted too', async () => {
    const program = await start(
      'interrupted-later',
      `const forever = () => { console.log('waiting x'); return new Promise(() => {}); };
       const held = setInterval(() => {}, 1000);
       let second;
       const callback = { finish: () => {
         second = getAsync({ b: task(forever) }, 'b').catch(error => console.log('second ' + error.name));
       } };
       await getAsync({ a: task(forever) }, 'a', { callbacks: [callback] })
         .catch(error => console.log('first ' + error.name));
       await second;
       clearInterval(held);`
    );
    for (const count of [1, 2]) {
      await waitFor('it waits', () => program.said('waiting').length === count);
      program.child.kill('SIGINT');
    }
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.said('first')).toEqual(['InterruptedError']);
    expect(program.said('second')).toEqual(['InterruptedError']);
  });

  it('with very many runs at once: nobody warns of a leak', async () => {
    const program = await start(
      'many-runs',
      `const wait = () => new Promise(resolve => setTimeout(resolve, 20, 1));
       const runs = Array.from({ length: 50 }, () => getAsync({ a: task(wait) }, 'a'));
       runs.push(...Array.from({ length: 50 }, () => getThreads({ a: task(() => 1) }, 'a')));
       console.log('sum ' + (await Promise.all(runs)).reduce((a, b) => a + b));
       console.log('listeners ' + process.listenerCount('SIGINT'));`
    );
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.output()).toBe('sum 100\nlisteners 0\n');
  });

  it('with getSync: Ctrl-C ends it as ever, in the middle of a task', async () => {
    const program = await start(
      'interrupted-getSync',
      `const forever = () => {
         process.getBuiltinModule('node:fs').writeSync(1, 'busy x\\n');
         for (;;) {}
       };
       getSync({ a: task(forever) }, 'a');`
    );
    await waitFor('it is busy', () => program.said('busy').length === 1);
    program.child.kill('SIGINT');
    expect(await program.ended).toEqual({ code: null, signal: 'SIGINT' });
  });
});

/**
 * The end of a process is told before that of its streams, and a program in which only such a stream is left to wait for ends in the middle
 * of its `await`. On a busy machine that is a matter of chance; here a process that the task has started holds the streams for good.
 */
it('§1.8: closing a pool waits for the end of its processes, not for that of their streams', async () => {
  const program = await start(
    'lends-streams',
    `const lend = () => {
       const { spawn } = process.getBuiltinModule('node:child_process');
       const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
         stdio: ['ignore', 'ignore', 'ignore', 3, 4]
       });
       process.getBuiltinModule('node:fs').writeSync(1, 'holder ' + pid + '\\n');
       for (;;) {}
     };
     const pool = new ProcessPool({ size: 1 });
     await getProcesses({ a: task(lend) }, 'a', { pool })
       .catch(error => console.log('error ' + error.name));
     await pool.close();
     console.log('after the end');`
  );
  await waitFor('it is busy', () => program.said('holder').length === 1);
  const holder = Number(program.said('holder')[0]);
  try {
    program.child.kill('SIGINT');
    await waitFor('its end', () => program.child.exitCode !== null);
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.said('error')).toEqual(['InterruptedError']);
    expect(program.output()).toContain('after the end');
    expect(isAlive(holder)).toBe(true);
  } finally {
    process.kill(holder, 'SIGKILL');
  }
});
