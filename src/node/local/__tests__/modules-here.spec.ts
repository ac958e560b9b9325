/** Functions of modules called by the schedulers of this thread, in programs: jest loads modules in its own way. */
import { CompiledPrograms } from '../../../testing/compiled-programs';

const programs = new CompiledPrograms('module-programs');
afterEach(() => programs.kill());
afterAll(() => programs.remove());

async function said(name: string, body: string): Promise<string[]> {
  const file = await programs.compile(
    name,
    `import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
     import { tmpdir } from 'node:os';
     import { join } from 'node:path';
     import { task } from './src/node/graph/nodes';
     import { module } from './src/node/graph/portable';
     import { getAsync } from './src/node/local/get-async';
     import { getSync } from './src/node/local/get-sync';
     const folder = mkdtempSync(join(tmpdir(), 'modules-'));
     process.on('exit', () => rmSync(folder, { recursive: true }));
     const file = (name, text) => {
       writeFileSync(join(folder, name), text);
       return join(folder, name);
     };
     const error = body => {
       try {
         return body();
       } catch (thrown) {
         return thrown.name + ': ' + thrown.message;
       }
     };
     ${body}`
  );
  const program = programs.start([file], { stdio: ['ignore', 'pipe', 'pipe'] });
  await program.ended;
  return program.output().trim().split('\n');
}

describe('§1.8: getSync', () => {
  it('runs functions of modules that can be loaded at once', async () => {
    expect(
      await said(
        'at-once',
        `const esm = file('a.mjs', 'export const inc = x => x + 1; export default x => -x;');
         const cjs = file('a.cjs', 'module.exports = x => 2 * x; module.exports.half = x => x / 2;');
         const get = (fn, ...args) => console.log(JSON.stringify(getSync({ a: task(fn, ...args) }, 'a')));
         get(module(esm, 'inc'), 1);
         get(module(esm), 1);
         get(module(cjs), 4);
         get(module(cjs, 'half'), 4);
         get(module('node:path', 'basename'), '/a/b');
         get(module('node:assert'), true);
         console.log(error(() => getSync({ a: task(module('node:path', 'nothing')) }, 'a')));`
      )
    ).toEqual([
      '2',
      '-1',
      '8',
      '2',
      '"b"',
      'undefined',
      expect.stringContaining(
        "node:path exports no function 'nothing' (it exports"
      )
    ]);
  });

  it('calls what workers import, whatever a module exports', async () => {
    const lines = await said(
      'as-imported',
      `const texts = [
         'exports.__esModule = true; exports.default = () => 1;',
         'module.exports = Object.freeze({ default: () => 1 });',
         'module.exports = 5;',
         'module.exports = null;',
         'module.exports = Object.assign(() => 2, { default: () => 1 });'
       ];
       for (const [at, text] of texts.entries()) {
         const url = file(at + '.cjs', text);
         console.log(typeof (await import(url)).default);
         console.log(error(() => getSync({ a: task(module(url)) }, 'a')));
         console.log(error(() => getSync({ a: task(module(url, 'none')) }, 'a')));
       }`
    );
    const none = (name: string) =>
      expect.stringMatching(
        new RegExp(`^TypeError: file:.*cjs exports no function '${name}'`)
      );
    expect(lines).toEqual([
      ...['object', none('default'), none('none')],
      ...['object', none('default'), none('none')],
      ...['number', none('default'), none('none')],
      ...['object', none('default'), none('none')],
      ...['function', '2', none('none')]
    ]);
  });

  it('says why it cannot run others, and getAsync can', async () => {
    const lines = await said(
      'later',
      `const waits = file('waits.mjs', 'await 1; export const two = () => 2;');
       const outer = file('outer.mjs', "export { two } from './waits.mjs';");
       for (const url of [waits, outer, 'data:text/javascript,export const two = () => 2']) {
         const graph = { a: task(module(url, 'two')) };
         console.log(error(() => getSync(graph, 'a')));
         console.log(await getAsync(graph, 'a'));
         // The function is loaded by now.
         console.log(getSync(graph, 'a'));
       }`
    );
    expect(lines).toEqual([
      expect.stringMatching(
        /^PromiseResultError: Task a calls a module: file:.*waits\.mjs cannot be loaded at once: it, or a module that it imports, awaits at its top level, for which getSync cannot wait: use getAsync\.$/
      ),
      '2',
      '2',
      expect.stringContaining('outer.mjs cannot be loaded at once'),
      '2',
      '2',
      expect.stringContaining('Node loads modules of such URLs later'),
      '2',
      '2'
    ]);
  });

  it('does not wait for the module that begins the run', async () => {
    const lines = await said(
      'itself',
      `export const two = () => 2;
       const graph = { a: task(module(import.meta.url, 'two')) };
       console.log(error(() => getSync(graph, 'a')));
       getAsync(graph, 'a').then(console.log, thrown => console.log(thrown.name));`
    );
    // The run that is not waited for begins later: on a busy machine the module may have been loaded by then.
    expect(lines).toEqual([
      expect.stringMatching(
        /^NotPortableError: file:.*is still being loaded.*Put the functions of tasks into a file of their own\.$/
      ),
      expect.stringMatching(/^(NotPortableError|2)$/)
    ]);
  });
});
