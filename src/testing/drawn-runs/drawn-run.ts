/**
 * One drawn run: graphs, workers, clients and faults in an order that a seed decides, then calm, then the last release. The same settings give
 * the same run.
 */
import { SeededRandom } from '../../base/seeded-random';
import { CheapestPlacement } from '../../scheduler';
import { RandomPlacement } from '../random-placement';
import { DrawnCluster } from './drawn-cluster';
import {
  ALL_RESOURCES,
  drawnData,
  drawnResources,
  drawnSpecs,
  PLACES
} from './drawn-graph-specs';
import type { DrawnSpec, DrawnTask } from './drawn-tasks';
import {
  WrongRun,
  type DrawnWorker,
  type FromDrawnWorker
} from './drawn-worker';

/** What may go wrong or change beside the plain computing of graphs. */
const FAULTS = [
  'deaths',
  'joins',
  'losses',
  'stale',
  'lies',
  'pauses',
  'stops',
  'retirements',
  'wishes',
  'failures',
  'seceding',
  'restrictions',
  'resources',
  'copies',
  'stalls',
  'batches',
  'parts',
  'tellsUsers'
] as const;
type Fault = (typeof FAULTS)[number];

export type DrawnRun = {
  readonly seed: number;
  /** At most so many tasks. */
  readonly tasks: number;
  /** So many steps before all is calm. */
  readonly steps: number;
  readonly faults: readonly Fault[];
};

/** What a run was like, for the account of many. */
type RunFigures = {
  readonly events: number;
  readonly tasks: number;
};

const EVERY_NAME = [...PLACES, '0', '1', '2', '3', '4'];
/** No run of 40 tasks takes as many: it would never end. */
const MOST_STEPS = 30_000;
const MOST_EVENTS = 10_000;

/** The run that a seed stands for. Some runs have few faults: what one kind can do alone is easily lost among all. */
export function drawnRun(seed: number): DrawnRun {
  const random = new SeededRandom(seed ^ 0x5bd1e995);
  const share = random.pick([0, 0.2, 0.4, 0.7, 1]);
  return {
    seed,
    tasks: random.chance(0.2) ? 40 : 1 + random.below(24),
    steps: random.below(random.pick([60, 200, 400])),
    faults: FAULTS.filter(
      // A lie may stay for ever where nobody looks, so most runs are without: there the truth is checked.
      fault => random.chance(fault === 'lies' ? share / 6 : share)
    )
  };
}

/** @throws WrongRun, InvariantError, InvalidTransition: what is wrong. */
export function play(run: DrawnRun, isTraced = false): RunFigures {
  const player = new Player(run, isTraced);
  try {
    player.play();
  } catch (error) {
    if (isTraced && error instanceof Error) {
      error.message += `\n\n${player.cluster.trace!.join('\n')}`;
    }
    throw error;
  }
  return { events: player.cluster.events, tasks: player.cluster.tasks.length };
}

/** The same failure with less: fewer faults, tasks and steps, as far as some run still fails. */
export function shrunk(run: DrawnRun): DrawnRun {
  let best = run;
  const fails = (candidate: DrawnRun): boolean => {
    try {
      play(candidate);
      return false;
    } catch {
      best = candidate;
      return true;
    }
  };
  let before: DrawnRun;
  do {
    before = best;
    for (const fault of best.faults) {
      fails({ ...best, faults: best.faults.filter(each => each !== fault) });
    }
    for (const name of ['tasks', 'steps'] as const) {
      for (let cut = best[name]; cut >= 1; cut = Math.floor(cut / 2)) {
        while (
          best[name] > cut &&
          fails({ ...best, [name]: best[name] - cut })
        );
      }
    }
  } while (best !== before);
  return best;
}

/** A graph that comes in parts and tells who has users. */
class ToldGraph {
  private readonly _users: number[];
  private readonly _numbers: number[] = [];

  /** @param _specs - an input n ≥ 0 is the graph's own task n, another one the task ~n of the run. */
  constructor(private readonly _specs: readonly DrawnSpec[]) {
    this._users = _specs.map(() => 0);
    for (const { inputs } of _specs) {
      for (const input of inputs) {
        if (input >= 0) {
          this._users[input]!++;
        }
      }
    }
  }

  get isEmpty(): boolean {
    return this._numbers.length === this._specs.length;
  }

  /** @param first - the number that the first task gets. */
  take(
    most: number,
    first: number
  ): { readonly specs: DrawnSpec[]; readonly users: number[] } {
    const begin = this._numbers.length;
    const taken = this._specs.slice(begin, begin + most);
    taken.forEach((_, i) => this._numbers.push(first + i));
    return {
      specs: taken.map(spec => ({
        ...spec,
        inputs: spec.inputs.map(n => (n < 0 ? ~n : this._numbers[n]!))
      })),
      users: this._users.slice(begin, begin + taken.length)
    };
  }
}

class Player {
  readonly cluster: DrawnCluster;
  private readonly _random: SeededRandom;
  private readonly _clients: number;
  private readonly _faults: ReadonlySet<Fault>;
  private readonly _faultiness: number;
  private _left: number;
  /** Whether each worker that joins answers to every name. */
  private _isEveryPlaceThere = false;
  /** Messages that may come again. */
  private _stale: { worker: number; message: FromDrawnWorker }[] = [];
  private _candidates: (() => void)[] = [];
  /** By client the graph that it sends in parts, if it tells who has users. */
  private readonly _told = new Map<number, ToldGraph>();

  constructor(
    private readonly _run: DrawnRun,
    isTraced: boolean
  ) {
    const random = (this._random = new SeededRandom(_run.seed));
    this._faults = new Set(_run.faults);
    this._left = _run.tasks;
    this._clients = 1 + random.below(3);
    this._faultiness = random.pick([0.05, 0.15, 0.3]);
    this.cluster = new DrawnCluster(
      {
        options: {
          allowedFailures: random.below(4),
          mostReschedules: 2,
          storyLength: 512,
          aheadPerThread: 1 + random.below(2),
          aheadMost: random.pick([1, 4, 512]),
          takeBackSeconds: random.pick([0, 0.005]),
          saturation: random.pick([null, null, null, 1, 1.5, Infinity])
        },
        policy: random.chance(0.3)
          ? new RandomPlacement()
          : new CheapestPlacement(),
        seed: _run.seed,
        batch: this._has('batches') ? 1 + random.below(4) : 1,
        validateEach: random.pick([1, 1, 4, 16])
      },
      new SeededRandom(_run.seed + 1),
      isTraced
    );
  }

  play(): void {
    const random = this._random;
    for (let n = random.below(4); n > 0; n--) {
      this._join();
    }
    for (let step = 0; step < this._run.steps; step++) {
      if (random.chance(this._faultiness)) {
        this._disturb();
      } else if (random.chance(step < 3 ? 0.8 : 0.1)) {
        this._submit();
      } else {
        this._step();
      }
    }
    this._calm();
    this._releaseAll();
  }

  // ---- progress

  /** Does one of the things that could happen next; @returns whether there was one. */
  private _step(): boolean {
    const candidates = this._candidates;
    candidates.length = 0;
    const { cluster } = this;
    if (cluster.hasInstructions) {
      candidates.push(() => cluster.perform());
    }
    if (cluster.lastWords.length > 0) {
      candidates.push(() => {
        const { worker, message } = cluster.lastWords.shift()!;
        cluster.hear(worker, message);
      });
    }
    for (const worker of cluster.workers) {
      this._addSteps(worker, candidates);
    }
    if (candidates.length === 0) {
      return false;
    }
    this._random.pick(candidates)();
    return true;
  }

  private _addSteps(worker: DrawnWorker, candidates: (() => void)[]): void {
    if (worker.outbox.length > 0) {
      candidates.push(() => this._hear(worker));
    }
    for (const fetch of worker.fetching) {
      if (fetch.value !== null) {
        if (!worker.isStopped) {
          candidates.push(() => worker.arrive(fetch));
        }
      } else if (this.cluster.worker(fetch.peer)?.isStopped !== true) {
        candidates.push(() => {
          fetch.value = this.cluster.worker(fetch.peer)?.values.get(fetch.task);
        });
      }
    }
    if (worker.isStopped) {
      return;
    }
    if (worker.inbox.length > 0) {
      candidates.push(() => this._obey(worker));
    }
    if (worker.canBegin) {
      candidates.push(() => worker.begin());
    }
    if (worker.canFlush) {
      candidates.push(() => worker.flush());
    }
    for (const run of worker.runs) {
      candidates.push(() => {
        if (worker.proceed(run, this._random.chance(0.6))) {
          this._die(worker);
        }
      });
    }
  }

  private _obey(worker: DrawnWorker): void {
    worker.obey(worker.inbox.shift()!);
  }

  private _hear(worker: DrawnWorker): void {
    const message = worker.outbox.shift()!;
    const copy = { worker: worker.id, message };
    this.cluster.hear(worker.id, message);
    if (message.type !== 'replicas') {
      if (this._has('stale') && this._random.chance(0.2)) {
        this._stale.push(copy);
      }
    } else if (this._has('stale') && this._random.chance(0.1)) {
      // At once, so it is still true.
      this.cluster.hear(worker.id, message);
    } else if (this._has('lies') && this._random.chance(0.3)) {
      this._stale.push(copy);
    }
  }

  private _die(
    worker: DrawnWorker,
    why: 'died' | 'closed' | 'hopeless' = 'died'
  ): void {
    this.cluster.end(worker, why);
    if (this._isEveryPlaceThere || this._random.chance(0.8)) {
      // Another one takes its place, or there is none for a while.
      this._join();
    }
  }

  private _join(isRetiring = false): DrawnWorker {
    const random = this._random;
    const names = random.chance(0.8) ? [`place-${random.below(3)}`] : [];
    return this.cluster.join(
      1 + random.below(3),
      this._isEveryPlaceThere ? EVERY_NAME : names,
      this._isEveryPlaceThere ? ALL_RESOURCES : drawnResources(random),
      isRetiring
    );
  }

  // ---- clients

  private _submit(): void {
    const random = this._random;
    const { cluster } = this;
    if (this._left <= 0) {
      return;
    }
    const client = random.below(this._clients);
    const isOpen = cluster.openGraphs.has(client);
    if (isOpen && this._told.has(client)) {
      return this._nextPart(client);
    }
    const count = 1 + random.below(Math.min(this._left, 20));
    this._left -= count;
    if (!isOpen && random.chance(0.15)) {
      const holders = cluster.workers;
      cluster.place(
        client,
        drawnData(random, count),
        Array.from({ length: count }, () => {
          if (holders.length === 0) {
            return [];
          }
          const first = random.pick(holders);
          const second = random.pick(holders);
          return random.chance(0.2) && second !== first
            ? [first, second]
            : [first];
        })
      );
      return;
    }
    // Of tasks that are gone the client knows by itself, mostly.
    const earlier = cluster.tasks
      .filter(task => !task.isForgotten || random.chance(0.02))
      .map(task => task.number);
    const kinds = {
      fails: this._has('failures'),
      secedes: this._has('seceding'),
      restricts: this._has('restrictions'),
      needs: this._has('resources')
    };
    if (!isOpen && this._has('tellsUsers') && random.chance(0.5)) {
      this._told.set(
        client,
        new ToldGraph(
          drawnSpecs(
            random,
            count,
            0,
            earlier.map(n => ~n),
            kinds
          )
        )
      );
      return this._nextPart(client);
    }
    const specs = drawnSpecs(
      random,
      count,
      cluster.tasks.length,
      earlier,
      kinds
    );
    const isLast = !(this._has('parts') && random.chance(0.4));
    const within =
      this._has('seceding') && !isOpen && random.chance(0.3)
        ? this._aTask(() => true)
        : null;
    cluster.submit(client, specs, isLast, within);
  }

  /** The next part of a graph that tells who has users, or all that is left of it. */
  private _nextPart(client: number, isAll = false): void {
    const graph = this._told.get(client)!;
    const { specs, users } = graph.take(
      isAll ? Infinity : 1 + this._random.below(8),
      this.cluster.tasks.length
    );
    this.cluster.submit(client, specs, graph.isEmpty, null, users);
    if (graph.isEmpty) {
      this._told.delete(client);
    }
  }

  private _aTask(is: (task: DrawnTask) => boolean): DrawnTask | null {
    const found = this.cluster.tasks.filter(is);
    return found.length === 0 ? null : this._random.pick(found);
  }

  private _some(is: (task: DrawnTask) => boolean): DrawnTask[] {
    const share = this._random.pick([0.1, 0.5, 1]);
    return this.cluster.tasks.filter(
      task => is(task) && this._random.chance(share)
    );
  }

  private _wish(): void {
    const random = this._random;
    const { cluster } = this;
    const client = random.below(this._clients);
    const own = (task: DrawnTask): boolean => task.wantedBy.has(client);
    switch (random.below(8)) {
      case 0:
      case 1:
        // Its own that it knows, or another client's that it was told of.
        return cluster.says(
          'clientWants',
          client,
          this._some(task => !task.isForgotten && !own(task))
        );
      case 2:
      case 3:
        return cluster.says('clientReleases', client, this._some(own));
      case 4:
        return cluster.says('clientCancels', client, this._some(own));
      case 5:
        return cluster.says('clientRetries', client, this._some(own));
      case 6:
        if (cluster.clients.has(client) && random.chance(0.3)) {
          this._told.delete(client);
          cluster.leave(client);
        }
        return;
      default:
        if (cluster.openGraphs.has(client)) {
          cluster.refuse(client, this._told.delete(client));
        }
        return;
    }
  }

  // ---- faults

  private _disturb(): void {
    const random = this._random;
    const fault = random.pick(FAULTS);
    const { cluster } = this;
    cluster.now += random.pick([0, 0, 0.01, 6]);
    const { workers } = cluster;
    const worker = workers.length === 0 ? null : random.pick(workers);
    if (!this._has(fault)) {
      this._step();
      return;
    }
    switch (fault) {
      case 'joins':
        return workers.length < 5
          ? void this._join(random.chance(0.1))
          : undefined;
      case 'wishes':
        return this._wish();
      case 'stale':
      case 'lies':
        return this._repeat();
      case 'stalls':
        return cluster.giveUpStall();
      default:
        return worker === null ? undefined : this._hit(worker, fault);
    }
  }

  private _hit(worker: DrawnWorker, fault: Fault): void {
    const random = this._random;
    const { cluster } = this;
    switch (fault) {
      case 'deaths':
        return this._die(
          worker,
          random.pick(['died', 'died', 'died', 'closed', 'hopeless'])
        );
      case 'losses':
        return this._lose(worker);
      case 'pauses':
        return cluster.pause(worker, random.chance(0.6), random.chance(0.5));
      case 'stops':
        worker.isStopped = !worker.isStopped;
        // The scheduler sees it after a while, or not at all.
        return random.chance(0.5)
          ? cluster.pause(worker, worker.isStopped, false)
          : undefined;
      case 'retirements':
        return this._retire(worker);
      case 'copies': {
        const isAsked = random.chance(0.6);
        return cluster.copies(
          isAsked,
          worker,
          this._some(task => !task.isForgotten || random.chance(0.05))
        );
      }
      default:
        this._step();
    }
  }

  /** It goes as soon as it has nothing that others lack. */
  private _retire(worker: DrawnWorker): void {
    const { cluster } = this;
    const record = cluster.scheduler.workers.get(worker.id)!;
    if (record.retiring && this._random.chance(0.2)) {
      cluster.stay(worker);
    } else if (cluster.retire(worker) === 0 && record.underWayCount === 0) {
      cluster.checkNothingIsOnlyAt(worker);
      cluster.end(worker, 'closed');
    }
  }

  private _lose(worker: DrawnWorker): void {
    const random = this._random;
    if (worker.fetching.length > 0 && random.chance(0.6)) {
      const fetch = random.pick(worker.fetching);
      // The connection breaks, before or after the answer.
      fetch.value = undefined;
    } else if (worker.values.size > 0) {
      const outer = random.pick([...worker.values.keys()]);
      // A task that is told of is the scheduler's to know.
      worker.flush();
      worker.lose(outer);
    }
  }

  /** A message comes once more, perhaps long after. */
  private _repeat(): void {
    if (this._stale.length === 0) {
      return;
    }
    const { worker, message } = this._random.pick(this._stale);
    if (message.type === 'replicas') {
      for (const outer of [...message.added, ...message.removed]) {
        this.cluster.lies.add(`${worker} ${outer}`);
      }
    }
    this.cluster.hear(worker, message);
  }

  // ---- the end

  private _calm(): void {
    const { cluster } = this;
    for (const client of [...cluster.openGraphs.keys()]) {
      if (this._told.has(client)) {
        this._nextPart(client, true);
        continue;
      }
      cluster.submit(
        client,
        drawnSpecs(this._random, 1, cluster.tasks.length, [], {
          fails: false,
          secedes: false,
          restricts: false,
          needs: false
        }),
        true,
        null
      );
    }
    for (const worker of [...cluster.workers]) {
      worker.isStopped = false;
      cluster.pause(worker, false, false);
      if (cluster.scheduler.workers.get(worker.id)!.retiring) {
        cluster.stay(worker);
      }
    }
    this._join();
    this._drain();
    cluster.checkOutcomes(true);
    cluster.checkValues();
    this._isEveryPlaceThere = true;
    this._join();
    this._drain();
    cluster.checkOutcomes(false);
    cluster.checkValues();
  }

  private _releaseAll(): void {
    const { cluster } = this;
    for (let client = 0; client < this._clients; client++) {
      cluster.says(
        'clientReleases',
        client,
        cluster.tasks.filter(task => task.wantedBy.has(client))
      );
    }
    this._drain();
    cluster.checkValues();
    cluster.checkNothingIsLeft();
  }

  private _drain(): void {
    const { cluster } = this;
    let steps = 0;
    while (this._step()) {
      // A worker that was killed is followed by another one: what waits is to get an end.
      if (cluster.workers.length === 0) {
        this._join();
      }
      if (++steps > MOST_STEPS || cluster.events > MOST_EVENTS) {
        throw new WrongRun(
          `It does not end: ${steps} steps and ${cluster.events} events for ${cluster.tasks.length} tasks.`
        );
      }
    }
    cluster.scheduler.validateState();
  }

  private _has(fault: Fault): boolean {
    return this._faults.has(fault);
  }
}
