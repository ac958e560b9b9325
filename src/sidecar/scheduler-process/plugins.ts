/**
 * Plugins of workers: set up on those that are there, and on each that joins before it gets its first task. In the scheduler process, which
 * opens none of them.
 *
 * A worker may take any time for a plugin; the user is told of it after 30 s, and again and again.
 *
 * Bounded: 1,000 plugins of 256 MiB in all; who registers one more is told. A plugin is kept until it is unregistered, or another of its
 * name comes.
 */
import type { Message } from '../../wire/schema';
import { listed } from './listed';
import { inOrder, MOST_IN_CALL, restartCall } from './restart-call';
import type { WorkerRequests } from './worker-requests';
import type { WorkerSession } from './worker-session';

/** After so long in one plugin the user is told of a worker; then each pause is as long as the time before it, up to the longest. */
const FIRST_SECONDS = 30;
const LONGEST_SECONDS = 600;
const LOOK_SECONDS = 1;

const MOST_PLUGINS = 1_000;
const MOST_BYTES = 256 * 2 ** 20;

type Answer = Message<'worker', 'up', 'runResult'>;

/** A worker on which something failed. */
export type PluginFailure = {
  readonly worker: number;
  readonly name: string;
  readonly why: string;
  /** The payload of the error. */
  readonly error: Uint8Array;
};

/** What a worker is to do, and since when it has done it; 0: others come before. */
type Order = {
  readonly session: WorkerSession;
  readonly name: string;
  /** null: tear it down. */
  readonly payload: Uint8Array | null;
  since: number;
  /** Seconds after which the next notice is due. */
  pause: number;
};

interface IPluginHost {
  /** A notice for the user. */
  warn(sentence: string): void;
  /** Ends a worker that sets up a plugin which nobody wants any more; another takes its place. */
  end(worker: number): void;
}

export class Plugins {
  private readonly _kept = new Map<string, Uint8Array>();
  /** By worker, what it has not answered, the oldest first. */
  private readonly _orders = new Map<WorkerSession, Order[]>();
  private _timer: NodeJS.Timeout | undefined;
  /** Set by whoever looks after the workers. */
  host: IPluginHost | null = null;

  constructor(private readonly _requests: WorkerRequests) {}

  get size(): number {
    return this._kept.size;
  }

  has(name: string): boolean {
    return this._kept.has(name);
  }

  /** Keeps a plugin for workers that join later. @returns why not; empty if it is kept. */
  keep(name: string, payload: Uint8Array): string {
    let bytes = payload.length;
    this._kept.forEach(
      (other, key) => (bytes += key === name ? 0 : other.length)
    );
    if (bytes > MOST_BYTES) {
      return (
        `The plugins of a cluster take at most ${MOST_BYTES >> 20} MiB together, and this one takes ${payload.length >> 20} MiB. ` +
        'Unregister others, or let workers load what it holds from a file.'
      );
    }
    if (!this._kept.has(name) && this._kept.size >= MOST_PLUGINS) {
      return `A cluster has at most ${MOST_PLUGINS} plugins: unregister others.`;
    }
    // To the end: the order in which joining workers set them up.
    this._kept.delete(name);
    this._kept.set(name, payload);
    return '';
  }

  /** @returns whether it was there. */
  forget(name: string): boolean {
    return this._kept.delete(name);
  }

  /** Has workers set up a plugin, or (null) tear it down; calls back once each has answered or has left. */
  send(
    sessions: Iterable<WorkerSession>,
    name: string,
    payload: Uint8Array | null,
    done: (failures: readonly PluginFailure[]) => void
  ): void {
    this._gather(
      [...sessions].map(session => ({ session, name, payload })),
      done
    );
  }

  /** Has a worker that joins set up all of them. */
  prepare(
    session: WorkerSession,
    done: (failures: readonly PluginFailure[]) => void
  ): void {
    this._gather(
      [...this._kept].map(([name, payload]) => ({ session, name, payload })),
      done
    );
  }

  private _gather(
    asked: readonly Omit<Order, 'since' | 'pause'>[],
    done: (failures: readonly PluginFailure[]) => void
  ): void {
    const failures: PluginFailure[] = [];
    const kept: string[] = [];
    let left = asked.length;
    if (left === 0) {
      done(failures);
    }
    for (const each of asked) {
      const { session, name, payload } = each;
      const order = { ...each, since: 0, pause: FIRST_SECONDS };
      this._begin(order);
      this._requests.plugin(session, name, payload, (answer: Answer | null) => {
        this._ended(order);
        const { ok = true, why = '' } = answer?.fields ?? {};
        if (!ok) {
          failures.push({
            worker: session.id,
            name,
            why,
            error: answer!.blobs[0]?.slice() ?? new Uint8Array()
          });
        } else if (why !== '') {
          kept.push(`worker-${session.id} (${why})`);
        }
        left--;
        if (left > 0) {
          return;
        }
        if (kept.length > 0) {
          this.host?.warn(
            `The plugin that was called "${name}" could not be torn down on ${kept.join(', ')}. The new plugin is set up all the same.`
          );
        }
        done(failures);
      });
    }
  }

  // ---- what takes long

  /** A worker follows its orders one after another. */
  private _begin(order: Order): void {
    const orders = this._orders.get(order.session);
    if (orders === undefined) {
      order.since = this._now();
      this._orders.set(order.session, [order]);
    } else {
      orders.push(order);
    }
    this._timer ??= setInterval(() => this._look(), LOOK_SECONDS * 1000);
    this._timer.unref();
  }

  private _ended(order: Order): void {
    const orders = this._orders.get(order.session) ?? [];
    orders.splice(orders.indexOf(order), 1);
    if (orders.length > 0) {
      orders[0]!.since = this._now();
      return;
    }
    this._orders.delete(order.session);
    if (this._orders.size === 0) {
      clearInterval(this._timer);
      this._timer = undefined;
    }
  }

  private _look(): void {
    const now = this._now();
    const slow = new Map<string, Order[]>();
    for (const [order] of [...this._orders.values()]) {
      const { session, name, payload, since, pause } = order!;
      const isGivenUp = payload !== null && this._kept.get(name) !== payload;
      // Not only when the next notice is due: that may be long.
      if (isGivenUp && !session.isReady && now - since >= FIRST_SECONDS) {
        this.host?.end(session.id);
        continue;
      }
      if (now - since < pause) {
        continue;
      }
      order!.pause += Math.min(pause, LONGEST_SECONDS);
      const what = `${payload === null ? 'tearing down' : 'setting up'} the plugin "${name}" for ${Math.round(now - since)} s`;
      slow.set(what, [...(slow.get(what) ?? []), order!]);
    }
    for (const [what, orders] of slow) {
      this.host?.warn(slowSentence(what, orders));
    }
  }

  private _now(): number {
    return performance.now() / 1000;
  }
}

function slowSentence(what: string, orders: readonly Order[]): string {
  const workers = orders.map(({ session }) => session.id);
  const joining = orders.some(({ session }) => !session.isReady);
  const [who, verb] = [
    listed(inOrder(workers), MOST_IN_CALL),
    workers.length === 1 ? 'has been' : 'have been'
  ];
  const remedy = joining
    ? 'A new worker gets no task until its plugins are set up. If the setup is stuck, call unregister_worker_plugin(name): the worker is then replaced.'
    : 'If it waits for something that does not come, interrupt the call that waits for it, ' +
      `then ${restartCall(workers)} ends it ${workers.length > MOST_IN_CALL ? `on these ${MOST_IN_CALL}` : 'there'}.`;
  return `${who} ${verb} ${what}. ${remedy}`;
}
