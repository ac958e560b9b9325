import type { AcceptedLink } from '../../../link/door';
import type { Message } from '../../../wire/schema';
import { SharedState, type SharedMessage } from '../shared-state';
import { WorkerRequests } from '../worker-requests';

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

describe('what the scheduler keeps for its clients', () => {
  const log = message('logEvent', { topics: ['a'] });

  it('tells those who subscribed, until they unsubscribe or leave', () => {
    const shared = new SharedState(() => 5, new Map(), new WorkerRequests());
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
    const shared = new SharedState(() => 5, new Map(), new WorkerRequests());
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
});
