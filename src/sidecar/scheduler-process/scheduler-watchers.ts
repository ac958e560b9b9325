/** Tells clients that have scheduler plugins what happens: the message `happened`. In the scheduler process. */
import { NONE_U16, NONE_U32 } from '../../records/enumerations';
import type { AcceptedLink } from '../../link/door';
import type { Seconds } from '../../base/brand';
import type { FieldsInput } from '../../wire/schema';
import type {
  Happening,
  IEventListener,
  Member,
  Move,
  Submitted,
  TaskEvents
} from './task-events';
import type { WorkerSession } from './worker-session';

type Fields = FieldsInput<'client', 'down', 'happened'>;
type RowOf<Name extends 'members' | 'graphs' | 'failures'> = NonNullable<
  Fields[Name]
>[number];
type Client = AcceptedLink<'client'>;

/** Of one message, about: so that no other message waits for long. */
const MOST_MOVES = 4_096;
/** A client that leaves more than this unread is told of nothing any more, and that this is so. */
const MOST_UNREAD_BYTES = 64 * 2 ** 20;

/** Columns of `happened`, filled in order. */
class Columns {
  readonly moves = {
    key: [] as number[],
    from: [] as number[],
    to: [] as number[],
    worker: [] as number[],
    t: [] as Seconds[],
    stimulus: [] as number[],
    run: [] as number[],
    failure: [] as number[]
  };
  readonly runs = {
    ident: [] as number[],
    start: [] as Seconds[],
    duration: [] as Seconds[],
    nbytes: [] as number[],
    type: [] as number[],
    firstPart: [] as number[]
  };
  readonly parts = {
    kind: [] as number[],
    offset: [] as Seconds[],
    duration: [] as Seconds[],
    from: [] as number[]
  };
  readonly tasks = {
    key: [] as number[],
    wanted: [] as number[],
    retries: [] as number[],
    userPriority: [] as number[],
    restriction: [] as number[],
    place: [] as number[],
    firstInput: [] as number[]
  };
  readonly inputs = { key: [] as number[] };
  readonly keys = { end: [] as number[] };
  readonly texts: string[] = [];
  readonly members: RowOf<'members'>[] = [];
  readonly graphs: RowOf<'graphs'>[] = [];
  readonly failures: RowOf<'failures'>[] = [];
  private readonly _payloads: Uint8Array[] = [];
  private readonly _keyTexts: string[] = [];
  private readonly _keyOf = new Map<string, number>();
  private readonly _textOf = new Map<string, number>();

  get isFull(): boolean {
    return (
      this.moves.key.length >= MOST_MOVES || this.tasks.key.length >= MOST_MOVES
    );
  }

  add(happening: Happening): void {
    if (happening.what === 'move') {
      this._move(happening);
    } else if (happening.what === 'graph') {
      this._graph(happening);
    } else {
      this._member(happening);
    }
  }

  sendTo(links: readonly Client[]): void {
    if (
      this.moves.key.length + this.members.length + this.graphs.length ===
      0
    ) {
      return;
    }
    const keys = this._keyTexts.map(text => Buffer.from(text));
    let end = 0;
    for (const key of keys) {
      end += key.length;
      this.keys.end.push(end);
    }
    const { texts, members, graphs, failures } = this;
    const { moves, runs, parts, tasks, inputs } = this;
    const blobs = [Buffer.concat(keys), ...this._payloads];
    for (const link of links) {
      link.send(
        'happened',
        { texts, members, graphs, failures },
        { moves, runs, parts, tasks, inputs, keys: this.keys },
        blobs
      );
    }
  }

  /** That nothing more comes. */
  sendLost(link: Client): void {
    const { moves, runs, parts, tasks, inputs, keys } = this;
    link.send(
      'happened',
      { lost: true },
      { moves, runs, parts, tasks, inputs, keys }
    );
  }

  private _move({ key, ...move }: Move): void {
    const { moves, runs, parts } = this;
    moves.key.push(this._key(key));
    moves.from.push(move.from);
    moves.to.push(move.to);
    moves.worker.push(move.worker < 0 ? NONE_U16 : move.worker);
    moves.t.push(move.t as Seconds);
    moves.stimulus.push(this._text(move.stimulus));
    moves.run.push(move.run === null ? NONE_U32 : runs.start.length);
    moves.failure.push(move.failure === null ? NONE_U32 : this.failures.length);
    if (move.run !== null) {
      runs.ident.push(move.run.ident);
      runs.start.push(move.run.start as Seconds);
      runs.duration.push(move.run.duration as Seconds);
      runs.nbytes.push(move.run.nbytes);
      runs.type.push(this._text(move.run.type));
      runs.firstPart.push(parts.kind.length);
      for (const part of move.run.parts) {
        parts.kind.push(part.kind);
        parts.offset.push(part.offset as Seconds);
        parts.duration.push(part.duration as Seconds);
        parts.from.push(part.from);
      }
    }
    if (move.failure !== null) {
      const { cause, error } = move.failure;
      const payload = error?.payload ?? null;
      this.failures.push({
        cause: this._key(cause),
        type: error?.type ?? '',
        message: error?.message ?? '',
        text: error?.text ?? '',
        // Blob 0 holds the keys.
        blob: payload === null ? -1 : this._payloads.push(payload),
        isOwn: error !== null
      });
    }
  }

  private _graph(graph: Submitted): void {
    const { event, keys, inputs, places, wanted } = graph;
    this.graphs.push({
      before: this.moves.key.length,
      order: this.members.length,
      client: graph.client,
      stimulus: graph.stimulus,
      generation: graph.generation,
      firstTask: this.tasks.key.length,
      restrictions: event.restrictionSets.map(set => ({
        workers: set.workers === null ? null : [...set.workers],
        allowOther: set.allowOther,
        ...(set.resources === undefined ? {} : { resources: set.resources })
      }))
    });
    for (const [i, key] of keys.entries()) {
      this.tasks.key.push(this._key(key));
      this.tasks.wanted.push(wanted[i]!);
      this.tasks.retries.push(event.retries?.[i] ?? 0);
      this.tasks.userPriority.push(event.userPriority?.[i] ?? 0);
      this.tasks.restriction.push(event.restrictions?.[i] ?? 0);
      this.tasks.place.push(places[i] ?? 0);
      this.tasks.firstInput.push(this.inputs.key.length);
      inputs[i]!.forEach(input => this.inputs.key.push(this._key(input)));
    }
  }

  private _member(member: Member): void {
    const { worker, content } = member;
    this.members.push({
      before: this.moves.key.length,
      what: member.what,
      client: Math.max(0, member.client),
      stimulus: member.stimulus,
      why: member.why,
      expected: member.isExpected,
      worker: worker === null ? null : factsOf(worker),
      topic: member.topic,
      blob: content === null ? -1 : this._payloads.push(content)
    });
  }

  private _key(text: string): number {
    return numberOf(text, this._keyOf, this._keyTexts);
  }

  private _text(text: string): number {
    return numberOf(text, this._textOf, this.texts);
  }
}

/** A worker, as plugins are told of it. */
export function factsOf({ intro }: WorkerSession): {
  readonly id: number;
  readonly address: string;
  readonly name: string;
  readonly threads: number;
  readonly memoryLimit: number;
} {
  const { worker, address, name, threads, memoryLimit } = intro;
  return {
    id: worker,
    address,
    name: name || `worker-${worker}`,
    threads,
    memoryLimit
  };
}

function numberOf(
  text: string,
  known: Map<string, number>,
  texts: string[]
): number {
  let number = known.get(text);
  if (number === undefined) {
    number = texts.push(text) - 1;
    known.set(text, number);
  }
  return number;
}

export class SchedulerWatchers implements IEventListener {
  private readonly _links = new Map<number, Client>();

  constructor(private readonly _events: TaskEvents) {}

  watch(client: number, link: Client, on: boolean): void {
    if (!on) {
      this.clientLeft(client);
      return;
    }
    if (this._links.size === 0) {
      this._events.listen(this);
    } else {
      this._events.flush();
    }
    this._links.set(client, link);
  }

  clientLeft(client: number): void {
    if (this._links.delete(client) && this._links.size === 0) {
      this._events.unlisten(this);
    }
  }

  hear(happened: readonly Happening[]): void {
    let columns = new Columns();
    for (const each of happened) {
      columns.add(each);
      if (columns.isFull) {
        this._send(columns);
        columns = new Columns();
      }
    }
    this._send(columns);
  }

  private _send(columns: Columns): void {
    const sent = [...this._links];
    for (const [client, link] of sent) {
      if (link.queuedBytes > MOST_UNREAD_BYTES) {
        this.clientLeft(client);
        new Columns().sendLost(link);
      }
    }
    columns.sendTo([...this._links.values()]);
  }
}
