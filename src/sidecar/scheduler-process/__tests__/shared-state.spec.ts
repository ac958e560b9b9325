import type { Seconds } from '../../../base/brand';
import type { AcceptedLink } from '../../../link/door';
import type { Message } from '../../../wire/schema';
import { ClusterState } from '../cluster-state';
import type { Holds } from '../holds';
import { SharedState, type SharedMessage } from '../shared-state';
import { takeWorkerMessage } from '../worker-messages';
import { WorkerRequests } from '../worker-requests';
import { WorkerSession } from '../worker-session';

/** A client that keeps what it is sent. */
class KeepingClient {
  readonly got: { type: string; fields: Record<string, unknown> }[] = [];
  queuedBytes = 0;

  send(type: string, fields: Record<string, unknown>): void {
    this.got.push({ type, fields });
  }

  get link(): AcceptedLink<'client'> {
    return this as unknown as AcceptedLink<'client'>;
  }

  types(): string[] {
    return this.got.map(({ type }) => type);
  }
}

const SHARE = {
  request: 0,
  name: 'x',
  seconds: 0 as Seconds,
  lease: '',
  limit: 0,
  leaseSeconds: null,
  isKnown: false,
  count: 1,
  version: null,
  hold: 0
};

function message<T extends SharedMessage['type']>(
  type: T,
  fields: Message<'client', 'up', T>['fields']
): SharedMessage {
  return {
    type,
    fields,
    tables: {},
    blobs: [Uint8Array.of(1)]
  } as unknown as SharedMessage;
}

function sharedState(
  clock: () => number,
  gather: (act: () => void) => void = act => act()
): SharedState {
  return new SharedState(clock, new Map(), new WorkerRequests(), gather);
}

describe('what the scheduler keeps for its clients', () => {
  const log = message('logEvent', { topics: ['a'] });

  it('tells those who subscribed, until they unsubscribe or leave', () => {
    const shared = sharedState(() => 5);
    const [one, two] = [new KeepingClient(), new KeepingClient()];
    for (const client of [one, two]) {
      shared.take(message('subscribe', { topic: 'a', on: true }), client.link);
    }
    shared.take(log, one.link);
    expect([one.types(), two.types()]).toEqual([['event'], ['event']]);
    expect(one.got[0]!.fields).toEqual({ topic: 'a', t: 5, lost: 0 });
    shared.take(message('subscribe', { topic: 'a', on: false }), two.link);
    shared.take(log, two.link);
    shared.clientLeft(one.link);
    shared.take(log, two.link);
    expect([one.got.length, two.got.length]).toEqual([2, 1]);
  });

  it('sends a client that does not read no more events, and counts them', () => {
    const shared = sharedState(() => 5);
    const client = new KeepingClient();
    shared.take(message('subscribe', { topic: 'a', on: true }), client.link);
    client.queuedBytes = 2 ** 30;
    shared.take(log, client.link);
    shared.take(log, client.link);
    expect(client.got).toEqual([]);
    client.queuedBytes = 0;
    shared.take(log, client.link);
    shared.take(log, client.link);
    expect(client.got.map(({ fields }) => fields['lost'])).toEqual([2, 0]);
  });

  it('holds what further answers bring where the earlier ones are held', () => {
    const granted: unknown[][] = [];
    const holds = {
      took: () => undefined,
      gave: () => undefined,
      grant: (...given: unknown[]) => granted.push(given.slice(2)) && 7
    } as unknown as Holds;
    const shared = new SharedState(
      () => 0,
      new Map(),
      new WorkerRequests(),
      act => act(),
      holds
    );
    const client = new KeepingClient();
    const ask = (what: string, fields: object): void => {
      const share = { ...SHARE, kind: 'queue', what, ...fields } as never;
      const asked = message('share', share);
      const tables = { futures: { rows: 0 } };
      shared.take({ ...asked, tables } as never, client.link);
    };
    ask('get', { request: 1, seconds: null });
    ask('put', {});
    ask('get', { request: 2, seconds: null, hold: 7 });
    ask('put', {});
    ask('put', { hold: 7 });
    ask('get', { request: 3, hold: 7 });
    expect(granted).toEqual([
      [1, 0],
      [2, 7],
      [3, 7]
    ]);
  });

  it('ends waits by their time, and what a worker holds with its link', () => {
    jest.useFakeTimers();
    try {
      let now = 0;
      const shared = sharedState(() => now);
      const pass = (seconds: number): void => {
        now += seconds;
        jest.advanceTimersByTime(1000 * seconds);
      };
      const [one, two] = [new KeepingClient(), new KeepingClient()];
      const acquire = {
        ...SHARE,
        kind: 'semaphore',
        what: 'acquire',
        limit: 1
      } as const;
      const ask = (
        client: KeepingClient,
        fields: Partial<Message<'client', 'up', 'share'>['fields']>
      ): void =>
        shared.take(
          message('share', { ...acquire, ...fields } as never),
          client.link
        );
      const outcomes = (client: KeepingClient): string[] =>
        client.got
          .splice(0)
          .map(({ fields }) => `${fields.request} ${fields.outcome}`);
      ask(one, { request: 1, lease: 'a' });
      ask(two, { request: 1, lease: 'b', seconds: 5 as Seconds });
      ask(two, { request: 2, lease: 'c', seconds: null });
      ask(two, { request: 3, lease: 'd', seconds: 9 as Seconds });
      pass(4);
      expect([outcomes(one), outcomes(two)]).toEqual([['1 done'], []]);
      pass(2);
      expect(outcomes(two)).toEqual(['1 late']);
      shared.workerLeft(one.link as never);
      expect(outcomes(two)).toEqual(['2 done']);
      shared.take(message('giveUp', { request: 0, hold: 0 }), two.link);
      expect(outcomes(two)).toEqual(['3 late']);
      ask(one, { request: 4, lease: 'e' });
      ask(two, { request: 4, seconds: 3 as Seconds });
      shared.close();
      pass(100);
      expect([outcomes(one), outcomes(two)]).toEqual([['4 done'], []]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('ends by time within a turn of the scheduler, and nothing once it closes', () => {
    jest.useFakeTimers();
    try {
      let now = 0;
      const acts: (() => void)[] = [];
      const shared = sharedState(
        () => now,
        act => acts.push(act)
      );
      const client = new KeepingClient();
      const wait = (request: number): void =>
        shared.take(
          message('share', {
            ...SHARE,
            request,
            kind: 'event',
            what: 'wait',
            seconds: 1 as Seconds
          }),
          client.link
        );
      const pass = (): void => {
        now += 2;
        jest.advanceTimersByTime(2000);
      };
      wait(1);
      pass();
      expect([client.got, acts.length]).toEqual([[], 1]);
      acts.pop()!();
      expect(client.got.map(({ fields }) => fields['outcome'])).toEqual([
        'late'
      ]);
      wait(2);
      pass();
      shared.close();
      acts.pop()!();
      pass();
      expect([client.got.length, acts.length]).toEqual([1, 0]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('takes nothing for a worker that was dismissed in the same turn', () => {
    const state = new ClusterState(
      () => 5,
      0,
      () => undefined
    );
    const worker = new KeepingClient();
    const session = new WorkerSession(
      worker as never,
      { worker: 3, threads: 1 } as never
    );
    const acquire = {
      ...message('share', {
        ...SHARE,
        request: 1,
        kind: 'semaphore',
        what: 'acquire',
        limit: 1,
        lease: 'a'
      }),
      blobs: [],
      tables: { futures: { rows: 0 } }
    } as never;
    takeWorkerMessage(state, session, acquire);
    expect(worker.got).toEqual([]);
    const client = new KeepingClient();
    state.shared.take(acquire, client.link);
    expect(client.got.map(({ fields }) => fields['outcome'])).toEqual(['done']);
    state.shared.clientLeft(client.link);
    state.workers.set(3, session);
    takeWorkerMessage(state, session, acquire);
    expect(worker.got.map(({ fields }) => fields['outcome'])).toEqual(['done']);
  });
});
