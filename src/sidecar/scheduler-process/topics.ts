/**
 * What clients, workers and the scheduler have logged under topics, and who wants to hear of it. In the scheduler process, which opens no
 * message.
 *
 * Bounded three ways; the oldest go first, and {@link Topics.read} says how many have gone:
 *
 * ```
 *   of one topic    the last 1,000 events
 *   of all topics   64 MiB
 *   topics          10,000: the one that was logged to least recently goes with all its events
 * ```
 *
 * A client listens to as many topics at most; a topic's name has at most 2,000 characters, twice what clients and workers let pass.
 */
import { Queue } from '../../base/queue';
import { BrokenFrame } from '../../wire/broken-frame';

/** An event that is packed only when somebody reads it. */
export interface IUnpacked {
  /** Bytes that it takes meanwhile, about. */
  readonly length: number;
  pack(): Uint8Array;
}

/** What an event says: msgpack, or what becomes that. */
type Content = Uint8Array | IUnpacked;

export function packedOf(content: Content): Uint8Array {
  return 'pack' in content ? content.pack() : content;
}

type KeptEvent = {
  readonly topic: Topic;
  /** The monotonic clock's seconds. */
  readonly t: number;
  readonly content: Content;
  isGone: boolean;
};

type Topic = {
  readonly name: string;
  /** How many there were, those that have gone too. */
  total: number;
  readonly events: Queue<KeptEvent>;
};

type LaterEvent = {
  readonly names: readonly string[];
  readonly t: number;
  readonly content: Content;
};

/** One topic as it is read: its newest events, the older before the newer. */
type TopicRead = {
  readonly name: string;
  readonly total: number;
  readonly events: readonly {
    readonly t: number;
    readonly content: Content;
  }[];
};

type TopicLimits = {
  readonly eventsOfTopic: number;
  readonly bytes: number;
  readonly topics: number;
};

export const TOPIC_LIMITS: TopicLimits = {
  eventsOfTopic: 1_000,
  bytes: 64 * 2 ** 20,
  topics: 10_000
};

/** Characters of a topic's name: of UTF-16, of which a character of Python is one or two. */
export const MOST_NAME = 2_000;
/** So many events wait at most to be sorted into their topics. */
const MOST_LATER = 256;
/** What an event takes besides its content and its topic's name, about. */
const OVERHEAD_BYTES = 200;

export class Topics<Listener> {
  /** In the order of the last event. */
  private readonly _topics = new Map<string, Topic>();
  private readonly _listeners = new Map<string, Set<Listener>>();
  /** How many topics each listens to. */
  private readonly _counts = new Map<Listener, number>();
  /** All events, those that have gone too until they are at its head. */
  private readonly _order = new Queue<KeptEvent>();
  private _bytes = 0;
  private _kept = 0;
  private _forgotten = 0;
  /** What was logged after all this and is not among it yet. */
  private _later: LaterEvent[] = [];

  constructor(private readonly _limits: TopicLimits = TOPIC_LIMITS) {}

  /** What is kept takes about so much. */
  get bytes(): number {
    this._sortIn();
    return this._bytes;
  }

  /** How many topics have gone with all their events. */
  get forgotten(): number {
    this._sortIn();
    return this._forgotten;
  }

  isHeard(name: string): boolean {
    return this._listeners.has(name);
  }

  /**
   * As {@link Topics.log}, of an event that nobody is to hear. Such events come with each graph and are rarely read: they are sorted into
   * their topics when somebody asks, or many together.
   */
  logLater(names: readonly string[], t: number, content: Content): void {
    if (this._later.push({ names, t, content }) >= MOST_LATER) {
      this._sortIn();
    }
  }

  /**
   * Keeps an event, and returns who is to hear of it.
   *
   * @throws BrokenFrame for a name that is too long, which those who log prevent.
   */
  log(name: string, t: number, content: Content): Iterable<Listener> {
    if (name.length > MOST_NAME) {
      throw new BrokenFrame(`A topic has at most ${MOST_NAME} characters.`);
    }
    this._sortIn();
    const topic = this._topicOf(name);
    const event = { topic, t, content, isGone: false };
    topic.total++;
    topic.events.push(event);
    this._order.push(event);
    this._bytes += bytesOf(event);
    this._kept++;
    if (topic.events.length > this._limits.eventsOfTopic) {
      this._drop(topic.events.first()!);
    }
    while (this._bytes > this._limits.bytes && this._kept > 0) {
      this._drop(this._oldest());
    }
    this._compact();
    return this._listeners.get(name) ?? [];
  }

  /** A topic, or all that have had events. */
  read(name: string | null): TopicRead[] {
    this._sortIn();
    if (name === null) {
      return Array.from(this._topics.values(), asRead);
    }
    const topic = this._topics.get(name);
    return topic === undefined ? [] : [asRead(topic)];
  }

  /** @throws BrokenFrame if a listener has too many topics, which its client prevents. */
  listen(name: string, listener: Listener): void {
    const count = this._counts.get(listener) ?? 0;
    if (this._listeners.get(name)?.has(listener) === true) {
      return;
    }
    if (count >= this._limits.topics || name.length > MOST_NAME) {
      throw new BrokenFrame(
        `A client subscribes to at most ${this._limits.topics} topics of ${MOST_NAME} characters.`
      );
    }
    this._counts.set(listener, count + 1);
    const found = this._listeners.get(name);
    if (found === undefined) {
      this._listeners.set(name, new Set([listener]));
    } else {
      found.add(listener);
    }
  }

  unlisten(name: string, listener: Listener): void {
    const found = this._listeners.get(name);
    if (found?.delete(listener) === true) {
      this._counts.set(listener, this._counts.get(listener)! - 1);
    }
    if (found?.size === 0) {
      this._listeners.delete(name);
    }
  }

  /** A listener has gone. */
  left(listener: Listener): void {
    for (const name of [...this._listeners.keys()]) {
      this.unlisten(name, listener);
    }
    this._counts.delete(listener);
  }

  private _sortIn(): void {
    if (this._later.length === 0) {
      return;
    }
    const later = this._later;
    this._later = [];
    for (const { names, t, content } of later) {
      for (const name of names) {
        this.log(name, t, content);
      }
    }
  }

  private _topicOf(name: string): Topic {
    const topic = this._topics.get(name) ?? {
      name,
      total: 0,
      events: new Queue<KeptEvent>()
    };
    // To the end of the map's order.
    this._topics.delete(name);
    this._topics.set(name, topic);
    if (this._topics.size > this._limits.topics) {
      const [oldest] = this._topics.values();
      this._topics.delete(oldest!.name);
      this._forgotten++;
      [...oldest!.events.values()].forEach(event => this._drop(event));
    }
    return topic;
  }

  /** The oldest event of all that is kept. */
  private _oldest(): KeptEvent {
    for (;;) {
      const event = this._order.shift()!;
      if (!event.isGone) {
        return event;
      }
    }
  }

  /** Lets an event go, which is the oldest of its topic. */
  private _drop(event: KeptEvent): void {
    event.topic.events.shift();
    event.isGone = true;
    this._bytes -= bytesOf(event);
    this._kept--;
  }

  /** Events that have gone hold their content as long as they stand in the queue: at most as many as are kept. */
  private _compact(): void {
    if (this._order.length <= 2 * this._kept + 16) {
      return;
    }
    for (let left = this._order.length; left > 0; left--) {
      const event = this._order.shift()!;
      if (!event.isGone) {
        this._order.push(event);
      }
    }
  }
}

function bytesOf({ topic, content }: KeptEvent): number {
  return content.length + 2 * topic.name.length + OVERHEAD_BYTES;
}

function asRead({ name, total, events }: Topic): TopicRead {
  return { name, total, events: [...events.values()] };
}
