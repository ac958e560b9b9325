/** Row 8 of the package: the packed tarball, installed in an empty folder, serves JavaScript and TypeScript users. */
import { execFile, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { FakeJupyter } from '../../testing/fake-jupyter';
import { buildNpmPackage } from '../../testing/node-programs';

const checkout = resolve(__dirname, '..', '..', '..');
const modules = join(checkout, 'node_modules');

let scratch: string;
let user: string;

/** Runs a command; its output is in the error if it fails. */
function run(command: string, args: readonly string[], cwd: string): string {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: 240_000,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      // npm starts `node` by name.
      PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`
    }
  });
  if (error !== undefined || status !== 0) {
    throw new Error(
      `${command} ${args.join(' ')} ended with ${status}.\n${stdout}${stderr}`,
      { cause: error }
    );
  }
  return stdout;
}

const node = (args: readonly string[]) => run(process.execPath, args, user);
/** npm as it comes with this Node; `bin/npm` is a link that not every way of installing keeps. */
const npmProgram = resolve(
  dirname(process.execPath),
  '../lib/node_modules/npm/bin/npm-cli.js'
);
const npm = (args: readonly string[], cwd: string) =>
  run(
    process.execPath,
    [
      npmProgram,
      ...args,
      '--offline',
      '--no-audit',
      '--no-fund',
      '--loglevel=error'
    ],
    cwd
  );

/** @param compiler - its package: users have one or the other. */
const tsc = (compiler: 'typescript' | 'typescript-native') =>
  node([join(modules, compiler, 'bin', 'tsc'), '-p', '.']);

/** The packages that were installed for the tests, so that nothing is fetched. */
function localPackages(names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (name: string) => {
    if (found[name] === undefined) {
      found[name] = `file:${join(modules, name)}`;
      const manifest = JSON.parse(
        readFileSync(join(modules, name, 'package.json'), 'utf8')
      ) as { dependencies?: Record<string, string> };
      Object.keys(manifest.dependencies ?? {}).forEach(visit);
    }
  };
  names.forEach(visit);
  return found;
}

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'spanwise-package-'));
  user = join(scratch, 'user');
  const made = buildNpmPackage(join(scratch, 'package'));
  npm(['pack', '--pack-destination', scratch], made);
  const tarball = readdirSync(scratch).find(name => name.endsWith('.tgz'))!;
  const { dependencies } = JSON.parse(
    readFileSync(join(made, 'package.json'), 'utf8')
  ) as { dependencies: Record<string, string> };
  mkdirSync(user);
  writeFileSync(
    join(user, 'package.json'),
    JSON.stringify({
      type: 'module',
      dependencies: { spanwise: `file:${join(scratch, tarball)}` },
      overrides: localPackages(Object.keys(dependencies))
    })
  );
  // Packages that are linked from the checkout would build themselves.
  npm(['install', '--ignore-scripts'], user);
}, 600_000);
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const program = `
  const inc = (x) => x + 1;
  const graph = { a: 1, b: task(inc, ref('a')), c: task(inc, ref('b')) };
  const seen = [];
  const callback = new Callback({ pretask: key => { seen.push(key); } });
  const values = [
    getSync(graph, 'c', { callbacks: [callback] }),
    await getAsync(graph, 'c'),
    await getThreads(graph, 'c'),
    await getProcesses(graph, 'c')
  ];
  console.log(JSON.stringify({ values, seen }));`;
const names =
  'Callback, getAsync, getProcesses, getSync, getThreads, ref, task';
const answer = { values: [3, 3, 3, 3], seen: ['b', 'c'] };

describe('the npm package', () => {
  it('has ES modules, types and source maps, and nothing of the extension', () => {
    const files = readdirSync(join(user, 'node_modules', 'spanwise'), {
      recursive: true,
      encoding: 'utf8'
    });
    expect(files).toEqual(
      expect.arrayContaining([
        'README.md',
        'LICENSE',
        'dist/index.js',
        'dist/index.js.map',
        'dist/types/node/index.d.ts',
        'dist/types/scheduler/plugin.d.ts',
        'dist/programs/pool-thread.mjs',
        'dist/programs/sender.mjs',
        'dist/programs/LICENCES.txt'
      ])
    );
    expect(
      files.filter(name => /jupyterlab|panels\/|lab\//.test(name))
    ).toEqual([]);
  });

  it('runs for a user of JavaScript: every scheduler', () => {
    writeFileSync(
      join(user, 'plain.mjs'),
      `import { ${names} } from 'spanwise';${program}`
    );
    expect(JSON.parse(node(['plain.mjs']))).toEqual(answer);
  });

  it('is seen in JupyterLab, and needs no package for that', async () => {
    const program = 'node_modules/spanwise/dist/programs/sender.mjs';
    const imports = readFileSync(join(user, program), 'utf8').matchAll(
      /^import .* from ["'](.*)["'];$/gm
    );
    for (const [, name] of imports) {
      expect(name).toMatch(/^(node:|[a-z]+$)/);
    }
    writeFileSync(
      join(user, 'observed.mjs'),
      `import { getThreads, observe, span, task } from 'spanwise';
       await observe(() => span('packed', () => getThreads({ a: task(() => 7) }, 'a')), { name: 'packed' });`
    );
    const jupyter = await FakeJupyter.start();
    try {
      const { stderr } = await promisify(execFile)(
        process.execPath,
        ['observed.mjs'],
        {
          cwd: user,
          timeout: 240_000,
          env: {
            ...process.env,
            SPANWISE_CONNECTION: jupyter.connectionFile
          }
        }
      );
      expect(stderr).toBe('');
      const { cluster } = await jupyter.cluster(
        'packed',
        ({ state }) => state === 'ended'
      );
      const { rows } = await jupyter.ask(cluster, 'tasks');
      expect(rows).toMatchObject([{ key: 'a', span: ['packed'] }]);
    } finally {
      await jupyter.close();
    }
  });

  it.each([
    ['node16', 'node16', 'typescript-native'],
    ['bundler', 'esnext', 'typescript']
  ] as const)(
    'compiles and runs for a user of TypeScript with moduleResolution %s',
    (moduleResolution, module, compiler) => {
      const typed = program
        .replace('(x) =>', '(x: number): number =>')
        .replace('seen = []', 'seen: Key[] = []')
        .replace('values =', 'values: unknown[] =');
      writeFileSync(
        join(user, 'typed.ts'),
        `import { ${names}, type Key } from 'spanwise';
        ${typed}
        // @ts-expect-error -- a task needs a function
        task('no function');
        // @ts-expect-error -- numWorkers is a number
        void getThreads(graph, 'c', { numWorkers: 'two' });
        `
          .replace("task('no function');", "() => task('no function');")
          .replace('void getThreads', '() => getThreads')
      );
      writeFileSync(
        join(user, 'tsconfig.json'),
        JSON.stringify({
          compilerOptions: {
            target: 'es2022',
            lib: ['es2023', 'esnext.disposable'],
            module,
            moduleResolution,
            strict: true,
            types: ['node'],
            typeRoots: [join(modules, '@types')],
            outDir: `out-${moduleResolution}`
          },
          files: ['typed.ts']
        })
      );
      tsc(compiler);
      expect(JSON.parse(node([`out-${moduleResolution}/typed.js`]))).toEqual(
        answer
      );
    },
    600_000
  );

  it('compiles a plugin of the scheduler, which is a module by itself then', () => {
    writeFileSync(
      join(user, 'plugin.ts'),
      `import type { ModulePlugin, SchedulerPlugin, TransitionFacts } from 'spanwise';

      const slow: ModulePlugin<{ readonly seconds: number }> = ({ seconds }) => {
        const found: string[] = [];
        const plugin: SchedulerPlugin & { readonly found: string[] } = {
          found,
          transition(key, start, finish, { startstops = [], worker }: TransitionFacts) {
            if (start === 'processing' && finish === 'memory') {
              for (const { action, start, stop } of startstops) {
                if (stop - start > seconds) {
                  found.push(\`\${key} \${action} \${worker ?? ''}\`);
                }
              }
            }
            // @ts-expect-error -- there is no such state
            void (finish === 'done');
          },
          updateGraph: ({ tasks }) => void found.push(...tasks.keys()),
          // @ts-expect-error -- a worker is more than its address
          addWorker: (worker: string) => void worker
        };
        return plugin;
      };
      export default slow;
      `
    );
    writeFileSync(
      join(user, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          target: 'es2022',
          module: 'node16',
          strict: true,
          types: [],
          outDir: 'out-plugin'
        },
        files: ['plugin.ts']
      })
    );
    tsc('typescript-native');
    const compiled = readFileSync(
      join(user, 'out-plugin', 'plugin.js'),
      'utf8'
    );
    expect(compiled).not.toContain('import');
    writeFileSync(
      join(user, 'use-plugin.mjs'),
      `import make from './out-plugin/plugin.js';
       const plugin = make({ seconds: 1 });
       const startstops = [{ action: 'compute', start: 1, stop: 3 }, { action: 'transfer', start: 0, stop: 1 }];
       plugin.updateGraph({ client: 'client-0', keys: ['a'], tasks: new Map([['a', []]]), stimulus: 's' });
       plugin.transition('a', 'processing', 'memory', { time: 3, stimulus: 's', worker: 'tcp://w', startstops });
       console.log(JSON.stringify(plugin.found));`
    );
    expect(JSON.parse(node(['use-plugin.mjs']))).toEqual([
      'a',
      'a compute tcp://w'
    ]);
  }, 600_000);

  it("compiles without Node's types, for an older library", () => {
    writeFileSync(
      join(user, 'plain.ts'),
      "import { getSync } from 'spanwise';\nexport const seven: number = getSync<number>({ a: 7 }, 'a');\n"
    );
    writeFileSync(
      join(user, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          target: 'es2022',
          module: 'node16',
          strict: true,
          types: [],
          noEmit: true
        },
        files: ['plain.ts']
      })
    );
    expect(tsc('typescript-native')).toBe('');
  }, 600_000);
});
