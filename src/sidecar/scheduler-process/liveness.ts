/**
 * Which workers have stopped. In the scheduler process.
 *
 * A worker sends a message five times a second (its memory), one without work every 2 s, unless a task keeps the interpreter lock in
 * compiled code. Such a worker is not dead, and only the system can tell it from a stopped one.
 *
 * ```
 *   heard of since the last look ─────────────────────────────────► alive
 *   silent ─► this machine: stopped (SIGSTOP, a debugger) ─────────► taken out after ttl
 *                           on a core, or its CPU time has grown ──► alive
 * it cannot be looked at, or nothing moves ───────────────► taken out after SILENT_TTLS × ttl, and no less than SILENT_SECONDS
 * ```
 */
import { hostname } from 'node:os';
import { processState, type ProcessState } from './process-state';
import type { WorkerSession } from './worker-session';

/** Seconds between two looks; with a shorter limit, a quarter of that. */
const LOOK_SECONDS = 1;
/** Silence after which a worker that cannot be looked at is said to be silent. */
const SILENT_SECONDS = 5;
/** A silent worker that may be at work gets this many times the limit, and no less than {@link SILENT_SECONDS}. */
export const SILENT_TTLS = 10;

interface ILivenessHost {
  /** What a worker is thought to do has changed. */
  standingChanged(session: WorkerSession): void;
  /** A worker has been stopped for too long. */
  takeOut(session: WorkerSession, why: string): void;
}

/** What is remembered of a worker between two looks. */
type Seen = {
  heard: number;
  cpuTicks: number;
  stoppedSeconds: number;
  silentSeconds: number;
};

export class Liveness {
  private readonly _seen = new WeakMap<WorkerSession, Seen>();
  private _lookedAt: number | null = null;

  /**
   * @param ttlSeconds - after which a stopped worker is taken out; 0: never.
   * @param stateOf - what the system says of a process.
   */
  constructor(
    private readonly _host: ILivenessHost,
    private readonly _ttlSeconds: number,
    private readonly _stateOf: (
      pid: number
    ) => ProcessState | null = processState
  ) {}

  /** How often to look. */
  get lookSeconds(): number {
    return this._ttlSeconds > 0
      ? Math.min(LOOK_SECONDS, this._ttlSeconds / 4)
      : LOOK_SECONDS;
  }

  /** Looks at the workers that have sent nothing since the last look. */
  look(sessions: Iterable<WorkerSession>, now: number): void {
    // This process may have been stopped too: its own absence must not count as the workers' silence.
    const passed = Math.min(
      now - (this._lookedAt ?? now),
      2 * this.lookSeconds
    );
    this._lookedAt = now;
    for (const session of [...sessions]) {
      this._lookAt(session, passed);
    }
  }

  private _lookAt(session: WorkerSession, passed: number): void {
    let seen = this._seen.get(session);
    if (seen === undefined || seen.heard !== session.heard) {
      seen = {
        heard: session.heard,
        cpuTicks: -1,
        stoppedSeconds: 0,
        silentSeconds: 0
      };
      this._seen.set(session, seen);
      this._stand(session, 'well');
      return;
    }
    const { intro } = session;
    const isHere = intro.host === '' || intro.host === hostname();
    const state = isHere ? this._stateOf(intro.pid) : null;
    if (state?.isStopped === true) {
      seen.stoppedSeconds += passed;
      this._stand(session, 'stopped');
    } else {
      const isAlive =
        state !== null && (state.isBusy || state.cpuTicks !== seen.cpuTicks);
      seen.stoppedSeconds = 0;
      seen.silentSeconds = isAlive ? 0 : seen.silentSeconds + passed;
      this._stand(
        session,
        seen.silentSeconds >= SILENT_SECONDS ? 'silent' : 'well'
      );
    }
    seen.cpuTicks = state?.cpuTicks ?? -1;
    const ttl = this._ttlSeconds;
    // (one at rest is silent for two seconds, whatever the limit)
    const silentLimit = Math.max(SILENT_TTLS * ttl, SILENT_SECONDS);
    if (ttl > 0 && seen.stoppedSeconds >= ttl) {
      this._host.takeOut(
        session,
        `was stopped (SIGSTOP or a debugger) for ${ttl} s`
      );
    } else if (ttl > 0 && seen.silentSeconds >= silentLimit) {
      this._host.takeOut(
        session,
        `said nothing for ${silentLimit} s, and did nothing that could be seen`
      );
    }
  }

  private _stand(
    session: WorkerSession,
    standing: WorkerSession['standing']
  ): void {
    if (session.standing !== standing) {
      session.standing = standing;
      this._host.standingChanged(session);
    }
  }
}
