/** `programs/observed-program.mjs`, in a folder of its own that has the npm package installed: started as in a terminal of this machine. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import * as path from 'node:path';
import { runtimeFolder } from '../servers';

const ROOT = path.resolve(__dirname, '..', '..');
const PROGRAM = 'observed-program.mjs';
const OUTPUT = 'records.json';

export class NodeProgram {
  private _child: ChildProcess | null = null;
  private _ended: Promise<number | string | null> | null = null;
  private _complaints = '';
  private _output = '';

  /** @param _schedulers - that it uses, one after the other. */
  constructor(
    readonly name: string,
    private readonly _folder: string,
    private readonly _schedulers: readonly string[]
  ) {
    const modules = path.join(_folder, 'node_modules');
    mkdirSync(modules, { recursive: true });
    symlinkSync(
      path.join(ROOT, '.build', 'npm'),
      path.join(modules, 'spanwise')
    );
    copyFileSync(
      path.join(ROOT, 'ui-tests', 'programs', PROGRAM),
      path.join(_folder, PROGRAM)
    );
  }

  /** For a shell: its output goes to a file beside it. `before`: what stands before the command. */
  command(before = ''): string {
    const quoted = [process.execPath, ...this._args].map(each => `'${each}'`);
    return `${before} ${quoted.join(' ')} > '${path.join(this._folder, OUTPUT)}'`;
  }

  start(): void {
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      JUPYTER_RUNTIME_DIR: runtimeFolder('laptop')
    };
    delete env['SPANWISE_CONNECTION'];
    const child = spawn(process.execPath, this._args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env
    });
    this._output = '';
    this._complaints = '';
    child.stdout.on('data', chunk => (this._output += String(chunk)));
    child.stderr.on('data', chunk => (this._complaints += String(chunk)));
    this._child = child;
    this._ended = new Promise(resolve =>
      child.on('close', (code, signal) => resolve(signal ?? code))
    );
  }

  /** Its last task of this scheduler may end. */
  enough(scheduler: string): void {
    writeFileSync(path.join(this._folder, `enough-${scheduler}`), '');
  }

  /** Exit code or signal. */
  async ended(): Promise<number | string | null> {
    return this._ended;
  }

  kill(): void {
    this._child?.kill('SIGKILL');
  }

  /** Ids of the processes that it has started. */
  children(): number[] {
    const found = spawnSync(
      'ps',
      ['-o', 'pid=', '--ppid', `${this._child?.pid}`],
      {
        encoding: 'utf8'
      }
    );
    return found.stdout.trim().split(/\s+/).map(Number);
  }

  /** Ends all processes of the test, however it ended. */
  stop(): void {
    this.kill();
    this._schedulers.forEach(scheduler => this.enough(scheduler));
  }

  /** Its output for people. */
  get complaints(): string {
    return this._complaints;
  }

  /** Its output, or what it wrote by {@link command}; empty while there is nothing. */
  get output(): string {
    return this._child === null
      ? readFileSync(path.join(this._folder, OUTPUT), 'utf8')
      : this._output;
  }

  private get _args(): string[] {
    return [
      path.join(this._folder, PROGRAM),
      this.name,
      this._folder,
      ...this._schedulers
    ];
  }
}
