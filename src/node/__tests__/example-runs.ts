/**
 * Compiles examples against the built package and runs each in an empty folder of its own, as a reader does who copies it.
 *
 * What an example prints stands in it, in comments that begin with an arrow:
 *
 * ```
 *   console.log(getSync(graph, 'b'));   // → 2
 *   console.log(`${seconds} s`);        // → … s          … stands for anything
 *   bar.run(() => getSync(graph, 'b')); // → …            or for lines of which nobody knows how many
 * ```
 *
 * To start Node and read the package takes most examples ten times what they do: a few processes run one after the other each. An example
 * is over when nothing holds its process, as if it were alone, and the next one begins then. Those that end their process, send it signals
 * or ask whether they are its program have it for themselves.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import type { Example } from './public-names';

const NEEDS_OWN_PROCESS = /\bimport\.meta\.main\b|\bprocess\.(exit|kill|on)\b/;
/** A busy machine is patient. */
const LIMIT_MS = 100_000;
// A reader sees lines of TypeScript too.
const NODE_OPTIONS = ['--enable-source-maps'];
/** A line on both streams when an example is over. */
const OVER = '\u0004 over';

/** Runs the examples whose folders are its arguments. */
const RUNNER = `
  import { pathToFileURL } from 'node:url';

  const folders = process.argv.slice(2);
  let isLoading = false;

  async function begin(folder) {
    process.chdir(folder);
    isLoading = true;
    await import(pathToFileURL(folder + '/example.js'));
    isLoading = false;
  }

  function end() {
    if (isLoading) {
      console.error('It awaits what nothing settles any more.');
      isLoading = false;
    }
    if (process.exitCode !== undefined) {
      console.error('It sets the exit code ' + process.exitCode + '.');
      process.exitCode = undefined;
    }
    process.stderr.write(${JSON.stringify(`${OVER}
`)});
    process.stdout.write(${JSON.stringify(`${OVER}
`)});
  }

  process.on('beforeExit', () => {
    end();
    if (folders.length > 0) {
      // Not at once: an import alone does not keep a process that ends.
      setImmediate(begin, folders.shift());
    }
  });
  void begin(folders.shift());
`;

type Outcome = {
  /** What TypeScript complains of, one per line. */
  readonly typeErrors: string;
  /** Standard output, lines; of an example that does not compile it is empty. */
  readonly printed: readonly string[];
  /** Standard error, and how it ended unless all is well. */
  readonly complaints: string;
};

const NOTHING: Outcome = { typeErrors: '', printed: [], complaints: '' };

/** What an example says that it prints. */
export function expectedLines(code: string): string[] {
  return [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, line]) =>
    line!.trimEnd()
  );
}

/** Whether what was printed is what was expected, in which `…` stands for anything, on a line of its own for any number of lines. */
export function isPrintedAs(
  printed: readonly string[],
  expected: readonly string[]
): boolean {
  const patterns = expected.map(line =>
    line === '…' ? '(.*\n)*' : `${line.split('…').map(literally).join('.*')}\n`
  );
  const text = printed.map(line => `${line.trimEnd()}\n`).join('');
  return new RegExp(`^${patterns.join('')}$`).test(text);
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** A user's folder with the package, and compiled examples in it. */
export class ExampleRuns {
  private readonly _outcomes = new Map<Example, Promise<Outcome>>();
  private readonly _tell = new Map<Example, (outcome: Outcome) => void>();

  /**
   * @param folder - empty
   * @param packageFolder - the package, built
   * @param modules - node_modules of the checkout, for the package's dependencies, TypeScript and its types of Node
   */
  constructor(
    private readonly _folder: string,
    packageFolder: string,
    private readonly _modules: string,
    private readonly _examples: readonly Example[]
  ) {
    mkdirSync(join(_folder, 'node_modules'));
    symlinkSync(packageFolder, join(_folder, 'node_modules', 'spanwise'));
    const { dependencies } = JSON.parse(
      readFileSync(join(packageFolder, 'package.json'), 'utf8')
    ) as { dependencies: Record<string, string> };
    mkdirSync(join(packageFolder, 'node_modules'));
    for (const name of Object.keys(dependencies)) {
      const place = join(packageFolder, 'node_modules', name);
      mkdirSync(dirname(place), { recursive: true });
      symlinkSync(join(_modules, name), place);
    }
    writeFileSync(join(_folder, 'package.json'), '{ "type": "module" }\n');
    writeFileSync(join(_folder, 'runner.mjs'), RUNNER);
    for (const example of _examples) {
      const outcome = new Promise<Outcome>(resolve =>
        this._tell.set(example, resolve)
      );
      this._outcomes.set(example, outcome);
    }
  }

  /** Compiles all, and starts those that compile. */
  async start(): Promise<void> {
    const typeErrors = await this._compile();
    const alone: Example[] = [];
    const shared: Example[] = [];
    for (const example of this._examples) {
      const errors = typeErrors.get(example);
      if (errors !== undefined) {
        this._tell.get(example)!({ ...NOTHING, typeErrors: errors });
      } else if (NEEDS_OWN_PROCESS.test(example.code)) {
        alone.push(example);
      } else {
        shared.push(example);
      }
    }
    const half = Math.ceil(shared.length / 2);
    void this._runShared(shared.slice(0, half));
    void this._runShared(shared.slice(half));
    void this._runAlone(alone);
  }

  outcomeOf(example: Example): Promise<Outcome> {
    return this._outcomes.get(example)!;
  }

  /** Gives what TypeScript complains of. It writes what it compiles in any case. */
  private async _compile(): Promise<Map<Example, string>> {
    const byPath = new Map<string, Example>();
    for (const example of this._examples) {
      mkdirSync(this._folderOf(example));
      const path = join(this._folderOf(example), 'example.ts');
      writeFileSync(path, example.code);
      byPath.set(relative(this._folder, path), example);
    }
    const options = {
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      module: 'node16',
      moduleResolution: 'node16',
      strict: true,
      noUncheckedIndexedAccess: true,
      noUnusedLocals: true,
      noImplicitOverride: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [join(this._modules, '@types')]
    };
    writeFileSync(
      join(this._folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: [...byPath.keys()] })
    );
    const compiler = join(this._modules, 'typescript-native', 'bin', 'tsc');
    const said = await new Promise<string>(resolve =>
      execFile(
        process.execPath,
        [compiler, '-p', '.', '--pretty', 'false'],
        { cwd: this._folder, timeout: LIMIT_MS, env: environment() },
        (error, stdout, stderr) =>
          resolve(
            error !== null && stdout === ''
              ? `${stderr}${error.message}`
              : `${stdout}${stderr}`
          )
      )
    );
    const found = new Map<Example, string>();
    let example: Example | undefined;
    for (const line of said.split('\n').filter(each => each !== '')) {
      // Further lines of a complaint are indented.
      const [, path, place, text] =
        /^(\S.*?)\((\d+),\d+\): (.*)$/.exec(line) ?? [];
      example = path === undefined ? example : byPath.get(path);
      if (example === undefined || !(line.startsWith(' ') || text)) {
        throw new Error(`TypeScript: ${said}`);
      }
      const own = text === undefined ? line : `line ${place}: ${text}`;
      found.set(example, `${found.get(example) ?? ''}${own}\n`);
    }
    return found;
  }

  /** One after the other, each in a process of its own. */
  private async _runAlone(examples: readonly Example[]): Promise<void> {
    for (const example of examples) {
      await new Promise<void>(resolve =>
        execFile(
          process.execPath,
          [...NODE_OPTIONS, 'example.js'],
          {
            cwd: this._folderOf(example),
            timeout: LIMIT_MS,
            env: environment()
          },
          (error, stdout, stderr) => {
            const ending =
              error === null
                ? ''
                : `\n(ended: ${error.message.split('\n')[0]})`;
            this._tell.get(example)!(ranAs(stdout, `${stderr}${ending}`));
            resolve();
          }
        )
      );
    }
  }

  /** One after the other, in one process, and what remains of them in another one if that ends. */
  private async _runShared(examples: readonly Example[]): Promise<void> {
    for (let left = examples; left.length > 0;) {
      left = left.slice(await this._runInOne(left));
    }
  }

  /** Gives how many have run: fewer than all if one of them ends the process. */
  private _runInOne(examples: readonly Example[]): Promise<number> {
    const child = spawn(
      process.execPath,
      [
        ...NODE_OPTIONS,
        join(this._folder, 'runner.mjs'),
        ...examples.map(each => this._folderOf(each))
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: environment() }
    );
    // Of each example that is over, and of the one that runs.
    const printed = [''];
    const complaints = [''];
    let told = 0;
    const read = (stream: Readable, texts: string[]) =>
      stream.setEncoding('utf8').on('data', text => {
        texts.push(...`${texts.pop()}${text}`.split(`${OVER}\n`));
        const over = Math.min(printed.length, complaints.length) - 1;
        // Of the last one there is also to tell how the process ends.
        for (; told < Math.min(over, examples.length - 1); told++) {
          const outcome = ranAs(printed[told]!, complaints[told]!);
          this._tell.get(examples[told]!)!(outcome);
          limit.refresh();
        }
      });
    let isTooLong = false;
    const limit = setTimeout(() => {
      isTooLong = true;
      child.kill('SIGKILL');
    }, LIMIT_MS);
    read(child.stdout, printed);
    read(child.stderr, complaints);
    return new Promise(resolve =>
      child.on('close', (code, signal) => {
        clearTimeout(limit);
        const isWhole =
          Math.min(printed.length, complaints.length) > examples.length;
        const how = isTooLong ? `not within ${LIMIT_MS} ms` : (signal ?? code);
        this._tell.get(examples[told]!)!(
          ranAs(
            printed.slice(told).join(''),
            `${complaints.slice(told).join('')}${isWhole && code === 0 ? '' : `\n(ended: ${how})`}`
          )
        );
        resolve(told + 1);
      })
    );
  }

  private _folderOf(example: Example): string {
    // Numbered: some file systems take `delayed` and `Delayed` for one name.
    const name = example.title.replace(/\W+/g, '-');
    return join(this._folder, `${this._examples.indexOf(example)}-${name}`);
  }
}

function ranAs(stdout: string, complaints: string): Outcome {
  return {
    typeErrors: '',
    printed: stdout === '' ? [] : stdout.trimEnd().split('\n'),
    complaints
  };
}

/** jest's own switches, and a terminal's colours, are not the reader's. */
function environment(): NodeJS.ProcessEnv {
  const env = { ...process.env };
  delete env['NODE_OPTIONS'];
  delete env['FORCE_COLOR'];
  delete env['SPANWISE_CONNECTION'];
  return {
    ...env,
    NO_COLOR: '1',
    // No JupyterLab of this machine is to be shown the examples; that they are told so is no complaint.
    JUPYTER_RUNTIME_DIR: join(tmpdir(), 'spanwise-no-jupyter'),
    NODE_OPTIONS: '--disable-warning=SpanwiseWarning'
  };
}
