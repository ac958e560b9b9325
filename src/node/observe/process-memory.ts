import { readFileSync } from 'node:fs';

const KIB = 1024;

/**
 * Bytes of a process: resident, less what it shares with files and others. Off Linux, all that is resident, and of this process alone.
 *
 * @param pid - of another process; undefined: of this one, whichever thread asks.
 * @returns NaN if that cannot be known; null if the process is gone.
 */
export function processMemory(pid?: number): number | null {
  if (process.platform !== 'linux') {
    return pid === undefined
      ? process.memoryUsage.rss()
      : isThere(pid)
        ? NaN
        : null;
  }
  let text: string;
  try {
    text = readFileSync(`/proc/${pid ?? 'self'}/status`, 'latin1');
  } catch {
    return null;
  }
  // A process that has ended and was not waited for yet has no memory.
  const found = /^RssAnon:\s*(\d+) kB$/m.exec(text);
  return found === null ? null : Number(found[1]) * KIB;
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
