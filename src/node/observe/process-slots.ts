/** A process of a pool, as one worker of the log with one lane. */
export class ProcessSlot {
  /** null: the process has reported nothing yet, or has ended. */
  pid: number | null = null;
  /** The pool whose processes it is for; null: any. */
  pool: object | null = null;
  /** Computations whose pool may use it. */
  users = 0;

  constructor(
    /** Its number in the log. */
    readonly worker: number
  ) {}
}

/** Slots for the processes of pools: one that is new takes the place (and number) of one that has ended. */
export class ProcessSlots {
  readonly all: ProcessSlot[] = [];

  /** @param _first - number of the first one's worker. */
  constructor(private readonly _first: number) {}

  /**
   * Slots for a computation on `size` processes of a pool that has at most `most`: computations on it at the same time share slots when
   * together they could use more processes than there are.
   */
  acquire(pool: object, size: number, most = size): ProcessSlot[] {
    const own = this.all.filter(slot => slot.pool === pool);
    const idle = own
      .filter(({ users }) => users === 0)
      .sort((a, b) => Number(a.pid === null) - Number(b.pid === null));
    const room = Math.max(0, most - own.length);
    const free = this.all.filter(slot => slot.pool === null).slice(0, room);
    while (free.length < room && idle.length + free.length < size) {
      free.push(this._add());
    }
    const shared = own.filter(({ users }) => users > 0);
    const taken = [...idle, ...free, ...shared].slice(0, size);
    for (const slot of taken) {
      slot.pool = pool;
      slot.users++;
    }
    return taken;
  }

  release(slots: readonly ProcessSlot[]): void {
    for (const slot of slots) {
      slot.users--;
      freeIfUnused(slot);
    }
  }

  /** The slot of a process of a pool; `isNew` if it has just got it. */
  of(pool: object, pid: number): { slot: ProcessSlot; isNew: boolean } {
    const known = this.all.find(slot => slot.pid === pid);
    if (known !== undefined) {
      return { slot: known, isNew: false };
    }
    const waiting = this.all.filter(slot => slot.pid === null);
    const slot =
      waiting.find(each => each.pool === pool) ??
      waiting.find(each => each.pool === null) ??
      this._add();
    slot.pid = pid;
    slot.pool = pool;
    return { slot, isNew: true };
  }

  /** The process is gone: whichever pool is next may have its place. */
  ended(slot: ProcessSlot): void {
    slot.pid = null;
    freeIfUnused(slot);
  }

  private _add(): ProcessSlot {
    const slot = new ProcessSlot(this._first + this.all.length);
    this.all.push(slot);
    return slot;
  }
}

function freeIfUnused(slot: ProcessSlot): void {
  if (slot.users === 0 && slot.pid === null) {
    slot.pool = null;
  }
}
