/** A process of a pool, as one worker of the log with one lane. */
export class ProcessSlot {
  /** null: it has not said a word yet, or has ended. */
  pid: number | null = null;
  /** Runs whose pool may use it. */
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

  /** Slots for a run on so many processes. */
  acquire(size: number): ProcessSlot[] {
    const free = this.all.filter(slot => slot.users === 0);
    while (free.length < size) {
      free.push(this._add());
    }
    // Processes that live on are probably of the same pool.
    free.sort(
      (a, b) =>
        Number(a.pid === null) - Number(b.pid === null) || a.worker - b.worker
    );
    const taken = free.slice(0, size);
    taken.forEach(slot => slot.users++);
    return taken;
  }

  release(slots: readonly ProcessSlot[]): void {
    slots.forEach(slot => slot.users--);
  }

  /** The slot of a process; `isNew` if it has just got it. */
  of(pid: number): { slot: ProcessSlot; isNew: boolean } {
    const known = this.all.find(slot => slot.pid === pid);
    if (known !== undefined) {
      return { slot: known, isNew: false };
    }
    const waiting = this.all.filter(slot => slot.pid === null);
    const slot =
      waiting.find(({ users }) => users > 0) ?? waiting[0] ?? this._add();
    slot.pid = pid;
    return { slot, isNew: true };
  }

  private _add(): ProcessSlot {
    const slot = new ProcessSlot(this._first + this.all.length);
    this.all.push(slot);
    return slot;
  }
}
