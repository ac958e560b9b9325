/**
 * Workers that other programs have started, beside the fleet's own. In the scheduler process.
 *
 * ```
 *   spanwise worker ──reserve──► a number ──► it starts the process, which joins under that number
 *                   ◄──order─── kill | replace | leave | stay
 *                   ──workerEnded──► how it ended
 * ```
 *
 * Such a program is a guest. It does with its workers what the fleet does with its own; when it leaves, they leave with it.
 */
import type { Message } from '../../wire/schema';
import { whyNoMore, type WorkerLimit } from './worker-limit';
import type { IWorkerFleet } from './worker-fleet';

/** A program that does not say that a worker has ended, this long after it was to end it, has lost it. */
const END_SECONDS = 5;

type Order = Message<'client', 'down', 'order'>['fields']['what'];

/** A program that has started workers. */
interface IStarter {
  readonly link: {
    send(type: 'order', fields: { worker: number; what: Order }): void;
  };
}

type Outside = {
  readonly starter: IStarter;
  /** Empty: its number is its name. */
  readonly name: string;
  isReplaced: boolean;
  endTimer: NodeJS.Timeout | undefined;
};

interface IOutsideHost {
  /** How many workers there are. */
  count(): Pick<WorkerLimit, 'count' | 'numbers'>;
  takeNumber(): number;
  onExit(worker: number, why: string): void;
}

export class OutsideWorkers implements IWorkerFleet {
  private readonly _workers = new Map<number, Outside>();

  /** @param _own - the fleet that this process starts. */
  constructor(
    private readonly _own: IWorkerFleet,
    private readonly _host: IOutsideHost
  ) {}

  // ---- what programs say

  /** @returns the numbers, or none and why. */
  reserve(
    starter: IStarter,
    count: number,
    names: readonly string[]
  ): { readonly workers: number[]; readonly sentence: string } {
    // The successor of one that has ended, or is to be ended, has its name.
    const taken = [...this._workers.values()]
      .filter(({ isReplaced }) => !isReplaced)
      .map(({ name }) => name);
    const limit = {
      ...this._host.count(),
      isTaken: (name: string): boolean => taken.includes(name)
    };
    const sentence = whyNoMore(limit, count, names, this._workers.size);
    if (sentence !== '') {
      return { workers: [], sentence };
    }
    const workers = Array.from({ length: count }, (_, i) => {
      const worker = this._host.takeNumber();
      this._workers.set(worker, {
        starter,
        name: names[i] ?? '',
        isReplaced: false,
        endTimer: undefined
      });
      return worker;
    });
    return { workers, sentence: '' };
  }

  /** What a program says of another's workers is not heard. */
  ended(starter: IStarter, worker: number, why: string): void {
    if (this._workers.get(worker)?.starter === starter) {
      this._end(worker, why);
    }
  }

  /** Its workers end by themselves, since it holds their lifelines. */
  starterLeft(starter: IStarter): void {
    for (const [worker, outside] of [...this._workers]) {
      if (outside.starter === starter) {
        this._end(worker, 'has lost the program that started it');
      }
    }
  }

  // ---- IWorkerFleet

  start(count: number): void {
    this._own.start(count);
  }

  has(worker: number): boolean {
    const outside = this._workers.get(worker);
    return outside === undefined ? this._own.has(worker) : !outside.isReplaced;
  }

  starterOf(worker: number): IStarter | null {
    return this._workers.get(worker)?.starter ?? null;
  }

  joined(worker: number): void {
    this._own.joined(worker);
  }

  worked(worker: number): void {
    this._own.worked(worker);
  }

  get startingCount(): number {
    return this._own.startingCount;
  }

  get threads(): number {
    return this._own.threads;
  }

  get resources(): Readonly<Record<string, number>> {
    return this._own.resources;
  }

  kill(worker: number): void {
    if (this._workers.has(worker)) {
      this._order(worker, 'kill');
    } else {
      this._own.kill(worker);
    }
  }

  replace(worker: number): void {
    const outside = this._workers.get(worker);
    if (outside === undefined) {
      this._own.replace(worker);
    } else {
      outside.isReplaced = true;
      this._order(worker, 'replace');
    }
  }

  leave(worker: number, isLeaving: boolean): void {
    if (this._workers.has(worker)) {
      this._order(worker, isLeaving ? 'leave' : 'stay');
    } else {
      this._own.leave(worker, isLeaving);
    }
  }

  dropStarts(count: number): number {
    return this._own.dropStarts(count);
  }

  /** Outside workers hear of the end by their own links. */
  async close(): Promise<void> {
    for (const { endTimer } of this._workers.values()) {
      clearTimeout(endTimer);
    }
    this._workers.clear();
    await this._own.close();
  }

  private _order(worker: number, what: Order): void {
    const outside = this._workers.get(worker)!;
    outside.starter.link.send('order', { worker, what });
    if (what === 'kill' || what === 'replace') {
      // The program may be stopped, and tell nothing.
      outside.endTimer ??= setTimeout(
        () => this._end(worker, 'was given up: its program does not answer'),
        END_SECONDS * 1000
      ).unref();
    }
  }

  private _end(worker: number, why: string): void {
    const outside = this._workers.get(worker);
    if (outside !== undefined) {
      clearTimeout(outside.endTimer);
      this._workers.delete(worker);
      this._host.onExit(worker, why);
    }
  }
}
