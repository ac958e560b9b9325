/** Programs that a spec writes as text: compiled with the sources under test, and run in processes of their own. */
import {
  type ChildProcess,
  spawn,
  type SpawnOptions
} from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const checkout = resolve(__dirname, '..', '..');

export type StartedProgram = {
  readonly child: ChildProcess;
  /** What it has written so far to those of its streams that are pipes. */
  output(): string;
  /** When its streams have ended too. */
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
};

export class CompiledPrograms {
  /** Below the checkout, so that the programs of threads and processes are found. */
  private readonly _folder: string;
  private readonly _running = new Set<ChildProcess>();

  /** @param name - of their folder in `.build`; this process's id is added. */
  constructor(name: string) {
    this._folder = join(checkout, '.build', `${name}-${process.pid}`);
  }

  /** Gives the compiled file. `text` imports as from a file at the root of the checkout. */
  async compile(name: string, text: string): Promise<string> {
    const outfile = join(this._folder, `${name}.mjs`);
    await build({
      stdin: { contents: text, resolveDir: checkout, loader: 'ts' },
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['acorn', 'eslint-scope', 'pidtree', 'pidusage'],
      logLevel: 'warning'
    });
    return outfile;
  }

  /** Starts Node with these arguments. */
  start(args: readonly string[], options: SpawnOptions): StartedProgram {
    const child = spawn(process.execPath, args, options);
    this._running.add(child);
    let output = '';
    child.stdout?.on('data', chunk => (output += String(chunk)));
    child.stderr?.on('data', chunk => (output += String(chunk)));
    return {
      child,
      output: () => output,
      ended: new Promise(end =>
        child.on('close', (code, signal) => end({ code, signal }))
      )
    };
  }

  /** Ends all that were started, after each test. */
  kill(): void {
    this._running.forEach(child => child.kill('SIGKILL'));
    this._running.clear();
  }

  /** Removes their files, after the last test. */
  remove(): void {
    rmSync(this._folder, { recursive: true, force: true });
  }
}
