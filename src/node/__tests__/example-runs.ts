/**
 * Compiles examples against the built package and runs each in a process of its own, in an empty folder, as a reader does who copies it.
 *
 * What an example prints stands in it, in comments that begin with an arrow:
 *
 * ```
 *   console.log(getSync(graph, 'b'));   // → 2
 *   console.log(`${seconds} s`);        // → … s          … stands for anything
 *   bar.run(() => getSync(graph, 'b')); // → …            or for lines of which nobody knows how many
 * ```
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import type { Example } from './public-names';

/** One Node each; two cores start two at a time. */
const AT_ONCE = 3;
/** A busy machine is patient. */
const LIMIT_MS = 100_000;

type Outcome = {
  /** What TypeScript complains of, one per line. */
  readonly typeErrors: string;
  /** Standard output, lines; of an example that does not compile it is empty. */
  readonly printed: readonly string[];
  /** Standard error, and how it ended unless all is well. */
  readonly complaints: string;
};

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
  private readonly _typeErrors = new Map<Example, string>();
  private readonly _outcomes = new Map<Example, Promise<Outcome>>();
  private readonly _waiting: (() => void)[] = [];
  private _free = AT_ONCE;

  /**
   * @param folder - empty
   * @param packageFolder - the package, built
   * @param modules - node_modules of the checkout, for the package's dependencies and TypeScript's types of Node
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
    this._compile();
  }

  /** Starts all that compile, a few at a time. */
  start(): void {
    for (const example of this._examples) {
      void this.outcomeOf(example);
    }
  }

  outcomeOf(example: Example): Promise<Outcome> {
    let outcome = this._outcomes.get(example);
    if (outcome === undefined) {
      outcome = this._run(example);
      this._outcomes.set(example, outcome);
    }
    return outcome;
  }

  private _compile(): void {
    const paths = new Map<string, Example>();
    for (const example of this._examples) {
      const folder = this._folderOf(example);
      mkdirSync(folder);
      const path = join(folder, 'example.ts');
      writeFileSync(path, example.code);
      paths.set(path, example);
    }
    const program = ts.createProgram([...paths.keys()], {
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
      module: ts.ModuleKind.Node16,
      moduleResolution: ts.ModuleResolutionKind.Node16,
      strict: true,
      noUncheckedIndexedAccess: true,
      noUnusedLocals: true,
      noImplicitOverride: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [join(this._modules, '@types')]
    });
    const { diagnostics } = program.emit();
    for (const diagnostic of [
      ...ts.getPreEmitDiagnostics(program),
      ...diagnostics
    ]) {
      const text = ts.flattenDiagnosticMessageText(
        diagnostic.messageText,
        '\n'
      );
      const example = paths.get(diagnostic.file?.fileName ?? '');
      if (example === undefined) {
        throw new Error(`${diagnostic.file?.fileName ?? 'Options'}: ${text}`);
      }
      const { line } = ts.getLineAndCharacterOfPosition(
        diagnostic.file!,
        diagnostic.start!
      );
      const known = this._typeErrors.get(example) ?? '';
      this._typeErrors.set(example, `${known}line ${line + 1}: ${text}\n`);
    }
  }

  private async _run(example: Example): Promise<Outcome> {
    const typeErrors = this._typeErrors.get(example) ?? '';
    if (typeErrors !== '') {
      return { typeErrors, printed: [], complaints: '' };
    }
    await this._turn();
    const ran = await new Promise<Outcome>(resolve => {
      execFile(
        process.execPath,
        // A reader sees lines of TypeScript too.
        ['--enable-source-maps', 'example.js'],
        {
          cwd: this._folderOf(example),
          timeout: LIMIT_MS,
          env: environment()
        },
        (error, stdout, stderr) => {
          const ending =
            error === null ? '' : `\n(ended: ${error.message.split('\n')[0]})`;
          resolve({
            typeErrors,
            printed: stdout === '' ? [] : stdout.trimEnd().split('\n'),
            complaints: `${stderr}${ending}`
          });
        }
      );
    });
    this._free++;
    this._waiting.shift()?.();
    return ran;
  }

  private async _turn(): Promise<void> {
    while (this._free === 0) {
      await new Promise<void>(resolve => this._waiting.push(resolve));
    }
    this._free--;
  }

  private _folderOf(example: Example): string {
    // Numbered: some file systems take `delayed` and `Delayed` for one name.
    const name = example.title.replace(/\W+/g, '-');
    return join(this._folder, `${this._examples.indexOf(example)}-${name}`);
  }
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
