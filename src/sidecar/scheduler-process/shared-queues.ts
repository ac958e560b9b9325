/** Queues by name. In the scheduler process, which opens no item. */
import {
  DONE,
  english,
  full,
  type ISharedKind,
  type SharedAnswer,
  type SharedCall,
  type SharedRoom
} from './shared-call';

type Items = {
  readonly name: string;
  /** 0: any number. */
  readonly limit: number;
  /** The oldest first, from `head` on. */
  values: Uint8Array[];
  head: number;
  /** How many handles each owner has opened and not closed. */
  readonly handles: Map<unknown, number>;
};

export class SharedQueues<Owner> implements ISharedKind<Owner> {
  private readonly _queues = new Map<string, Items>();

  constructor(private readonly _room: SharedRoom) {}

  get size(): number {
    return this._queues.size;
  }

  attempt(call: SharedCall, owner: Owner): SharedAnswer | null {
    const { what, name } = call;
    switch (what) {
      case 'open':
        return this._open(call, owner);
      case 'close':
        return this._close(name, owner);
      case 'put':
        return this._put(call);
      case 'putBack':
        return this._put(call, true);
      case 'get':
        return this._length(name) > 0
          ? this._take(name, Math.max(1, call.count))
          : null;
      case 'getAll':
        return this._take(name, Infinity);
      case 'count':
        return { outcome: 'done', count: this._length(name) };
      default:
        return { outcome: 'refused', why: `No queue does "${what}".` };
    }
  }

  /** An owner has gone: its handles count no more. Items stay, for others that know the name. */
  left(owner: Owner): void {
    for (const queue of [...this._queues.values()]) {
      if (queue.handles.delete(owner)) {
        this._forgetIfUnused(queue);
      }
    }
  }

  private _open(call: SharedCall, owner: Owner): SharedAnswer {
    const queue = this._named(call);
    if ('outcome' in queue) {
      return queue;
    }
    queue.handles.set(owner, (queue.handles.get(owner) ?? 0) + 1);
    return DONE;
  }

  private _close(name: string, owner: Owner): SharedAnswer {
    const queue = this._queues.get(name);
    const mine = queue?.handles.get(owner);
    if (queue === undefined || mine === undefined) {
      return { outcome: 'absent' };
    }
    if (mine > 1) {
      queue.handles.set(owner, mine - 1);
    } else {
      queue.handles.delete(owner);
    }
    if (queue.handles.size === 0) {
      // The last one has closed it: what is in it goes too.
      queue.values
        .slice(queue.head)
        .forEach(value => this._room.give(name, value));
      this._queues.delete(name);
    }
    return DONE;
  }

  /** @param first - an item that was taken and is given back: it is the next one again, also in a full queue. */
  private _put(call: SharedCall, first = false): SharedAnswer | null {
    const { name, value } = call;
    const queue = this._named(call);
    if ('outcome' in queue) {
      return queue;
    }
    if (!first && queue.limit > 0 && lengthOf(queue) >= queue.limit) {
      return null;
    }
    const why = this._room.exchange(name, value, null);
    if (why !== null) {
      this._forgetIfUnused(queue);
      return why;
    }
    if (first) {
      queue.values = [value, ...queue.values.slice(queue.head)];
      queue.head = 0;
    } else {
      queue.values.push(value);
    }
    return DONE;
  }

  /** Takes so many at most, the oldest first. */
  private _take(name: string, most: number): SharedAnswer {
    const queue = this._queues.get(name);
    if (queue === undefined) {
      return { outcome: 'done', values: [] };
    }
    const { values, head } = queue;
    const taken = values.slice(head, Math.min(values.length, head + most));
    taken.forEach(value => this._room.give(name, value));
    queue.head += taken.length;
    // Copying what is left only when it is the smaller part.
    if (2 * queue.head >= values.length) {
      queue.values = values.slice(queue.head);
      queue.head = 0;
    } else {
      values.fill(empty, head, queue.head);
    }
    this._forgetIfUnused(queue);
    return { outcome: 'done', values: taken };
  }

  private _length(name: string): number {
    const queue = this._queues.get(name);
    return queue === undefined ? 0 : lengthOf(queue);
  }

  /** The queue, or why there can be no further one. */
  private _named({ name, limit }: SharedCall): Items | SharedAnswer {
    const found = this._queues.get(name);
    if (found !== undefined) {
      return found;
    }
    const most = this._room.limits.names;
    if (this._queues.size >= most) {
      // An empty one holds nothing but its limit, which each handle knows.
      const unused = [...this._queues.values()].find(
        queue => lengthOf(queue) === 0
      );
      if (unused === undefined) {
        return full(
          `There are ${english(most)} queues with items, and the scheduler keeps no more: empty some, or close() them.`
        );
      }
      this._queues.delete(unused.name);
    }
    const made = {
      name,
      limit,
      values: [],
      head: 0,
      handles: new Map<unknown, number>()
    };
    this._queues.set(name, made);
    return made;
  }

  private _forgetIfUnused(queue: Items): void {
    if (queue.handles.size === 0 && lengthOf(queue) === 0) {
      this._queues.delete(queue.name);
    }
  }
}

const empty = new Uint8Array(0);

function lengthOf({ values, head }: Items): number {
  return values.length - head;
}
