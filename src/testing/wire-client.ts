import { NONE_U32 } from '../records/enumerations';
import { dial } from '../link/dial';
import type { Link } from '../link/link';
import type { Message } from '../wire/schema';
import { drawnGraph } from './drawn-graph';
import { waitFor } from './wait-for';
import type { WireBehaviour } from './wire-worker';

/** What may differ from tasks that all end well and of which the last is wanted. */
type WireSubmitOptions = {
  readonly want?: string;
  /** Task → what it does. */
  readonly does?: Record<string, WireBehaviour>;
  /** False: more of this graph follows. */
  readonly last?: boolean;
  /** Alias → the task whose value it is. */
  readonly aliases?: Record<string, string>;
  /** Of all tasks; 3 if left out, 0: outside of all spans. */
  readonly span?: number;
};

/** What a report said of one task. */
type WireReport = {
  readonly status: number;
  readonly taskId: number;
  readonly worker: number;
  readonly inline: string | null;
  readonly isSign: boolean;
  readonly cause: number;
};

/** The environment that `drawnClusterSettings` starts workers in. */
const LAUNCH = {
  executable: 'python',
  path: [],
  cwd: '/',
  versions: { python: '3.11' }
};

/** A client in this process that speaks the client link over a real socket, in names instead of ids. */
export class WireClient {
  readonly received: Message<'client', 'down'>[] = [];
  /** The newest report on each task. */
  readonly reports = new Map<string, WireReport>();
  /** Every report: `a 1` says that task a was reported with status 1. */
  readonly history: string[] = [];
  isClosed = false;
  /** What it says when the scheduler asks whether somebody waits; null: nothing. */
  waiting: boolean | null = true;
  private readonly _ids = new Map<string, number>();
  private _names: string[] = [];
  private _generation = 0;
  private _announced = 0;
  private readonly _texts: string[] = [];
  private readonly _templates = new Map<WireBehaviour, number>();

  private constructor(readonly link: Link<'client', 'up'>) {
    link.start({
      messages: batch => batch.forEach(message => this._take(message)),
      closed: () => (this.isClosed = true)
    });
  }

  /** @param guest - it has not started the cluster. */
  static async join(
    address: string,
    secret: Uint8Array,
    guest = false,
    launch: object = LAUNCH
  ): Promise<WireClient> {
    return new WireClient(
      await dial({
        address,
        secret,
        role: 'client',
        build: 'test',
        intro: { name: 'test', guest, launch }
      })
    );
  }

  id(name: string): number {
    return this._ids.get(name)!;
  }

  /** Keys are `<name>-1`, groups and functions the name, spans 3. */
  submit(drawing: string, options: WireSubmitOptions = {}): void {
    const graph = drawnGraph(drawing);
    const aliases = options.aliases ?? {};
    const fresh = [...graph.names, ...Object.keys(aliases)].filter(
      name => !this._ids.has(name)
    );
    fresh.forEach(name => this._ids.set(name, this._names.push(name) - 1));
    const inputs = fresh.map(name =>
      name in aliases ? [aliases[name]!] : graph.inputs.get(name)!
    );
    const wanted = (options.want ?? fresh.at(-1)!).split(' ');
    const does = fresh.map(name => options.does?.[name] ?? 'ok');
    const newTemplates = [...new Set(does)].filter(
      behaviour => !this._templates.has(behaviour)
    );
    newTemplates.forEach(behaviour =>
      this._templates.set(behaviour, this._templates.size)
    );
    const texts = fresh.map(name => this._text(name));
    const firstName = this._announced;
    this._announced = this._texts.length;
    let dependency = 0;
    this.link.send(
      'submit',
      {
        generation: this._generation,
        last: options.last ?? true,
        firstName,
        names: this._texts.slice(firstName),
        spans: [{ id: 3, parent: 0, tag: 'load', opened: 0 }],
        templates: newTemplates.map((behaviour, i) => ({
          id: this._templates.get(behaviour)!,
          blob: 1 + i
        })),
        keysBlob: 0
      },
      {
        tasks: {
          id: fresh.map(name => this.id(name)),
          group: texts,
          suffix: fresh.map((_, i) => 2 * i),
          function: texts,
          span: fresh.map(() => options.span ?? 3),
          origin: fresh.map(() => 1),
          template: does.map(behaviour => this._templates.get(behaviour)!),
          chunk: fresh.map(() => NONE_U32),
          row: fresh.map(() => 0),
          flags: fresh.map(
            name => Number(wanted.includes(name)) + (name in aliases ? 2 : 0)
          ),
          retries: fresh.map(() => 0),
          restriction: fresh.map(() => 0),
          userPriority: fresh.map(() => 0),
          firstDependency: inputs.map(own => {
            const first = dependency;
            dependency += own.length;
            return first;
          })
        },
        dependencies: { id: inputs.flat().map(name => this.id(name)) }
      },
      [
        bytes('-1'.repeat(fresh.length)),
        ...newTemplates.map(behaviour => bytes(behaviour))
      ]
    );
    this._generation += (options.last ?? true) ? 1 : 0;
  }

  release(names: string): void {
    const id = names.split(' ').map(name => this.id(name));
    this.link.send('release', {}, { ids: { id } });
  }

  want(names: string): void {
    const id = names.split(' ').map(name => this.id(name));
    this.link.send('want', {}, { ids: { id } });
  }

  /** Has a task of a client, which calls it `theirs`, under a name of its own. */
  adopt(name: string, client: number, theirs: number): void {
    this._ids.set(name, this._names.push(name) - 1);
    this.link.send(
      'adopt',
      { letGo: [] },
      { tasks: { id: [this.id(name)], client: [client], theirs: [theirs] } }
    );
  }

  retry(names: string): void {
    const id = names.split(' ').map(name => this.id(name));
    this.link.send('retry', {}, { ids: { id } });
  }

  /** Waits until a task is reported on. */
  async outcome(name: string): Promise<WireReport> {
    return waitFor(`a report on ${name}`, () => this.reports.get(name));
  }

  async message<T extends Message<'client', 'down'>['type']>(
    type: T,
    isIt: (message: Message<'client', 'down', T>) => boolean = () => true
  ): Promise<Message<'client', 'down', T>> {
    return waitFor(`the message ${type}`, () =>
      this.received.find(
        (message): message is Message<'client', 'down', T> =>
          message.type === type && isIt(message as Message<'client', 'down', T>)
      )
    );
  }

  /** Gives data a name and says at which worker it lies. */
  scattered(name: string, worker: number): void {
    this._ids.set(name, this._names.push(name) - 1);
    const text = this._text(name);
    const firstName = this._announced;
    this._announced = this._texts.length;
    this.link.send(
      'scattered',
      { firstName, names: this._texts.slice(firstName), keysBlob: 0 },
      {
        tasks: {
          id: [this.id(name)],
          group: [text],
          suffix: [0],
          function: [text],
          span: [0],
          flags: [1],
          nbytes: [1000]
        },
        holders: { row: [0], worker: [worker] }
      },
      [bytes('-1')]
    );
  }

  private _text(text: string): number {
    const known = this._texts.indexOf(text);
    return known < 0 ? this._texts.push(text) - 1 : known;
  }

  private _take(message: Message<'client', 'down'>): void {
    this.received.push(message);
    if (message.type === 'stalled' && this.waiting !== null) {
      this.link.send('waiting', { waiting: this.waiting });
    }
    if (message.type !== 'report') {
      return;
    }
    const { tasks, signs } = message.tables;
    for (let i = 0; i < tasks.rows; i++) {
      const start = tasks.inlineStart[i]!;
      const inline =
        start === NONE_U32
          ? null
          : new TextDecoder().decode(
              message.blobs[0]!.subarray(start, start + tasks.inlineLength[i]!)
            );
      const name = this._names[tasks.id[i]!]!;
      this.history.push(`${name} ${tasks.status[i]}`);
      this.reports.set(name, {
        status: tasks.status[i]!,
        taskId: tasks.taskId[i]!,
        worker: tasks.worker[i]!,
        inline,
        isSign: signs.row.includes(i),
        cause: tasks.cause[i]!
      });
    }
  }
}

function bytes(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}
