/**
 * Tells the log how far tasks are, by function and span: panels show it as bars. In the scheduler process.
 *
 * Counted while somebody may see it, and once when the cluster ends; of what has changed a row is written.
 */
import type { TallyCounts } from '../../scheduler';
import type { ClusterState } from './cluster-state';
import { beginsNothing } from './held-up';

/** Counts of a row, in their order in what was told. */
const COUNTS = [
  'done',
  'memory',
  'running',
  'waiting',
  'failed',
  'dropped'
] as const;
type Count = (typeof COUNTS)[number];

export class ToldProgress {
  /** By tally, what the log says: as many numbers as there are counts. */
  private _told = new Uint32Array(0);

  constructor(
    private readonly _cluster: ClusterState,
    private readonly _host: { gather(act: () => void): void }
  ) {}

  /** Nobody looks. What was told changes untold: the log then says so, and all is told anew to who comes. */
  unseen(): void {
    if (this._told.some(count => count !== 0)) {
      this._told.fill(0);
      const { clock, log } = this._cluster;
      this._host.gather(() => log.progressUntold(clock()));
    }
  }

  look(): void {
    const { core, log, tallies, clock } = this._cluster;
    const counts = this._counts(core.countByTally());
    const { length } = counts.done;
    if (this._told.length < length * COUNTS.length) {
      const told = new Uint32Array(length * COUNTS.length);
      told.set(this._told);
      this._told = told;
    }
    const changed: number[] = [];
    for (let tally = 0; tally < length; tally++) {
      let isChanged = false;
      for (let i = 0; i < COUNTS.length; i++) {
        const at = tally * COUNTS.length + i;
        const count = counts[COUNTS[i]!][tally]!;
        isChanged ||= this._told[at] !== count;
        this._told[at] = count;
      }
      if (isChanged) {
        changed.push(tally);
      }
    }
    if (changed.length > 0) {
      this._host.gather(() =>
        log.progress(
          clock(),
          changed.map(tally => ({
            function: tallies.functionOf(tally),
            within: tallies.spanOf(tally),
            done: counts.done[tally]!,
            memory: counts.memory[tally]!,
            running: counts.running[tally]!,
            waiting: counts.waiting[tally]!,
            failed: counts.failed[tally]!,
            dropped: counts.dropped[tally]!
          }))
        )
      );
    }
  }

  /** What a worker has not begun waits there. */
  private _counts({
    processing,
    waiting,
    ...others
  }: TallyCounts): Readonly<Record<Count, Uint32Array>> {
    const { tally } = this._cluster.core.tasks;
    const running = new Uint32Array(processing.length);
    for (const task of this._begun()) {
      running[tally[task]!]!++;
    }
    return {
      ...others,
      running,
      waiting: waiting.map(
        (count, of) => count + Math.max(0, processing[of]! - running[of]!)
      )
    };
  }

  private *_begun(): Iterable<number> {
    const { core, workers } = this._cluster;
    const { tasks } = core;
    for (const session of workers.values()) {
      const told = new Set<number>();
      for (const { task, run } of session.running.values()) {
        if (tasks.isRunOf(session.id, task, run)) {
          told.add(task);
        }
      }
      yield* told;
      const worker = core.workers.get(session.id);
      if (worker !== undefined && !beginsNothing(session)) {
        yield* core.takenForBegun(worker, told);
      }
    }
  }
}
