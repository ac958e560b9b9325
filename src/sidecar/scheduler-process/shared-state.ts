/**
 * What the scheduler keeps for its clients and workers beside tasks and results. In the scheduler process, which opens none of it. Each
 * part says where it is bounded.
 */
import type { Seconds } from '../../base/brand';
import type { AcceptedLink } from '../../link/door';
import type { Message } from '../../wire/schema';
import { Plugins } from './plugins';
import { Primitives } from './primitives';
import type { Holds } from './holds';
import {
  SHARED_LIMITS,
  type SharedAnswer,
  type SharedCall
} from './shared-call';
import { type IUnpacked, MOST_NAME, packedOf, Topics } from './topics';
import type { WorkerRequests } from './worker-requests';
import type { WorkerSession } from './worker-session';

type Client = AcceptedLink<'client'>;
type FromClient = Message<'client', 'up'>;
/** Who waits for things that are shared by name, and holds them. */
type Sharer = AcceptedLink<'client'> | AcceptedLink<'worker'>;
type Sharing = Extract<FromClient, { readonly type: 'share' | 'giveUp' }>;

/** The client's messages that are about it. */
export type SharedMessage = Extract<
  FromClient,
  {
    readonly type:
      | 'logEvent'
      | 'askEvents'
      | 'subscribe'
      | 'plugin'
      | 'share'
      | 'giveUp';
  }
>;

/** A client that leaves more than this unread is not sent further events: it is told how many there were. */
const MOST_UNREAD_BYTES = 64 * 2 ** 20;

export class SharedState {
  private readonly _topics = new Topics<Client>();
  /** Events that were not sent to a client since the last one that was. */
  private readonly _lost = new Map<Client, number>();

  readonly plugins: Plugins;
  /** Hears of all events of clients and workers; the content is msgpack. */
  onEvent: ((topic: string, content: Uint8Array) => void) | null = null;
  private readonly _primitives = new Primitives<Sharer>(
    (sharer, call, answer) => this._answer(sharer, call, answer),
    SHARED_LIMITS,
    {
      took: value => this._holds?.took(value),
      gave: value => this._holds?.gave(value)
    }
  );
  private _expireTimer: NodeJS.Timeout | undefined;
  /** What the timer is set to. */
  private _expiresAt = Infinity;

  /**
   * @param _clock - the monotonic clock in seconds.
   * @param _gather - does something in this turn of the scheduler.
   * @param _holds - what is held for the futures in shared values; null: there are none.
   */
  constructor(
    private readonly _clock: () => number,
    private readonly _workers: ReadonlyMap<number, WorkerSession>,
    requests: WorkerRequests,
    private readonly _gather: (act: () => void) => void,
    private readonly _holds: Holds | null = null
  ) {
    this.plugins = new Plugins(requests);
  }

  take(message: SharedMessage, client: Client): void {
    switch (message.type) {
      case 'logEvent':
        return this.log(message);
      case 'askEvents':
        return this._answerEvents(message.fields, client);
      case 'subscribe': {
        const { topic, on } = message.fields;
        return on
          ? this._topics.listen(topic, client)
          : this._topics.unlisten(topic, client);
      }
      case 'plugin':
        return this._plugin(message, client);
      case 'share':
      case 'giveUp':
        return this.share(message, client);
    }
  }

  /** A client or a worker asks for something that is shared by name, or gives that up. */
  share(
    message: Pick<Sharing, 'type' | 'fields' | 'blobs' | 'tables'>,
    sharer: Sharer
  ): void {
    const at = this._clock();
    if (message.type === 'giveUp') {
      const { request, hold } = message.fields as Message<
        'client',
        'up',
        'giveUp'
      >['fields'];
      this._primitives.giveUp(request, sharer, at);
      this._holds?.giveUp(hold, sharer, request);
    } else {
      const { seconds, ...call } = message.fields as Message<
        'client',
        'up',
        'share'
      >['fields'];
      const until = seconds === null ? Infinity : at + seconds;
      // A copy: a view would keep the whole message for as long as the value.
      const copy = message.blobs[0]?.slice() ?? nothing;
      const value =
        call.what === 'putBack'
          ? (this._holds?.takeBack(call.hold, copy, sharer) ?? copy)
          : copy;
      const why = this._attach(value, message);
      if (why === '') {
        this._primitives.take({ ...call, until, value }, sharer, at);
      } else {
        this._answer(sharer, call, { outcome: 'refused', why });
      }
    }
    this._setTimer();
  }

  /** Notes which futures are in a value. @returns why they cannot be. */
  private _attach(
    value: Uint8Array,
    message: Pick<Sharing, 'type' | 'tables'>
  ): string {
    const { futures } = (message as Message<'client', 'up', 'share'>).tables;
    return this._holds === null || futures.rows === 0
      ? ''
      : this._holds.attach(value, futures);
  }

  private _answer(
    sharer: Sharer,
    {
      request,
      what,
      hold: earlier
    }: Pick<SharedCall, 'request' | 'what' | 'hold'>,
    answer: SharedAnswer
  ): void {
    const hold =
      request === 0
        ? 0
        : (this._holds?.grant(
            sharer,
            answer.values ?? [],
            request,
            what === 'get' ? earlier : 0
          ) ?? 0);
    answerTo(sharer, request, answer, hold);
  }

  workerLeft(worker: Sharer): void {
    this._holds?.left(worker);
    this._primitives.left(worker, this._clock());
    this._setTimer();
  }

  /** Ends no wait any more: all who wait are told that the cluster closes. */
  close(): void {
    clearTimeout(this._expireTimer);
    this._expiresAt = -Infinity;
  }

  /** An event of a client or of a worker. */
  log({
    fields,
    blobs
  }: Pick<Message<'client', 'up', 'logEvent'>, 'fields' | 'blobs'>): void {
    const t = this._clock() as Seconds;
    // A copy: a view would keep the whole message for as long as the event.
    const content = blobs[0]!.slice();
    for (const topic of fields.topics) {
      this.onEvent?.(topic, content);
      for (const client of this._topics.log(topic, t, content)) {
        this._tell(client, topic, t, content);
      }
    }
  }

  /** An event of the scheduler itself. */
  logOwn(topics: readonly string[], event: IUnpacked): void {
    const t = this._clock() as Seconds;
    // A worker that is no worker of ours may have any address.
    const names = topics.every(isShort) ? topics : topics.filter(isShort);
    if (!names.some(name => this._topics.isHeard(name))) {
      this._topics.logLater(names, t, event);
      return;
    }
    let packed: Uint8Array | null = null;
    for (const topic of names) {
      for (const client of this._topics.log(topic, t, event)) {
        packed ??= event.pack();
        this._tell(client, topic, t, packed);
      }
    }
  }

  clientLeft(client: Client): void {
    this._topics.left(client);
    this._lost.delete(client);
    this._holds?.left(client);
    this._primitives.left(client, this._clock());
    this._setTimer();
  }

  private _setTimer(): void {
    const due = this._primitives.nextDue;
    // One that is set too early looks again.
    if (due >= this._expiresAt) {
      return;
    }
    clearTimeout(this._expireTimer);
    this._expiresAt = due;
    const seconds = Math.min(due - this._clock(), LONGEST_TIMER_SECONDS);
    this._expireTimer = setTimeout(
      () => this._gather(() => this._expire()),
      Math.max(0, Math.ceil(seconds * 1000))
    );
    this._expireTimer.unref();
  }

  private _expire(): void {
    if (this._expiresAt === -Infinity) {
      return; // the cluster closes
    }
    this._expiresAt = Infinity;
    this._primitives.expire(this._clock());
    this._setTimer();
  }

  private _plugin(
    { fields, blobs }: Message<'client', 'up', 'plugin'>,
    client: Client
  ): void {
    const { request, name, setUp, idempotent } = fields;
    const { plugins } = this;
    const known = plugins.has(name);
    // A copy: a view would keep the whole message for as long as the plugin.
    const payload = setUp ? blobs[0]!.slice() : null;
    if (payload === null ? !plugins.forget(name) : known && idempotent) {
      client.send('pluginDone', { request, known });
      return;
    }
    const why = payload === null ? '' : plugins.keep(name, payload);
    if (why !== '') {
      client.send('pluginDone', { request, known, why });
      return;
    }
    plugins.send(this._workers.values(), name, payload, failures =>
      client.send(
        'pluginDone',
        {
          request,
          known,
          failed: failures.map(({ worker, why }) => ({ worker, why }))
        },
        {},
        failures.map(({ error }) => error)
      )
    );
  }

  private _tell(
    client: Client,
    topic: string,
    t: Seconds,
    content: Uint8Array
  ): void {
    const lost = this._lost.get(client) ?? 0;
    if (client.queuedBytes > MOST_UNREAD_BYTES) {
      this._lost.set(client, lost + 1);
      return;
    }
    this._lost.delete(client);
    client.send('event', { topic, t, lost }, {}, [content]);
  }

  private _answerEvents(
    { request, topic }: Message<'client', 'up', 'askEvents'>['fields'],
    client: Client
  ): void {
    const read = this._topics.read(topic);
    const rows = read.flatMap(({ events }, i) =>
      events.map(({ t, content }) => ({
        t,
        content: packedOf(content),
        topic: i
      }))
    );
    client.send(
      'events',
      {
        request,
        topics: read.map(({ name, total }) => ({ topic: name, total })),
        forgotten: this._topics.forgotten
      },
      {
        events: {
          topic: rows.map(row => row.topic),
          t: rows.map(row => row.t as Seconds),
          length: rows.map(row => row.content.length)
        }
      },
      [Buffer.concat(rows.map(row => row.content))]
    );
  }
}

const nothing = new Uint8Array(0);
const isShort = ({ length }: string): boolean => length <= MOST_NAME;
/** `setTimeout` cannot wait longer than 2³¹ ms. */
const LONGEST_TIMER_SECONDS = 86_400;

function answerTo(
  sharer: Sharer,
  request: number,
  { outcome, why = '', count = 0, names = [], values = [] }: SharedAnswer,
  hold: number
): void {
  // Both links have the same message.
  (sharer as Client).send(
    'shared',
    { request, outcome, why, count, names: [...names], hold },
    {},
    values
  );
}
