/** A Jupyter server for the panning benchmark, with everything that it writes in a folder of its own. Linux. */
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';

const START_SECONDS = 600;
/** `python -m jupyterlab`, without what takes half of its start. */
const JUPYTERLAB = `
import sys
from spanwise.tests.address_grammar import without_address_grammar
with without_address_grammar():
    from jupyterlab.labapp import main
sys.exit(main())
`;

/** Where the doorbell is; written by the server extension. */
export type Connection = {
  readonly doorbell: string;
  readonly secretFile: string;
  readonly build: string;
};

export class JupyterServer {
  private _port = 0;
  private _process: ChildProcess | null = null;

  constructor(
    private readonly _python: string,
    private readonly _folder: string
  ) {}

  get address(): string {
    return `http://127.0.0.1:${this._port}/`;
  }

  async start(): Promise<void> {
    this._port = await freePort();
    for (const name of ['config', 'data', 'runtime']) {
      await mkdir(join(this._folder, name), { recursive: true });
    }
    const log = openSync(join(this._folder, 'server.log'), 'w');
    this._process = spawn(
      resolve(this._python),
      [
        '-c',
        JUPYTERLAB,
        '--allow-root',
        '--config',
        // Seen from the bundle in .build.
        fileURLToPath(
          new URL('../ui-tests/jupyter_server_test_config.py', import.meta.url)
        )
      ],
      {
        cwd: this._folder,
        stdio: ['ignore', log, log],
        env: {
          ...process.env,
          SPANWISE_BROWSER_SERVER: 'panning',
          SPANWISE_BROWSER_PORT: String(this._port),
          SPANWISE_BROWSER_BASE_URL: '/',
          JUPYTER_CONFIG_DIR: join(this._folder, 'config'),
          JUPYTER_DATA_DIR: join(this._folder, 'data'),
          JUPYTER_RUNTIME_DIR: join(this._folder, 'runtime')
        }
      }
    );
    await this._until('the server to answer', async () => {
      const answer = await fetch(`${this.address}api`).catch(() => null);
      return answer?.ok === true ? true : null;
    });
  }

  /** The file that tells programs where the doorbell is. */
  connectionFile(): Promise<string> {
    const folder = join(this._folder, 'runtime');
    return this._until('the connection file', async () => {
      const name = readdirSync(folder).find(file =>
        /^spanwise-.*\.json$/.test(file)
      );
      return name === undefined ? null : join(folder, name);
    });
  }

  async connection(): Promise<Connection> {
    const file = await this.connectionFile();
    return JSON.parse(await readFile(file, 'utf8')) as Connection;
  }

  /** The observer is a child of the server. */
  observerPid(): number {
    const found = readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .map(Number)
      .find(
        pid =>
          parentOf(pid) === this._process?.pid &&
          procFile(pid, 'cmdline').includes('\0observer\0')
      );
    if (found === undefined) {
      throw new Error('The server has no observer.');
    }
    return found;
  }

  async stop(): Promise<void> {
    const child = this._process;
    if (child === null || child.exitCode !== null) {
      return;
    }
    const ended = new Promise(done => child.once('exit', done));
    child.kill('SIGTERM');
    // (a pause that nobody awaits any more does not keep this program)
    await Promise.race([ended, pause(20_000, undefined, { ref: false })]);
    child.kill('SIGKILL');
  }

  private async _until<R>(
    what: string,
    attempt: () => Promise<R | null>
  ): Promise<R> {
    const limit = performance.now() + START_SECONDS * 1000;
    while (performance.now() < limit) {
      const result = await attempt();
      if (result !== null) {
        return result;
      }
      if (this._process?.exitCode !== null) {
        break;
      }
      await pause(200);
    }
    const log = await readFile(join(this._folder, 'server.log'), 'utf8');
    throw new Error(`Waited in vain for ${what}.\n${log.slice(-3000)}`);
  }
}

/** The process's memory now, or the most that it has had. */
export function residentMegabytes(
  pid: number,
  which: 'VmRSS' | 'VmHWM' = 'VmRSS'
): number {
  const line = new RegExp(`${which}:\\s+(\\d+) kB`);
  const [, kibibytes] = line.exec(procFile(pid, 'status')) ?? [];
  return (Number(kibibytes) * 1024) / 1e6;
}

function parentOf(pid: number): number {
  return Number(/PPid:\s+(\d+)/.exec(procFile(pid, 'status'))?.[1]);
}

/** Empty if the process has gone. */
function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        done(typeof address === 'object' ? (address?.port ?? 0) : 0)
      );
    });
  });
}
