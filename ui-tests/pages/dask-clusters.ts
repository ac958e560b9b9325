/** `programs/dask_clusters.py`: Dask clusters that were started from a shell of this machine. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import * as path from 'node:path';
import * as readline from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { schedulerPort, setting } from '../servers';

type Addresses = {
  readonly plain: string;
  readonly secure: string;
  /** Of what answers as a scheduler of an old release. */
  readonly old: string;
  readonly worker: string;
};

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class DaskClusters {
  private constructor(
    readonly addresses: Addresses,
    private readonly _folder: string,
    private readonly _child: Child,
    private readonly _lines: AsyncIterator<string>
  ) {}

  /** In a folder of their own. */
  static async start(folder: string): Promise<DaskClusters> {
    mkdirSync(folder, { recursive: true });
    const program = path.join(__dirname, '..', 'programs', 'dask_clusters.py');
    // It computes as well: its release of Dask is that of the clusters.
    const python =
      process.env['SPANWISE_DASK_PYTHON'] ?? setting('SPANWISE_TEST_PYTHON');
    const child = spawn(python, [program, folder, schedulerPort()], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe']
    });
    let complaints = '';
    child.stderr.on('data', chunk => (complaints += String(chunk)));
    const lines = readline
      .createInterface({ input: child.stdout })
      [Symbol.asyncIterator]();
    const { value } = await lines.next();
    if (typeof value !== 'string') {
      throw new Error(complaints);
    }
    const addresses = JSON.parse(value) as Addresses;
    return new DaskClusters(addresses, folder, child, lines);
  }

  /** A file of certificates. */
  file(name: string): string {
    return path.join(this._folder, name);
  }

  /** Done to the scheduler that is reached by TCP; `restart`: another one, at its address. */
  async have(order: 'kill' | 'restart' | 'close'): Promise<void> {
    this._child.stdin.write(`${order}\n`);
    const { value } = await this._lines.next();
    if (value !== order) {
      throw new Error(`${order} was not done, but ${String(value)}.`);
    }
  }

  async end(): Promise<void> {
    const ended = new Promise(resolve => this._child.on('close', resolve));
    this._child.stdin.end();
    await ended;
  }
}
