/**
 * What programs coordinate by: things with a name that clients and workers share, and the waits for them. In the scheduler process; pure,
 * with the time coming in.
 *
 * ```
 *   call ─► attempt ─► it can be done ─► answer, then those who wait for the same name are tried, the first of each line first
 *                └─► not now ─► its line, until it can, its time is over, the caller gives up, or is gone
 * ```
 *
 * All in a line ask for the same, so that nobody passes another: if the first cannot go on, none can. Each call is answered once; calls
 * of an owner that has gone are not answered.
 */
import { RankedHeap } from '../../base/ranked-heap';
import {
  english,
  full,
  SHARED_LIMITS,
  SharedRoom,
  type IRoomWatch,
  type ISharedKind,
  type SharedAnswer,
  type SharedCall,
  type SharedKind,
  type SharedLimits
} from './shared-call';
import { SharedFlags } from './shared-flags';
import { SharedQueues } from './shared-queues';
import { SharedSemaphores } from './shared-semaphores';
import { SharedValues } from './shared-values';

/** What may have to wait, of each kind. */
const WAITING: Readonly<Record<SharedKind, readonly SharedCall['what'][]>> = {
  metadata: [],
  dataset: [],
  event: ['wait'],
  semaphore: ['acquire'],
  variable: ['get'],
  queue: ['get', 'put']
};
/** What changes nothing that anybody waits for. */
const onlyAsks = new Set<SharedCall['what']>([
  'count',
  'list',
  'names',
  'wait'
]);

type Wait<Owner> = {
  readonly call: SharedCall;
  readonly owner: Owner;
  /** When it ends, among all times. */
  readonly due: number;
};

type Answering<Owner> = (
  owner: Owner,
  call: SharedCall,
  answer: SharedAnswer
) => void;

export class Primitives<Owner extends object> {
  private readonly _room: SharedRoom;
  /** Of waits that bring no value: they go on while the room for values is full. */
  private readonly _roomOfWaits: SharedRoom;
  private readonly _semaphores: SharedSemaphores<Owner>;
  private readonly _queues: SharedQueues<Owner>;
  private readonly _kinds: Readonly<Record<SharedKind, ISharedKind<Owner>>>;
  /** Who waits, by kind, what they ask and name: in the order in which they came. */
  private readonly _lines = new Map<string, Set<Wait<Owner>>>();
  private readonly _waits = new Map<Owner, Map<number, Wait<Owner>>>();
  private _waiting = 0;
  /** What is to happen at a time, by number; those that will not happen any more are gone from the map alone. */
  private readonly _dues = new Map<number, (at: number) => void>();
  private readonly _times = new RankedHeap();
  private _lastDue = 0;

  constructor(
    private readonly _answer: Answering<Owner>,
    private readonly _limits: SharedLimits = SHARED_LIMITS,
    watch?: IRoomWatch
  ) {
    this._room = new SharedRoom(_limits, undefined, watch);
    this._roomOfWaits = new SharedRoom(_limits, 'calls that wait');
    this._semaphores = new SharedSemaphores(
      _limits,
      {
        at: (until, name, lease) =>
          this._at(until, at => {
            this._semaphores.release(name, lease);
            this._settle('semaphore', name, at);
          }),
        drop: due => this._dues.delete(due)
      },
      name => this._lines.has(lineOf('semaphore', 'acquire', name))
    );
    this._queues = new SharedQueues(this._room);
    this._kinds = {
      metadata: new SharedValues(this._room, 'keys of metadata'),
      dataset: new SharedValues(this._room, 'datasets'),
      variable: new SharedValues(this._room, 'variables'),
      event: new SharedFlags(_limits),
      semaphore: this._semaphores,
      queue: this._queues
    };
  }

  /** What is kept, and what waits to be kept, takes about so much. */
  get bytes(): number {
    return this._room.bytes;
  }

  /** How many wait. */
  get waiting(): number {
    return this._waiting;
  }

  /** When {@link expire} is to be called. */
  get nextDue(): number {
    while (this._times.length > 0 && !this._dues.has(this._times.peek())) {
      this._times.pop();
    }
    return this._times.peekRank();
  }

  take(call: SharedCall, owner: Owner, at: number): void {
    const { kind, what, name } = call;
    const answer = this._kinds[kind].attempt(call, owner, at);
    if (answer === null) {
      this._wait(call, owner, at);
      return;
    }
    this._say(owner, call, answer);
    if (kind === 'semaphore' && what === 'close') {
      this._endLine(lineOf(kind, 'acquire', name), {
        outcome: 'unknown',
        why: 'It has been closed.'
      });
    } else if (!onlyAsks.has(what)) {
      this._settle(kind, name, at);
    }
  }

  /** The owner waits no longer for the answer to a request, or (0) for any, and holds nothing any more. */
  giveUp(request: number, owner: Owner, at: number): void {
    if (request === 0) {
      const waits = this._waits.get(owner)?.values() ?? [];
      for (const wait of [...waits]) {
        this._end(wait);
        this._say(owner, wait.call, { outcome: 'late' });
      }
      this._freeAll(owner, at);
      return;
    }
    const wait = this._waits.get(owner)?.get(request);
    if (wait !== undefined) {
      this._end(wait);
      this._say(owner, wait.call, { outcome: 'late' });
    }
  }

  /** An owner has gone. */
  left(owner: Owner, at: number): void {
    const waits = this._waits.get(owner)?.values() ?? [];
    for (const wait of [...waits]) {
      this._end(wait);
    }
    this._freeAll(owner, at);
  }

  /** Ends what ends by time. */
  expire(at: number): void {
    while (this.nextDue <= at) {
      const due = this._times.pop();
      const act = this._dues.get(due)!;
      this._dues.delete(due);
      act(at);
    }
  }

  private _freeAll(owner: Owner, at: number): void {
    this._queues.left(owner);
    for (const name of this._semaphores.left(owner)) {
      this._settle('semaphore', name, at);
    }
  }

  private _wait(call: SharedCall, owner: Owner, at: number): void {
    const { request, kind, what, name, until, value } = call;
    const say = (answer: SharedAnswer): void => this._say(owner, call, answer);
    if (until <= at) {
      return say({ outcome: 'late' });
    }
    if (!WAITING[kind].includes(what)) {
      return say({ outcome: 'absent' });
    }
    const key = lineOf(kind, what, name);
    const line = this._lines.get(key) ?? new Set();
    const { waits, waitsOfName } = this._limits;
    if (line.size >= waitsOfName || this._waiting >= waits) {
      return say(
        full(
          `${english(line.size)} wait for it already, and ${english(this._waiting)} in all: the scheduler lets no more wait.`
        )
      );
    }
    const own = this._waits.get(owner) ?? new Map<number, Wait<Owner>>();
    if (request === 0 || own.has(request)) {
      return say({
        outcome: 'refused',
        why: 'A request that waits needs a number of its own.'
      });
    }
    const why = this._roomOf(call).exchange(name, value, null);
    if (why !== null) {
      return say(why);
    }
    const due = this._at(until, () => {
      this._end(wait);
      say({ outcome: 'late' });
    });
    // From here on it is known: whoever closes it ends the wait.
    const wait = { call: { ...call, isKnown: true }, owner, due };
    this._lines.set(key, line.add(wait));
    this._waits.set(owner, own.set(request, wait));
    this._waiting++;
  }

  /** Tries those who wait for a name, until none can go on. */
  private _settle(kind: SharedKind, name: string, at: number): void {
    let moved = true;
    while (moved) {
      moved = false;
      for (const what of WAITING[kind]) {
        for (const wait of this._lines.get(lineOf(kind, what, name)) ?? []) {
          // Its value moves from what waits to what is kept.
          const room = this._roomOf(wait.call);
          room.give(name, wait.call.value);
          const answer = this._kinds[kind].attempt(wait.call, wait.owner, at);
          room.takeAgain(name, wait.call.value);
          if (answer === null) {
            break;
          }
          this._end(wait);
          this._say(wait.owner, wait.call, answer);
          moved = true;
        }
      }
    }
  }

  private _endLine(key: string, answer: SharedAnswer): void {
    for (const wait of [...(this._lines.get(key) ?? [])]) {
      this._end(wait);
      this._say(wait.owner, wait.call, answer);
    }
  }

  private _end(wait: Wait<Owner>): void {
    const { call, owner, due } = wait;
    const key = lineOf(call.kind, call.what, call.name);
    const line = this._lines.get(key)!;
    line.delete(wait);
    if (line.size === 0) {
      this._lines.delete(key);
    }
    const own = this._waits.get(owner)!;
    own.delete(call.request);
    if (own.size === 0) {
      this._waits.delete(owner);
    }
    this._waiting--;
    this._roomOf(call).give(call.name, call.value);
    this._dues.delete(due);
  }

  /** Where a wait takes its room. */
  private _roomOf({ value }: SharedCall): SharedRoom {
    return value.length > 0 ? this._room : this._roomOfWaits;
  }

  private _at(time: number, act: (at: number) => void): number {
    this._lastDue = (this._lastDue + 1) & 0x7fffffff;
    const due = this._lastDue;
    if (time < Infinity) {
      this._dues.set(due, act);
      this._times.push(due, time);
      if (this._times.length > 2 * this._dues.size + 16) {
        this._times.retain(id => this._dues.has(id));
      }
    }
    return due;
  }

  private _say(owner: Owner, call: SharedCall, answer: SharedAnswer): void {
    if (call.request !== 0) {
      this._answer(owner, call, answer);
    }
  }
}

function lineOf(
  kind: SharedKind,
  what: SharedCall['what'],
  name: string
): string {
  return `${kind} ${what} ${name}`;
}
