/** Questions that go to workers and are answered one by one. In the scheduler process. */
import type { Message } from '../../wire/schema';
import type { WorkerSession } from './worker-session';

type Pending = {
  readonly worker: number;
  answered(answer: Message<'worker', 'up', 'runResult'> | null): void;
};

/** Numbers `run` and `flush` messages and finds the caller of each answer. */
export class WorkerRequests {
  private readonly _pending = new Map<number, Pending>();
  private _next = 1;

  /** How many answers are waited for. */
  get size(): number {
    return this._pending.size;
  }

  /** Runs a function at a worker; the answer is null when the worker leaves before it answers. */
  run(
    session: WorkerSession,
    payload: Uint8Array,
    wait: boolean,
    answered: Pending['answered']
  ): void {
    const request = this._next++;
    if (wait) {
      this._pending.set(request, { worker: session.id, answered });
    }
    session.link.send('run', { request, wait }, {}, [payload]);
  }

  /** Has a worker set up a plugin, or (null) tear it down; answered like {@link run}. */
  plugin(
    session: WorkerSession,
    name: string,
    payload: Uint8Array | null,
    answered: Pending['answered']
  ): void {
    const request = this._next++;
    this._pending.set(request, { worker: session.id, answered });
    session.link.send(
      'plugin',
      { request, name, setUp: payload !== null },
      {},
      payload === null ? [] : [payload]
    );
  }

  /**
   * Asks all workers to send what they have measured. Calls back when each worker has answered or has left, with the numbers of those that
   * did neither within `limitSeconds`: a thread of theirs may be in C code that keeps the interpreter lock.
   */
  flush(
    sessions: readonly WorkerSession[],
    limitSeconds: number,
    done: (unanswered: readonly number[]) => void
  ): void {
    const awaited = new Map<number, number>();
    const finish = (): void => {
      clearTimeout(timer);
      const unanswered = [...awaited.values()];
      awaited.forEach((_, request) => this._pending.delete(request));
      done(unanswered);
    };
    const timer = setTimeout(finish, limitSeconds * 1000);
    for (const session of sessions) {
      const request = this._next++;
      awaited.set(request, session.id);
      const answered = (): void => {
        awaited.delete(request);
        if (awaited.size === 0) {
          finish();
        }
      };
      this._pending.set(request, { worker: session.id, answered });
      session.link.send('flush', { request });
    }
    if (awaited.size === 0) {
      finish();
    }
  }

  answered(
    request: number,
    answer: Message<'worker', 'up', 'runResult'> | null
  ): void {
    const pending = this._pending.get(request);
    this._pending.delete(request);
    pending?.answered(answer);
  }

  workerLeft(worker: number): void {
    for (const [request, pending] of [...this._pending]) {
      if (pending.worker === worker) {
        this.answered(request, null);
      }
    }
  }
}
