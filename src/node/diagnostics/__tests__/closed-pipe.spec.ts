/** A progress bar whose reader goes away, in a program: only there an event that nobody hears ends something. */
import { once } from 'node:events';
import { CompiledPrograms } from '../../../testing/compiled-programs';
import { waitFor } from '../../../testing/wait-for';

const programs = new CompiledPrograms('bar-programs');
afterEach(() => programs.kill());
afterAll(() => programs.remove());

it.each([
  ['', 'getSync'],
  ['', 'getAsync'],
  ['out: Object.assign(process.stdout, { isTTY: true })', 'getAsync']
])('§2: the program goes on (options { %s }, %s)', async (options, get) => {
  const file = await programs.compile(
    `closed-${get}-${options.length}`,
    `import { task } from './src/node/graph/nodes';
     import { getAsync } from './src/node/local/get-async';
     import { getSync } from './src/node/local/get-sync';
     import { ProgressBar } from './src/node/diagnostics/progress-bar';
     import { once } from 'node:events';
     process.stderr.write('ready');
     await once(process.stdin, 'data');
     const bar = new ProgressBar({ interval: 0.001, ${options} });
     const spin = ms => {
       const end = performance.now() + ms;
       while (performance.now() < end) {}
       return 1;
     };
     const turn = () => new Promise(resolve => setImmediate(resolve));
     for (let run = 0; run < 3; run++) {
       const graph = {};
       for (let at = 0; at < 5; at++) graph['k' + at] = task(spin, 3);
       await bar.run(() => ${get}(graph, Object.keys(graph)));
       // The writes are answered, then come errors that nobody hears any more. (A timer of 20 ms
       // fires before the answers if this process stands still for so long.)
       for (let turns = 0; turns < 1000 && process.stdout.listenerCount('error') > 0; turns++) {
         await turn();
       }
       await turn();
       await turn();
     }
     process.stderr.write(' done ' + process.stdout.listenerCount('error'));
     process.exit(0);`
  );
  const program = programs.start([file], { stdio: ['pipe', 'pipe', 'pipe'] });
  await waitFor('it runs', () => program.output().includes('ready'));
  const { stdin, stdout } = program.child;
  stdout!.destroy();
  await once(stdout!, 'close');
  stdin!.write('go');
  expect(await program.ended).toEqual({ code: 0, signal: null });
  // And it leaves no listener.
  expect(program.output()).toBe('ready done 0');
});
