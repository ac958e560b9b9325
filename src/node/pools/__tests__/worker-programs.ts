/** Builds the programs that workers run from the sources under test. */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

export const checkout = resolve(__dirname, '..', '..', '..', '..');

export function buildWorkerPrograms(): void {
  execFileSync(
    process.execPath,
    [
      'scripts/bundle-node-programs.mjs',
      '.build/node-programs',
      'pool-thread.mjs',
      'pool-process.mjs'
    ],
    { cwd: checkout, timeout: 60_000 }
  );
}

/** Whether there is a process of that id that has not ended. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') {
      return false;
    }
    throw error;
  }
}
