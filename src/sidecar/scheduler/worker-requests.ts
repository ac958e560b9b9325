/** Questions that go to workers and are answered one by one. In the scheduler process. */
import type { Message } from '../../wire/schema';
import type { WorkerSession } from './worker-session';

type Pending = {
  readonly worker: number;
  answered(answer: Message<'worker', 'up', 'runResult'> | null): void;
};

/** Numbers `run` and `flush` messages and finds back to who asked. */
export class WorkerRequests {
  private readonly _pending = new Map<number, Pending>();
  private _next = 1;

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

  /** Has all workers tell what they have measured; calls back when each has, or has left. */
  flush(sessions: readonly WorkerSession[], done: () => void): void {
    let left = sessions.length;
    const answered = (): void => {
      if (--left === 0) {
        done();
      }
    };
    if (left === 0) {
      done();
      return;
    }
    for (const session of sessions) {
      const request = this._next++;
      this._pending.set(request, { worker: session.id, answered });
      session.link.send('flush', { request });
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
