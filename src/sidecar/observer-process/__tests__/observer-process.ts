/** The observer as it ships: bundled, in a process of its own. */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstLine } from '../../../testing/first-line';

export class ObserverPrograms {
  static async build(): Promise<ObserverPrograms> {
    const home = await mkdtemp(join(tmpdir(), 'spanwise-'));
    const node = join(home, 'node');
    const script = join(
      __dirname,
      '..',
      '..',
      '..',
      '..',
      'scripts',
      'bundle-node.mjs'
    );
    execFileSync(process.execPath, [script, node], { stdio: 'pipe' });
    return new ObserverPrograms(home, join(node, 'spanwise.cjs'));
  }

  private constructor(
    private readonly _home: string,
    private readonly _bundle: string
  ) {}

  /** In a folder of its own, as its owner makes it. */
  async start(settings: unknown) {
    const folder = await mkdtemp(join(this._home, 'o-'));
    const child = spawn(
      process.execPath,
      [this._bundle, 'observer', '--folder', folder],
      { stdio: ['pipe', 'pipe', 'inherit'] }
    );
    child.stdin.write(`${JSON.stringify(settings)}\n`);
    const line = await firstLine(child);
    return { child, folder, said: JSON.parse(line) as Record<string, unknown> };
  }

  async remove(): Promise<void> {
    await rm(this._home, { recursive: true, force: true });
  }
}

/** Megabytes of memory that a process of this machine has; Linux tells. */
export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** Seconds in which a process was ready to compute and had no core, its first thread: Linux tells. */
export function coreWaitSeconds(pid: number): number {
  const [, nanoseconds] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(
    ' '
  );
  return Number(nanoseconds) / 1e9;
}
