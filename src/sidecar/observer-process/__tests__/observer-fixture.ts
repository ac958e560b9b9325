import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlockRows } from '../../../observer/store/column-table';
import { encodeBlock } from '../../../records/block';
import type { Snapshot } from '../../../wire/panel-link';
import type { Message } from '../../../wire/schema';
import { dial } from '../../../link/dial';
import type { Link } from '../../../link/link';
import { Observer, type ObserverOptions } from '../observer';

/** How long a test waits before it fails: the machine may be busy. */
const LIMIT_MILLISECONDS = 60_000;

export const secret = new Uint8Array(32).fill(3);

type Down = Message<'panel', 'down'>;
type DownOf<T extends Down['type']> = Extract<Down, { readonly type: T }>;

/** A block as a source would send it. */
export function encoded(block: BlockRows): Uint8Array {
  return encodeBlock(
    block.seq,
    block.table,
    block.rows,
    block.columns as never,
    block.text
  );
}

/** Everything that a link received, and waiting for more of it. */
class Inbox<M> {
  readonly all: M[] = [];
  closedBecause: string | undefined;
  private _wake: (() => void)[] = [];

  push(messages: readonly M[]): void {
    this.all.push(...messages);
    this._notify();
  }

  close(why: string): void {
    this.closedBecause = why;
    this._notify();
  }

  /** The first message, from `from` on, for which `wanted` holds. */
  async wait<R extends M>(
    wanted: (message: M) => message is R,
    from = 0
  ): Promise<R> {
    const end = performance.now() + LIMIT_MILLISECONDS;
    // Each is looked at once: there may be tens of thousands.
    for (let at = from; ;) {
      for (; at < this.all.length; at++) {
        const message = this.all[at]!;
        if (wanted(message)) {
          return message;
        }
      }
      if (performance.now() > end) {
        throw new Error(
          `Not received; there are ${JSON.stringify(this.all).slice(0, 2000)}`
        );
      }
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, 200);
        this._wake.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  private _notify(): void {
    this._wake.splice(0).forEach(wake => wake());
  }
}

export class TestPanel {
  readonly inbox = new Inbox<Down>();

  constructor(readonly link: Link<'panel', 'up'>) {
    link.start({
      messages: batch => this.inbox.push(batch),
      closed: why => this.inbox.close(why)
    });
  }

  /** The first such message that came, or behind the first `from` messages of any kind. */
  next<T extends Down['type']>(
    type: T,
    wanted: (fields: DownOf<T>['fields']) => boolean = () => true,
    from = 0
  ): Promise<DownOf<T>> {
    return this.inbox.wait(
      (message): message is DownOf<T> =>
        message.type === type && wanted(message.fields as never),
      from
    );
  }

  /** Answers of a watch that have come so far. */
  snapshots(id: number): Snapshot[] {
    return this.inbox.all
      .filter(
        (message): message is DownOf<'snapshot'> =>
          message.type === 'snapshot' && message.fields.id === id
      )
      .map(message => message.fields as unknown as Snapshot);
  }
}

export class TestSource {
  readonly inbox = new Inbox<Message<'source', 'down'>>();

  constructor(readonly link: Link<'source', 'up'>) {
    link.start({
      messages: batch => this.inbox.push(batch),
      closed: why => this.inbox.close(why)
    });
  }

  /** Says hello; the newest block that the observer has. */
  async open(
    cluster = 'c1',
    logId = `log of ${cluster}`,
    pid = 1
  ): Promise<number> {
    const from = this.inbox.all.length;
    this.link.send('open', {
      logId,
      clusterId: cluster,
      name: 'first-look',
      kind: 'embedded',
      wallEpoch: Date.now() / 1000,
      pid
    });
    const answer = await this.inbox.wait(
      (message): message is Message<'source', 'down', 'resume'> =>
        message.type === 'resume',
      from
    );
    return answer.fields.haveSeq;
  }

  /** Sends blocks and waits until they are acknowledged. */
  async send(blocks: readonly BlockRows[]): Promise<void> {
    this.link.send('block', {}, {}, blocks.map(encoded));
    const last = blocks[blocks.length - 1]!.seq;
    await this.inbox.wait(
      (message): message is Message<'source', 'down', 'ack'> =>
        message.type === 'ack' && message.fields.seq >= last
    );
  }
}

/** An observer with links to it; `close` ends all of them. */
export class ObserverFixture {
  readonly notes: string[] = [];
  private readonly _links: { destroy(): void }[] = [];

  static async start(
    options: Partial<ObserverOptions> = {}
  ): Promise<ObserverFixture> {
    const folder = await mkdtemp(join(tmpdir(), 'spanwise-'));
    const notes: string[] = [];
    const observer = await Observer.start({
      folder,
      transport: 'unix',
      secret,
      build: 'test',
      note: sentence => notes.push(sentence),
      ...options
    });
    return new ObserverFixture(folder, observer, notes);
  }

  private constructor(
    private readonly _folder: string,
    readonly observer: Observer,
    notes: string[]
  ) {
    this.notes = notes;
  }

  async panel(): Promise<TestPanel> {
    const link = await dial({
      address: this.observer.address,
      role: 'panel',
      secret,
      build: 'test'
    });
    this._links.push(link);
    return new TestPanel(link);
  }

  async source(): Promise<TestSource> {
    const link = await dial({
      address: this.observer.address,
      role: 'source',
      secret,
      build: 'test'
    });
    this._links.push(link);
    return new TestSource(link);
  }

  async close(): Promise<void> {
    this._links.forEach(link => link.destroy());
    await this.observer.close();
    await rm(this._folder, { recursive: true, force: true });
  }
}
