import { readdirSync, readFileSync } from 'node:fs';
import { isMissing } from './missing-file';
import type { IProcessTree, ProcessReading } from './cpu-meter';

/** Entries of /proc/self/auxv: pairs of machine words. */
const AT_PAGESZ = 6n;
const AT_CLKTCK = 17n;

type Stat = {
  readonly parent: number;
  readonly isZombie: boolean;
  readonly reading: ProcessReading;
};

/**
 * A process and everything below it, from /proc: about 0.1 ms per process.
 *
 * Children are listed per thread in `/proc/PID/task/TID/children`; kernels without that file get one pass over all of /proc.
 */
export class LinuxProcessTree implements IProcessTree {
  private readonly _root: number;
  private readonly _excluded: number;
  private readonly _pageBytes: number;
  private readonly _ticksPerSecond: number;
  private readonly _hasChildrenFiles: boolean;

  /** @param excluded - left out, with everything below it: the process that watches */
  constructor(root: number, excluded: number) {
    this._root = root;
    this._excluded = excluded;
    const facts = systemFacts();
    this._pageBytes = facts.pageBytes;
    this._ticksPerSecond = facts.ticksPerSecond;
    this._hasChildrenFiles =
      readText(`/proc/self/task/${process.pid}/children`) !== null;
  }

  read(): ProcessReading[] {
    const childrenOf = this._hasChildrenFiles
      ? listedChildren
      : this._childrenByParent();
    const readings: ProcessReading[] = [];
    const pids = [this._root];
    for (let pid = pids.pop(); pid !== undefined; pid = pids.pop()) {
      const stat = pid === this._excluded ? null : this._stat(pid);
      if (stat === null) {
        continue;
      }
      if (!stat.isZombie) {
        readings.push(stat.reading);
      }
      pids.push(...childrenOf(pid));
    }
    return readings;
  }

  /** null if the process is gone. The name, in parentheses, may hold anything, so the fields are counted from its end. */
  private _stat(pid: number): Stat | null {
    const text = readText(`/proc/${pid}/stat`);
    if (text === null) {
      return null;
    }
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const number = (index: number) => Number(fields[index]);
    return {
      parent: number(1),
      isZombie: fields[0] === 'Z' || fields[0] === 'X',
      reading: {
        // It includes the time of the process's start, in case the pid is given out again.
        id: `${pid}@${fields[19]}`,
        cpuSeconds: (number(11) + number(12)) / this._ticksPerSecond,
        residentBytes: number(21) * this._pageBytes
      }
    };
  }

  private _childrenByParent(): (pid: number) => readonly number[] {
    const children = new Map<number, number[]>();
    for (const name of readdirSync('/proc')) {
      const pid = Number(name);
      const stat = Number.isInteger(pid) ? this._stat(pid) : null;
      if (stat !== null) {
        const siblings = children.get(stat.parent);
        if (siblings === undefined) {
          children.set(stat.parent, [pid]);
        } else {
          siblings.push(pid);
        }
      }
    }
    return pid => children.get(pid) ?? [];
  }
}

function listedChildren(pid: number): number[] {
  return threadsOf(pid).flatMap(thread => {
    const text = readText(`/proc/${pid}/task/${thread}/children`);
    return text === null || text === ''
      ? []
      : text.trim().split(' ').map(Number);
  });
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch (error) {
    if (isMissing(error)) {
      return [];
    }
    throw error;
  }
}

/** null if the process or the file is not there (any more), or is another user's. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (isMissing(error)) {
      return null;
    }
    throw error;
  }
}

/** Bytes of a page and ticks of a second, as the kernel told this process at its start. */
function systemFacts(): { pageBytes: number; ticksPerSecond: number } {
  const facts = new Map<bigint, number>();
  const bytes = readFileSync('/proc/self/auxv');
  for (let offset = 0; offset + 16 <= bytes.length; offset += 16) {
    facts.set(
      bytes.readBigUInt64LE(offset),
      Number(bytes.readBigUInt64LE(offset + 8))
    );
  }
  return {
    pageBytes: facts.get(AT_PAGESZ) ?? 4096,
    ticksPerSecond: facts.get(AT_CLKTCK) ?? 100
  };
}
