/**
 * Semaphores by name, of which locks are those with one lease. In the scheduler process.
 *
 * A lease ends when it is released, or with its owner (the link to a client or worker). One whose handle in Python was forgotten without
 * a release is abandoned, and ends after the semaphore's lease timeout.
 */
import {
  DONE,
  english,
  full,
  type ISharedKind,
  type SharedAnswer,
  type SharedCall,
  type SharedLimits
} from './shared-call';

type Lease<Owner> = {
  readonly owner: Owner;
  /** Its end, if it was abandoned. */
  due: number | null;
};

type Semaphore<Owner> = {
  readonly most: number;
  readonly leaseSeconds: number;
  readonly leases: Map<string, Lease<Owner>>;
};

/** Ends abandoned leases by time. */
type Ends = {
  /** @returns the number that it is dropped by. */
  at(until: number, name: string, lease: string): number;
  drop(due: number): void;
};

export class SharedSemaphores<Owner> implements ISharedKind<Owner> {
  private readonly _known = new Map<string, Semaphore<Owner>>();
  private readonly _leasesOf = new Map<Owner, Map<string, string>>();
  private _leases = 0;
  /** Whether any was forgotten since there were too many: one that is not known may have been. */
  private _hasForgotten = false;

  /** @param _isAwaited - whether anybody waits for a lease of this name. */
  constructor(
    private readonly _limits: SharedLimits,
    private readonly _ends: Ends,
    private readonly _isAwaited: (name: string) => boolean
  ) {}

  get size(): number {
    return this._known.size;
  }

  get leases(): number {
    return this._leases;
  }

  attempt(call: SharedCall, owner: Owner, at: number): SharedAnswer | null {
    const { what, name, lease } = call;
    const known = this._known.get(name);
    switch (what) {
      case 'register': {
        const found = this._registered(call);
        return 'outcome' in found ? found : DONE;
      }
      case 'acquire':
        return this._acquire(call, owner);
      case 'release':
        return { outcome: this.release(name, lease) ? 'done' : 'absent' };
      case 'abandon': {
        const held = known?.leases.get(lease);
        if (known !== undefined && held?.due === null) {
          held.due = this._ends.at(at + known.leaseSeconds, name, lease);
        }
        return DONE;
      }
      case 'count':
        return { outcome: 'done', count: known?.leases.size ?? 0 };
      case 'close': {
        const left = known?.leases.size ?? 0;
        for (const each of [...(known?.leases.keys() ?? [])]) {
          this.release(name, each);
        }
        this._known.delete(name);
        return { outcome: 'done', count: left };
      }
      default:
        return { outcome: 'refused', why: `No semaphore does "${what}".` };
    }
  }

  /** Ends a lease; false: there is none. */
  release(name: string, lease: string): boolean {
    const leases = this._known.get(name)?.leases;
    const held = leases?.get(lease);
    if (leases === undefined || held === undefined) {
      return false;
    }
    const { owner, due } = held;
    if (due !== null) {
      this._ends.drop(due);
    }
    leases.delete(lease);
    this._leases--;
    const own = this._leasesOf.get(owner)!;
    own.delete(lease);
    if (own.size === 0) {
      this._leasesOf.delete(owner);
    }
    return true;
  }

  /** An owner has gone. @returns whose leases have become free. */
  left(owner: Owner): Set<string> {
    const own = [...(this._leasesOf.get(owner) ?? [])];
    for (const [lease, name] of own) {
      this.release(name, lease);
    }
    return new Set(own.map(([, name]) => name));
  }

  private _acquire(call: SharedCall, owner: Owner): SharedAnswer | null {
    const { name, lease, isKnown } = call;
    if (isKnown && !this._known.has(name) && !this._hasForgotten) {
      return {
        outcome: 'unknown',
        why: 'It has been closed, or was never registered.'
      };
    }
    const own = this._leasesOf.get(owner);
    if (own?.has(lease) || this._known.get(name)?.leases.has(lease)) {
      return {
        outcome: 'refused',
        why: 'A lease has a name of its own, and this one is held already.'
      };
    }
    const found = this._registered(call);
    if ('outcome' in found) {
      return found;
    }
    if (found.leases.size >= found.most) {
      return null;
    }
    if (this._leases >= this._limits.leases) {
      return full(
        `${english(this._leases)} leases of semaphores and locks are held, and the scheduler keeps no more.`
      );
    }
    found.leases.set(lease, { owner, due: null });
    this._leases++;
    if (own === undefined) {
      this._leasesOf.set(owner, new Map([[lease, name]]));
    } else {
      own.set(lease, name);
    }
    return DONE;
  }

  private _registered({
    name,
    limit,
    leaseSeconds
  }: SharedCall): Semaphore<Owner> | SharedAnswer {
    const found = this._known.get(name);
    if (found !== undefined) {
      return found.most === limit
        ? found
        : {
            outcome: 'inconsistent',
            why: `Inconsistent max leases: ${limit}, expected: ${found.most}`
          };
    }
    if (this._known.size >= this._limits.names && !this._forgetOne()) {
      return full(
        `${english(this._known.size)} semaphores and locks are held or waited for, and the scheduler keeps no more.`
      );
    }
    const made = {
      most: limit,
      leaseSeconds: leaseSeconds ?? Infinity,
      leases: new Map<string, Lease<Owner>>()
    };
    this._known.set(name, made);
    return made;
  }

  /** Forgets the oldest that nobody holds or waits for; false: there is none. */
  private _forgetOne(): boolean {
    for (const [name, { leases }] of this._known) {
      if (leases.size === 0 && !this._isAwaited(name)) {
        this._hasForgotten = true;
        return this._known.delete(name);
      }
    }
    return false;
  }
}
