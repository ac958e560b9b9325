import { SchedulerFixture } from '../../../testing/scheduler-fixture';
import type { ClusterState } from '../cluster-state';
import type { WorkerSession } from '../worker-session';

/** What a test may say of a worker beside what the core knows. */
type Session = {
  id: number;
  running: Map<number, { task: number; run: number; started: number }>;
  standing: WorkerSession['standing'];
  isReady: boolean;
  leaving: null;
  isPaused: boolean;
  whyPaused: string;
  heardAt: number;
};

/** A cluster of drawn tasks, as far as who looks at its tables sees it. Functions are called as the first letter of their tasks. */
export class WaitedCluster {
  readonly s = new SchedulerFixture();
  readonly sessions = new Map<number, Session>();
  private readonly _names: string[] = [];

  get state(): ClusterState {
    const { s, sessions, _names: names } = this;
    return {
      address: 'unix:/tmp/one/scheduler.sock',
      core: s.scheduler,
      workers: sessions,
      keyOf: (task: number) => names[task],
      clock: () => s.now,
      at: s.now,
      start: 0,
      // (of all tasks, those included that come after this was asked for)
      rows: {
        get functionId() {
          return names.map(name => name.charCodeAt(0));
        }
      },
      log: { names: { text: (id: number) => String.fromCharCode(id) } }
    } as unknown as ClusterState;
  }

  join(...args: Parameters<SchedulerFixture['join']>): Session {
    this.s.join(...args);
    return this.session(args[0]);
  }

  /** A worker that the core does not know yet, or has been told of. */
  session(id: number): Session {
    const session: Session = {
      id,
      running: new Map(),
      standing: 'well',
      isReady: true,
      leaving: null,
      isPaused: false,
      whyPaused: '',
      heardAt: 0
    };
    this.sessions.set(id, session);
    return session;
  }

  submit(...args: Parameters<SchedulerFixture['submit']>): void {
    this.s.submit(...args);
    for (const name of args[0].split(/[^\w]+/).filter(Boolean)) {
      this._names[this.s.id(name)] = name;
    }
    this.s.said(); // the workers have them now
  }

  /** All workers are heard now. */
  hear(): void {
    this.sessions.forEach(each => (each.heardAt = this.s.now));
  }

  /** A worker tells that a task runs on its thread since so many seconds. */
  runs(name: string, seconds: number, thread = 0): void {
    const worker = this.s.workerOf(name);
    this.sessions.get(worker)!.running.set(thread, {
      task: this.s.id(name),
      run: this.s.runId(name),
      started: this.s.now - seconds
    });
  }
}
