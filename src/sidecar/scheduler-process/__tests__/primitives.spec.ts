import * as fc from 'fast-check';
import { Primitives } from '../primitives';
import {
  SHARED_LIMITS,
  type SharedAnswer,
  type SharedCall
} from '../shared-call';

type Owner = { readonly name: string };
type Said = SharedAnswer & {
  readonly owner: string;
  readonly request: number;
};
type Given = Partial<Omit<SharedCall, 'value'>> & { readonly value?: number };

const [A, B, C]: Owner[] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];

/** Primitives that keep what they answer. */
class Kept {
  said: Said[] = [];
  at = 0;
  private _request = 0;
  readonly primitives: Primitives<Owner>;

  constructor(limits: Partial<typeof SHARED_LIMITS> = {}) {
    this.primitives = new Primitives<Owner>(
      (owner, { request }, answer) =>
        this.said.push({ ...answer, owner: owner.name, request }),
      { ...SHARED_LIMITS, ...limits }
    );
  }

  /** Asks, and returns the request's number. */
  ask(owner: Owner, given: Given): number {
    const request = ++this._request;
    const call: SharedCall = {
      request,
      kind: 'event',
      what: 'wait',
      name: 'x',
      until: Infinity,
      lease: `lease-${request}`,
      limit: 1,
      leaseSeconds: 30,
      isKnown: false,
      count: 1,
      version: null,
      hold: 0,
      ...given,
      value: Uint8Array.from(given.value === undefined ? [] : [given.value])
    };
    this.primitives.take(call, owner, this.at);
    return request;
  }

  /** Lets time pass, as the timer does. */
  until(at: number): void {
    for (;;) {
      const due = this.primitives.nextDue;
      if (due > at) {
        break;
      }
      this.at = due;
      this.primitives.expire(due);
    }
    this.at = at;
  }

  /** What was answered since the last look, as text. */
  look(): string[] {
    return this.said
      .splice(0)
      .map(({ owner, outcome, count, values }) =>
        [
          owner,
          outcome,
          ...(count === undefined ? [] : [count]),
          ...(values ?? []).map(value => `[${[...value].join()}]`)
        ].join(' ')
      );
  }
}

describe('events', () => {
  it('let all who wait go on when they are set, and others at once until they are cleared', () => {
    const kept = new Kept();
    kept.ask(A!, { what: 'wait' });
    kept.ask(B!, { what: 'wait' });
    expect(kept.look()).toEqual([]);
    kept.ask(C!, { what: 'set' });
    expect(kept.look()).toEqual(['c done', 'a done', 'b done']);
    kept.ask(A!, { what: 'wait' });
    kept.ask(A!, { what: 'count' });
    kept.ask(A!, { what: 'clear' });
    kept.ask(A!, { what: 'count' });
    kept.ask(A!, { what: 'wait', until: kept.at });
    expect(kept.look()).toEqual([
      'a done',
      'a done 1',
      'a done',
      'a done 0',
      'a late'
    ]);
  });
});

describe('semaphores', () => {
  const acquire = { kind: 'semaphore', what: 'acquire' } as const;
  const release = { kind: 'semaphore', what: 'release' } as const;

  it('give leases in the order of asking', () => {
    const kept = new Kept();
    const first = kept.ask(A!, acquire);
    kept.ask(B!, acquire);
    kept.ask(C!, acquire);
    kept.ask(A!, { ...release, lease: `lease-${first}` });
    expect(kept.look()).toEqual(['a done', 'a done', 'b done']);
    kept.primitives.left(B!, kept.at);
    expect(kept.look()).toEqual(['c done']);
  });

  it('end the leases and the waits of an owner that goes, and of one that gives all up', () => {
    const kept = new Kept();
    kept.ask(A!, acquire);
    kept.ask(A!, acquire);
    kept.ask(B!, acquire);
    kept.primitives.giveUp(0, A!, kept.at);
    expect(kept.look()).toEqual(['a done', 'a late', 'b done']);
    expect(kept.primitives.waiting).toBe(0);
  });

  it('end an abandoned lease after its time, and not one that is released before', () => {
    const kept = new Kept();
    const lease = `lease-${kept.ask(A!, acquire)}`;
    kept.ask(B!, { ...acquire, until: 100 });
    kept.ask(A!, { kind: 'semaphore', what: 'abandon', lease });
    kept.look();
    kept.until(29);
    expect(kept.look()).toEqual([]);
    kept.until(31);
    expect(kept.look()).toEqual(['b done']);
  });

  it('end an abandoned lease once, and forget when with the lease', () => {
    const kept = new Kept();
    const dues = (kept.primitives as unknown as { _dues: Map<number, unknown> })
      ._dues;
    const lease = `lease-${kept.ask(A!, acquire)}`;
    const abandon = { kind: 'semaphore', what: 'abandon', lease } as const;
    kept.ask(A!, abandon);
    kept.until(10);
    kept.ask(A!, abandon);
    expect([dues.size, kept.primitives.nextDue]).toEqual([1, 30]);
    kept.ask(A!, { ...release, lease });
    expect([dues.size, kept.primitives.nextDue]).toEqual([0, Infinity]);
    kept.ask(A!, { ...acquire, lease });
    kept.ask(A!, abandon);
    kept.primitives.left(A!, kept.at);
    expect([dues.size, kept.primitives.nextDue]).toEqual([0, Infinity]);
  });

  it('refuse a lease that is held already, by the same owner or under the same name', () => {
    const kept = new Kept();
    const one = { ...acquire, lease: 'one', limit: 3 };
    kept.ask(A!, one);
    kept.ask(A!, one);
    kept.ask(A!, { ...one, name: 'y' });
    kept.ask(B!, one);
    kept.ask(B!, { ...one, name: 'y' });
    kept.ask(A!, { ...release, lease: 'one' });
    kept.ask(A!, { ...release, lease: 'one', name: 'y' });
    expect(kept.look()).toEqual([
      'a done',
      'a refused',
      'a refused',
      'b refused',
      'b done',
      'a done',
      'a done'
    ]);
    const { leases } = (
      kept.primitives as unknown as { _semaphores: { leases: number } }
    )._semaphores;
    expect(leases).toBe(0);
  });

  it('never end one without a timeout', () => {
    const kept = new Kept();
    const free = { ...acquire, leaseSeconds: null };
    const lease = `lease-${kept.ask(A!, free)}`;
    kept.ask(A!, { kind: 'semaphore', what: 'abandon', lease });
    expect(kept.primitives.nextDue).toBe(Infinity);
  });

  it('refuse another number of leases, and who has registered one that was closed', () => {
    const kept = new Kept();
    kept.ask(A!, acquire);
    kept.ask(B!, acquire);
    kept.ask(A!, { ...acquire, limit: 2 });
    kept.ask(C!, { kind: 'semaphore', what: 'close' });
    kept.ask(A!, { ...acquire, isKnown: true });
    expect(kept.look()).toEqual([
      'a done',
      'a inconsistent',
      'c done 1',
      'b unknown',
      'a unknown'
    ]);
    kept.ask(A!, { ...acquire, limit: 2 });
    expect(kept.look()).toEqual(['a done']);
  });

  it('forget the oldest that nobody holds when there are too many', () => {
    const kept = new Kept({ names: 2 });
    kept.ask(A!, { ...acquire, name: 'held' });
    const second = `lease-${kept.ask(A!, { ...acquire, name: 'free' })}`;
    kept.ask(A!, { ...acquire, name: 'no room' });
    kept.ask(A!, { ...release, name: 'free', lease: second });
    kept.ask(A!, { ...acquire, name: 'room' });
    // It may be one that was forgotten.
    kept.ask(A!, { ...acquire, name: 'free', isKnown: true });
    expect(kept.look()).toEqual([
      'a done',
      'a done',
      'a full',
      'a done',
      'a done',
      'a full'
    ]);
  });
});

describe('values', () => {
  it('are awaited, replaced, deleted', () => {
    const kept = new Kept();
    const variable = { kind: 'variable' } as const;
    kept.ask(A!, { ...variable, what: 'get' });
    kept.ask(B!, { ...variable, what: 'set', value: 7 });
    kept.ask(B!, { ...variable, what: 'set', value: 8 });
    kept.ask(A!, { ...variable, what: 'get' });
    kept.ask(A!, { ...variable, what: 'delete' });
    kept.ask(A!, { ...variable, what: 'delete' });
    kept.ask(A!, { ...variable, what: 'get', until: 0 });
    expect(kept.look()).toEqual([
      'b done 1',
      'a done 1 [7]',
      'b done 2',
      'a done 2 [8]',
      'a done',
      'a absent',
      'a late'
    ]);
    expect(kept.primitives.bytes).toBe(0);
  });

  it('are set only if they are what the caller has seen', () => {
    const kept = new Kept();
    const set = { kind: 'metadata', what: 'set', value: 1 } as const;
    for (const version of [1, 0, 0, 1, 1]) {
      kept.ask(A!, { ...set, version });
    }
    kept.ask(A!, { kind: 'metadata', what: 'get', name: 'other' });
    kept.ask(A!, { kind: 'metadata', what: 'list' });
    expect(kept.look()).toEqual([
      'a conflict',
      'a done 1',
      'a conflict',
      'a done 2',
      'a conflict',
      'a absent',
      'a done [1]'
    ]);
  });
});

describe('queues', () => {
  it('end with their last handle, and otherwise when they are empty', () => {
    const kept = new Kept();
    const queue = { kind: 'queue' } as const;
    kept.ask(A!, { ...queue, what: 'open', limit: 1 });
    kept.ask(B!, { ...queue, what: 'open', limit: 5 });
    kept.ask(A!, { ...queue, what: 'put', value: 1 });
    kept.ask(A!, { ...queue, what: 'put', value: 2, until: 0 });
    kept.ask(A!, { ...queue, what: 'close' });
    kept.ask(B!, { ...queue, what: 'count' });
    kept.ask(A!, { ...queue, what: 'close' });
    kept.ask(B!, { ...queue, what: 'close' });
    kept.ask(B!, { ...queue, what: 'count' });
    expect(kept.look()).toEqual([
      'a done',
      'b done',
      'a done',
      'a late',
      'a done',
      'b done 1',
      'a absent',
      'b done',
      'b done 0'
    ]);
    expect(kept.primitives.bytes).toBe(0);
  });
});

describe('what is full', () => {
  it.each<[string, Given, Partial<typeof SHARED_LIMITS>]>([
    ['events', { what: 'set' }, { names: 3 }],
    ['waits', { what: 'wait' }, { waits: 3 }],
    ['waits of a name', { what: 'wait', name: 'x' }, { waitsOfName: 3 }],
    ['variables', { kind: 'variable', what: 'set' }, { names: 3 }],
    ['bytes', { kind: 'variable', what: 'set', value: 1 }, { bytes: 620 }],
    ['queues', { kind: 'queue', what: 'put', value: 1 }, { names: 3 }],
    ['semaphores', { kind: 'semaphore', what: 'acquire' }, { names: 3 }],
    ['leases', { kind: 'semaphore', what: 'acquire' }, { leases: 3 }]
  ])('%s: the fourth is refused with a sentence', (_, given, limits) => {
    const kept = new Kept(limits);
    for (let i = 0; i < 4; i++) {
      kept.ask(A!, { name: `n${i}`, ...given });
    }
    const last = kept.said.at(-1)!;
    expect(kept.said.filter(({ outcome }) => outcome === 'full')).toEqual([
      last
    ]);
    expect(last.request).toBe(4);
    expect(last.why).toMatch(/^\S+ .* \S+\.$/);
  });

  it('values that wait to be put take their room, and give it back', () => {
    const kept = new Kept({ bytes: 620 });
    const put = { kind: 'queue', what: 'put', value: 1, limit: 1 } as const;
    for (let i = 0; i < 4; i++) {
      kept.ask(A!, { ...put, until: 5 });
    }
    expect(kept.look()).toEqual(['a done', 'a full']);
    kept.until(6);
    expect(kept.look()).toEqual(['a late', 'a late']);
    kept.ask(A!, { kind: 'queue', what: 'get' });
    expect(kept.look()).toEqual(['a done [1]']);
    expect(kept.primitives.bytes).toBe(0);
  });

  it('waits without a value need no room for values, and have a bound of their own', () => {
    const kept = new Kept({ bytes: 620 });
    const put = {
      kind: 'queue',
      what: 'put',
      name: 'q',
      value: 1,
      limit: 0
    } as const;
    kept.ask(A!, put);
    kept.ask(A!, put);
    kept.ask(A!, put);
    expect(kept.look()).toEqual(['a done', 'a done', 'a done']);
    const wait = { what: 'wait', until: 5 } as const;
    for (let i = 0; i < 4; i++) {
      kept.ask(B!, wait);
    }
    expect(kept.look()).toEqual(['b full']);
    kept.ask(A!, { what: 'set' });
    expect(kept.look()).toEqual(['a done', 'b done', 'b done', 'b done']);
    kept.ask(A!, { what: 'clear' });
    kept.ask(B!, wait);
    expect(kept.look()).toEqual(['a done']);
    kept.until(6);
    expect(kept.look()).toEqual(['b late']);
    kept.ask(A!, { kind: 'queue', what: 'getAll', name: 'q' });
    expect(kept.primitives.bytes).toBe(0);
  });

  it('a value may not be too large', () => {
    const kept = new Kept({ valueBytes: 0 });
    kept.ask(A!, { kind: 'variable', what: 'set', value: 1 });
    expect(kept.look()).toEqual(['a full']);
  });
});

/** One step of a drawn run. */
type Step = {
  readonly owner: number;
  readonly act:
    | 'acquire'
    | 'release'
    | 'wait'
    | 'set'
    | 'clear'
    | 'put'
    | 'putBack'
    | 'get'
    | 'getAll'
    | 'setValue'
    | 'getValue'
    | 'delete'
    | 'giveUp'
    | 'left'
    | 'pass';
  readonly name: number;
  readonly seconds: number | null;
  readonly pick: number;
};

const KINDS: Partial<Record<Step['act'], Given>> = {
  acquire: { kind: 'semaphore', what: 'acquire', limit: 2 },
  wait: { kind: 'event', what: 'wait' },
  set: { kind: 'event', what: 'set' },
  clear: { kind: 'event', what: 'clear' },
  put: { kind: 'queue', what: 'put', limit: 2 },
  putBack: { kind: 'queue', what: 'putBack', limit: 2 },
  get: { kind: 'queue', what: 'get' },
  getAll: { kind: 'queue', what: 'getAll' },
  setValue: { kind: 'variable', what: 'set' },
  getValue: { kind: 'variable', what: 'get' },
  delete: { kind: 'variable', what: 'delete' }
};

type Pending = {
  readonly request: number;
  readonly owner: number;
  readonly step: Step;
  readonly until: number;
};

/** The same, as plainly as it can be said: arrays that are searched from the front, again and again. */
class Plain {
  readonly pending: Pending[] = [];
  readonly events = new Set<number>();
  readonly values = new Map<number, number>();
  readonly queues = new Map<number, number[]>();
  leases: { request: number; owner: number; name: number }[] = [];
  answers: string[] = [];
  at = 0;

  ask(step: Step, request: number): void {
    const until = this.at + (step.seconds ?? Infinity);
    this.pending.push({ request, owner: step.owner, step, until });
    this._go();
    this._end(each => each.until <= this.at);
  }

  pass(at: number): void {
    this.at = at;
    this._end(each => each.until <= at);
  }

  giveUp(request: number): void {
    this._end(each => each.request === request);
  }

  left(owner: number): void {
    const gone = this.pending.filter(each => each.owner === owner);
    gone.forEach(each => this.pending.splice(this.pending.indexOf(each), 1));
    this.leases = this.leases.filter(each => each.owner !== owner);
    this._go();
  }

  release(request: number): void {
    this.leases = this.leases.filter(each => each.request !== request);
    this._go();
  }

  private _go(): void {
    for (let i = 0; i < this.pending.length; i++) {
      const { request, owner, step } = this.pending[i]!;
      const answer = this._can(step, request, owner);
      if (answer !== null) {
        this.answers.push(`${request} ${answer}`);
        this.pending.splice(i, 1);
        i = -1;
      }
    }
  }

  private _can(
    { act, name }: Step,
    request: number,
    owner: number
  ): string | null {
    const queue = this.queues.get(name) ?? [];
    this.queues.set(name, queue);
    switch (act) {
      case 'acquire':
        if (this.leases.filter(each => each.name === name).length >= 2) {
          return null;
        }
        this.leases.push({ request, owner, name });
        return 'done';
      case 'wait':
        return this.events.has(name) ? 'done' : null;
      case 'set':
        this.events.add(name);
        return 'done';
      case 'clear':
        this.events.delete(name);
        return 'done';
      case 'put':
        return queue.length >= 2 ? null : (queue.push(request & 255), 'done');
      case 'putBack':
        queue.unshift(request & 255);
        return 'done';
      case 'get':
        return queue.length === 0 ? null : `done ${queue.shift()}`;
      case 'getAll':
        return ['done', ...queue.splice(0)].join(' ');
      case 'setValue':
        this.values.set(name, request & 255);
        return 'done';
      case 'getValue':
        return this.values.has(name) ? `done ${this.values.get(name)}` : null;
      default:
        return this.values.delete(name) ? 'done' : 'absent';
    }
  }

  private _end(isOver: (each: Pending) => boolean): void {
    for (const each of this.pending.filter(isOver)) {
      this.pending.splice(this.pending.indexOf(each), 1);
      this.answers.push(`${each.request} late`);
    }
  }
}

describe('drawn runs', () => {
  const owners = [A!, B!, C!];
  const steps = fc.array(
    fc.record<Step>({
      owner: fc.nat(2),
      act: fc.constantFrom(
        ...(Object.keys(KINDS) as Step['act'][]),
        'acquire',
        'release',
        'get',
        'put',
        'giveUp',
        'left',
        'pass'
      ),
      name: fc.nat(1),
      seconds: fc.constantFrom(null, null, 0, 1, 3, 10),
      pick: fc.nat(50)
    }),
    { maxLength: 60 }
  );

  it('answer as a plain account of the same does, and leave nothing', () => {
    fc.assert(
      fc.property(steps, drawn => {
        const kept = new Kept();
        const plain = new Plain();
        for (const step of drawn) {
          const owner = owners[step.owner]!;
          if (step.act === 'pass') {
            plain.pass(plain.at + step.pick / 5);
            kept.until(plain.at);
          } else if (step.act === 'left') {
            plain.left(step.owner);
            kept.primitives.left(owner, kept.at);
          } else if (step.act === 'giveUp') {
            const all = plain.pending;
            const one = all[step.pick % Math.max(1, all.length)];
            if (one !== undefined) {
              plain.giveUp(one.request);
              kept.primitives.giveUp(one.request, owners[one.owner]!, kept.at);
            }
          } else if (step.act === 'release') {
            const all = plain.leases;
            const one = all[step.pick % Math.max(1, all.length)];
            if (one !== undefined) {
              plain.release(one.request);
              kept.primitives.take(
                {
                  ...callOf(one.name),
                  lease: `lease-${one.request}`
                },
                owner,
                kept.at
              );
            }
          } else {
            const given = KINDS[step.act]!;
            const request = kept.ask(owner, {
              ...given,
              name: `n${step.name}`,
              until: step.seconds === null ? Infinity : kept.at + step.seconds,
              // Its own number, so that it is seen where it went.
              value: nextRequest(kept) & 255
            });
            plain.ask(step, request);
          }
          const said = kept.said
            .splice(0)
            .map(({ request, outcome, values }) =>
              [request, outcome, ...(values ?? []).map(value => value[0])].join(
                ' '
              )
            );
          expect(said.sort()).toEqual(plain.answers.splice(0).sort());
          expect(kept.primitives.waiting).toBe(plain.pending.length);
        }
        owners.forEach(owner => kept.primitives.left(owner, kept.at));
        for (const name of ['n0', 'n1']) {
          kept.ask(A!, { kind: 'queue', what: 'getAll', name });
          kept.ask(A!, { kind: 'variable', what: 'delete', name });
          kept.ask(A!, { kind: 'semaphore', what: 'count', name });
        }
        const left = kept.said.filter(({ count }) => (count ?? 0) > 0);
        expect(left).toEqual([]);
        expect(kept.primitives.waiting).toBe(0);
        expect(kept.primitives.bytes).toBe(0);
        expect(kept.primitives.nextDue).toBe(Infinity);
      }),
      { numRuns: 2_000 }
    );
  });
});

/** The number that the next request gets. */
function nextRequest(kept: Kept): number {
  return (kept as unknown as { _request: number })._request + 1;
}

function callOf(name: number): SharedCall {
  return {
    request: 0,
    kind: 'semaphore',
    what: 'release',
    name: `n${name}`,
    until: Infinity,
    lease: '',
    limit: 2,
    leaseSeconds: null,
    isKnown: false,
    count: 1,
    version: null,
    hold: 0,
    value: new Uint8Array(0)
  };
}
