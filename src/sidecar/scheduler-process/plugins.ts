/**
 * Plugins of workers: set up on those that are there, and on each that joins before it gets its first task. In the scheduler process, which
 * opens none of them.
 *
 * Bounded: 1,000 plugins of 256 MiB in all; who registers one more is told. A plugin is kept until it is unregistered, or another of its
 * name comes.
 */
import type { Message } from '../../wire/schema';
import type { WorkerRequests } from './worker-requests';
import type { WorkerSession } from './worker-session';

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

export class Plugins {
  private readonly _kept = new Map<string, Uint8Array>();

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
    asked: readonly {
      readonly session: WorkerSession;
      readonly name: string;
      readonly payload: Uint8Array | null;
    }[],
    done: (failures: readonly PluginFailure[]) => void
  ): void {
    const failures: PluginFailure[] = [];
    let left = asked.length;
    if (left === 0) {
      done(failures);
    }
    for (const { session, name, payload } of asked) {
      this._requests.plugin(session, name, payload, (answer: Answer | null) => {
        if (answer !== null && !answer.fields.ok) {
          failures.push({
            worker: session.id,
            name,
            why: answer.fields.why ?? '',
            error: answer.blobs[0]?.slice() ?? new Uint8Array()
          });
        }
        left--;
        if (left === 0) {
          done(failures);
        }
      });
    }
  }
}
