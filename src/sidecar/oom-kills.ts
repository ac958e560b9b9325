/** How often the system's OOM killer has ended a process. In the Node programs. */
import { readFileSync } from 'node:fs';

export class OomKills {
  private _seen: number;

  /** @param _read - a file's text; empty if there is none. */
  constructor(private readonly _read: (path: string) => string = textOf) {
    this._seen = this._count();
  }

  /**
   * Whether it has ended a process since this was last asked. That of another program counts too where this one's control group cannot be
   * read.
   */
  haveRisen(): boolean {
    const before = this._seen;
    this._seen = this._count();
    return this._seen > before;
  }

  /** Of this control group where it says so, else of the whole system; 0 where neither does (not Linux). */
  private _count(): number {
    const group = /^0::(.*)$/m.exec(this._read('/proc/self/cgroup'))?.[1];
    const events =
      group === undefined
        ? ''
        : this._read(`/sys/fs/cgroup${group}/memory.events`);
    const found =
      /^oom_kill (\d+)$/m.exec(events) ??
      /^oom_kill (\d+)$/m.exec(this._read('/proc/vmstat'));
    return Number(found?.[1] ?? 0);
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
