/** What one worker has of each resource, and what the tasks there hold of it. */

/** What a task holds while it is at a worker; sorted by name. */
export type Need = readonly {
  readonly name: string;
  readonly amount: number;
}[];

/** Amounts by name. */
export type Amounts = Readonly<Record<string, number>>;

/** A run that was given up: what it holds, of which function it is (its row in `FunctionDurations`), and since when. */
type KeptRun = {
  readonly need: Need;
  readonly row: number;
  readonly since: number;
};

type Entry = { readonly total: number; held: number; holders: number };

/** Amounts are added and taken away again: their sum is right to this share of the total. */
const ROUNDING = 1e-9;

export function needFrom(resources: Amounts | undefined): Need | null {
  const names = Object.keys(resources ?? {}).sort();
  return names.length === 0
    ? null
    : names.map(name => ({ name, amount: resources![name]! }));
}

export class WorkerResources {
  private readonly _entries: ReadonlyMap<string, Entry>;
  /** What runs hold that were given up and may go on: by run id. */
  private readonly _kept = new Map<number, KeptRun>();

  constructor(total: Amounts = {}) {
    this._entries = new Map(
      Object.entries(total).map(([name, amount]) => [
        name,
        { total: amount, held: 0, holders: 0 }
      ])
    );
  }

  /** How many different ones it has. */
  get size(): number {
    return this._entries.size;
  }

  /** Whether it has this one, how much ever. */
  hasSome(name: string): boolean {
    return this._entries.has(name);
  }

  /** Whether it has so much when nobody holds anything. */
  has(need: Need): boolean {
    return need.every(({ name, amount }) => {
      const entry = this._entries.get(name);
      return entry !== undefined && amount <= entry.total;
    });
  }

  hasFree(need: Need): boolean {
    return need.every(({ name, amount }) => {
      const entry = this._entries.get(name);
      return (
        entry !== undefined &&
        entry.held + amount <= entry.total * (1 + ROUNDING)
      );
    });
  }

  /** Of what needed resources too little is free, by name. */
  lacking(need: Need): string[] {
    return need.filter(one => !this.hasFree([one])).map(({ name }) => name);
  }

  /** How much of the need is free: 1 or more, all of it. */
  share(need: Need): number {
    return Math.min(
      ...need.map(({ name, amount }) => {
        const { total, held } = this._entries.get(name)!;
        return amount === 0 ? Infinity : (total - held) / amount;
      })
    );
  }

  take(need: Need): void {
    for (const { name, amount } of need) {
      const entry = this._entries.get(name)!;
      entry.held += amount;
      entry.holders++;
    }
  }

  giveBack(need: Need): void {
    for (const { name, amount } of need) {
      const entry = this._entries.get(name)!;
      entry.holders--;
      // Starting again from zero keeps rounding from adding up.
      entry.held = entry.holders === 0 ? 0 : Math.max(0, entry.held - amount);
    }
  }

  /** A run that holds something is given up: it keeps that until it is known to have ended. */
  keepFor(run: number, kept: KeptRun): void {
    this._kept.set(run, kept);
  }

  /** A run has ended, or will not begin: if it was given up, what it held is free. */
  ended(run: number): void {
    const kept = this._kept.get(run);
    if (kept !== undefined) {
      this._kept.delete(run);
      this.giveBack(kept.need);
    }
  }

  get hasKept(): boolean {
    return this._kept.size > 0;
  }

  /** Runs that were given up and still hold something. */
  kept(): Iterable<KeptRun> {
    return this._kept.values();
  }

  /** Of what needed resources runs that were given up leave too little, whoever else ends; by name. */
  barred(need: Need): string[] {
    return need
      .filter(({ name, amount }) => {
        const total = this._entries.get(name)?.total ?? 0;
        let kept = 0;
        for (const run of this._kept.values()) {
          kept += run.need.find(each => each.name === name)?.amount ?? 0;
        }
        return kept > 0 && kept + amount > total * (1 + ROUNDING);
      })
      .map(({ name }) => name);
  }

  /** Totals and what is held, by name. */
  amounts(): Map<string, { readonly total: number; readonly held: number }> {
    return new Map(this._entries);
  }
}
