import pidtree from 'pidtree';
import pidusage from 'pidusage';
import type { IProcessTree, ProcessReading } from './cpu-meter';

/**
 * A process and everything below it, where there is no /proc: from the system's own programs (`ps`, PowerShell), which take tens to
 * hundreds of milliseconds a time.
 */
export class PortableProcessTree implements IProcessTree {
  private readonly _root: number;
  private readonly _excluded: number;

  /** @param excluded - left out, with everything below it: the process that watches, and the programs that it asks */
  constructor(root: number, excluded: number) {
    this._root = root;
    this._excluded = excluded;
  }

  async read(): Promise<ProcessReading[]> {
    const all = await pidtree(this._root, { root: true, advanced: true });
    const excluded = new Set([this._excluded]);
    // Parents come before their children.
    for (const { pid, ppid } of all) {
      if (excluded.has(ppid)) {
        excluded.add(pid);
      }
    }
    const pids = all.map(({ pid }) => pid).filter(pid => !excluded.has(pid));
    // The answer leaves out processes that have gone meanwhile.
    const usages = await pidusage(pids);
    return Object.values(usages)
      .filter(usage => usage)
      .map(({ pid, ctime, memory }) => ({
        id: String(pid),
        cpuSeconds: ctime / 1000,
        residentBytes: memory
      }));
  }
}
