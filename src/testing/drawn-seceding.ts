/**
 * Drawn workers whose tasks leave their threads to others, and have one again: the log that they tell, and who held which thread in each tick.
 *
 *     thread 0   A A A A · B B B A A · C C     A has left its place to a thread that begins a tick later, and takes it back from that
 *     seceded 1          A A A A               is drawn there from its start to its end
 */
import { SeededRandom } from '../base/seeded-random';
import { OTHER_TASKS, RunStatus } from '../records/enumerations';
import { ingestBlock } from '../observer/store/ingest';
import { LogStore } from '../observer/store/log-store';
import type { TableName } from '../records/tables';
import { rowsToBlock, type Row } from './rows-to-block';

/** Exact in float32. */
export const TICK = 1 / 64;
export const TICKS = 600;
/** Ids of names. */
const FUNCTIONS = [1, 2, 3];
const [OTHER, SECONDS] = [10, 11];

/** A thread of the system. */
type Thread = {
  readonly ident: number;
  /** The thread of the worker whose place it has; null: it has none. */
  place: number | null;
  run: DrawnRun | null;
};
type DrawnRun = {
  readonly run: number;
  readonly function: number;
  readonly start: number;
  /** A lane beside the threads, from when it has seceded on. */
  beside: number | null;
  /** For so many ticks others have had its thread. */
  ticksBeside: number;
};
/** In one tick of a worker: by thread the run that holds it, and the runs that are beside. */
type WorkerTick = {
  readonly worker: number;
  readonly held: readonly (DrawnRun | null)[];
  readonly beside: readonly DrawnRun[];
};
export type DrawnSeceding = {
  readonly log: LogStore;
  /** By tick, then by worker. */
  readonly ticks: readonly (readonly WorkerTick[])[];
  /** How many runs have had a thread again, and how many go on. */
  readonly rejoined: number;
  readonly going: number;
};

export function drawSeceding(seed: number): DrawnSeceding {
  const random = new SeededRandom(seed);
  const rows: Partial<Record<TableName, Row[]>> = {};
  const tell = (table: TableName, row: Row): void => {
    (rows[table] ??= []).push(row);
  };
  const counts = { lanes: 0, runs: 0 };
  const workers = [3, 5].map(
    worker => new DrawnWorker(worker, 1 + random.below(3), random, tell, counts)
  );
  const ticks: WorkerTick[][] = [];
  for (let tick = 0; tick < TICKS; tick++) {
    ticks.push(workers.map(worker => worker.step(tick)));
  }
  const going = workers.map(worker => worker.tellRunning());
  const header = JSON.stringify({ kind: 'embedded', capabilities: {} });
  tell('header', { t: 0, json: header });
  [...FUNCTIONS, OTHER, SECONDS].forEach(id => {
    const text =
      id === OTHER ? OTHER_TASKS : id === SECONDS ? 'seconds' : `f${id}`;
    tell('names', { id, text });
  });
  const log = new LogStore('seceding');
  for (const table of [
    'header',
    'names',
    'workers',
    'lanes',
    'capacity',
    'runs',
    'running',
    'meters'
  ] as const) {
    ingestBlock(log, rowsToBlock(log.seq + 1, table, rows[table] ?? []));
  }
  return {
    log,
    ticks,
    rejoined: workers.reduce((sum, { rejoined }) => sum + rejoined, 0),
    going: going.reduce((sum, count) => sum + count, 0)
  };
}

class DrawnWorker {
  rejoined = 0;
  private readonly _threads: Thread[] = [];
  private readonly _lanes: number[] = [];
  /** By lane beside the threads: when the last run there ended; Infinity: one has it. */
  private readonly _free = new Map<number, number>();

  constructor(
    private readonly _worker: number,
    private readonly _count: number,
    private readonly _random: SeededRandom,
    private readonly _tell: (table: TableName, row: Row) => void,
    private readonly _counts: { lanes: number; runs: number }
  ) {
    const worker = { worker: _worker, threads: _count };
    _tell('workers', { ...worker, name: `w${_worker}`, joined: 0, left: NaN });
    _tell('capacity', { ...worker, t: 0 });
    for (let place = 0; place < _count; place++) {
      this._place(this._newThread(), place, 0);
    }
  }

  step(tick: number): WorkerTick {
    const t = tick * TICK;
    // What was left in the tick before has another thread now.
    for (let place = 0; place < this._count; place++) {
      if (this._at(place) === undefined) {
        const spare = this._threads.find(
          thread => thread.place === null && thread.run === null
        );
        this._place(spare ?? this._newThread(), place, t);
      }
    }
    for (const thread of [...this._threads]) {
      this._change(thread, t);
    }
    const held = Array.from(
      { length: this._count },
      (_, place) => this._at(place)?.run ?? null
    );
    const beside = this._threads.flatMap(({ place, run }) =>
      place === null && run !== null ? [run] : []
    );
    beside.forEach(run => run.ticksBeside++);
    return { worker: this._worker, held, beside };
  }

  /** @returns how many run. */
  tellRunning(): number {
    const running = this._threads.filter(({ run }) => run !== null);
    for (const { place, run } of running) {
      this._tell('running', {
        lane: this._lane(run!.beside ?? place!),
        node: run!.run,
        function: run!.function,
        started: run!.start
      });
    }
    return running.length;
  }

  private _change(thread: Thread, t: number): void {
    const { run, place } = thread;
    const random = this._random;
    if (run === null) {
      if (place !== null && random.chance(0.15)) {
        thread.run = {
          run: this._counts.runs++,
          function: random.pick(FUNCTIONS),
          start: t,
          beside: null,
          ticksBeside: 0
        };
      }
      return;
    }
    if (run.start === t) {
      return;
    }
    if (random.chance(0.07)) {
      this._end(thread, run, t);
    } else if (place !== null && random.chance(0.1)) {
      run.beside ??= this._besideNumber(run);
      thread.place = null;
      this._note(run.beside, thread, t);
    } else if (place === null && random.chance(0.2)) {
      const idle = this._threads.find(
        other => other.place !== null && other.run === null
      );
      if (idle !== undefined) {
        const taken = idle.place!;
        idle.place = null;
        this._place(thread, taken, t);
        this.rejoined++;
      }
    }
  }

  private _end(thread: Thread, run: DrawnRun, t: number): void {
    thread.run = null;
    const seconds = run.ticksBeside * TICK;
    this._tell('runs', {
      run: run.run,
      node: run.run,
      function: run.function,
      lane: this._lane(run.beside ?? thread.place!),
      status: RunStatus.Ok,
      attempt: 1,
      start: run.start,
      duration: t - run.start,
      cpu: (t - run.start) * this._random.next()
    });
    if (run.beside !== null) {
      this._free.set(run.beside, t);
      if (seconds > 0 && this._random.chance(0.7)) {
        this._tell('meters', {
          run: run.run,
          function: run.function,
          label: OTHER,
          unit: SECONDS,
          value: seconds,
          cpu: 0
        });
      }
    }
  }

  /** One beside the threads that has been free since the run began. */
  private _besideNumber({ start }: DrawnRun): number {
    const free = [...this._free].find(([, since]) => since <= start);
    const number = free?.[0] ?? this._count + this._free.size;
    this._free.set(number, Infinity);
    return number;
  }

  private _newThread(): Thread {
    const ident = 2 ** 40 + 64 * this._threads.length;
    const thread = { ident, place: null, run: null };
    this._threads.push(thread);
    return thread;
  }

  private _at(place: number): Thread | undefined {
    return this._threads.find(thread => thread.place === place);
  }

  private _place(thread: Thread, place: number, t: number): void {
    thread.place = place;
    this._note(place, thread, t);
  }

  private _note(number: number, { ident }: Thread, since: number): void {
    const lane = this._lane(number);
    const worker = this._worker;
    this._tell('lanes', { lane, worker, thread: number, ident, since });
  }

  private _lane(number: number): number {
    return (this._lanes[number] ??= this._counts.lanes++);
  }
}
