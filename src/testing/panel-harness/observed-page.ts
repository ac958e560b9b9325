/**
 * A page's feed and the observer at its other end, in one program: the page's own feed, the messages of the panel link as bytes, the
 * observer's session, answers, folds and store. Only the door and the relay between the two are left out.
 */
import type { Trans } from '../../base/trans';
import { Feed } from '../../feed/feed';
import type { ISocket } from '../../feed/page-link';
import type { BlockRows } from '../../observer/store/column-table';
import { encodeBlock } from '../../records/block';
import { Clusters } from '../../sidecar/observer-process/clusters';
import type { ObservedCluster } from '../../sidecar/observer-process/observed-cluster';
import { PanelSession } from '../../sidecar/observer-process/panel-session';
import { WorkQueue } from '../../sidecar/observer-process/work-queue';
import { english } from '../translators';
import { FrameDecoder, FrameEncoder } from '../../wire/frame';

type ObservedPageOptions = {
  readonly blocks: Iterable<BlockRows>;
  /** Of a run of the same name that ended before; left out: there is none. */
  readonly earlier?: Iterable<BlockRows> | undefined;
  /** It has ended if left out; else so many seconds have passed since its start. */
  readonly liveAt?: number | undefined;
  /** How long each message to the page takes. */
  readonly delayMilliseconds?: number;
  /** For the feed's own sentences; English if left out. */
  readonly trans?: Trans;
};

/** The cluster's start, by the wall clock, of a run that has ended. */
const STARTED = 1.7e9;
const EARLIER_SECONDS = 420;

export class ObservedPage {
  readonly cluster: ObservedCluster;
  readonly feed: Feed;
  readonly notes: string[] = [];
  private readonly _queue = new WorkQueue();
  private readonly _clusters = new Clusters({
    queue: this._queue,
    note: sentence => this.notes.push(sentence)
  });

  constructor({
    blocks,
    earlier,
    liveAt,
    delayMilliseconds,
    trans = english
  }: ObservedPageOptions) {
    giveImmediates();
    const started = liveAt === undefined ? STARTED : Date.now() / 1000 - liveAt;
    if (earlier !== undefined) {
      const before = this._open('earlier', started - EARLIER_SECONDS);
      this._takeOf(before, earlier);
      before.end('closed', before.store.now);
    }
    this.cluster = this._open('drawn', started);
    this.take(blocks);
    if (liveAt === undefined) {
      this.cluster.end('closed', this.cluster.store.now);
    }
    this.feed = new Feed({
      trans,
      open: () =>
        new ObserverSocket(
          link =>
            new PanelSession(link, this._clusters, this._queue, sentence =>
              this.notes.push(sentence)
            ),
          delayMilliseconds ?? 0
        )
    });
  }

  /** Rows come in. */
  take(blocks: Iterable<BlockRows>): void {
    this._takeOf(this.cluster, blocks);
  }

  dispose(): void {
    this.feed.dispose();
    this._clusters.dispose();
  }

  private _open(clusterId: string, wallEpoch: number): ObservedCluster {
    return this._clusters.open({
      logId: `log of ${clusterId}`,
      clusterId,
      name: 'first-look',
      kind: 'embedded',
      wallEpoch,
      clockAhead: 0,
      pid: 0,
      versions: {},
      capabilities: {},
      environmentId: '',
      environment: ''
    });
  }

  private _takeOf(cluster: ObservedCluster, blocks: Iterable<BlockRows>): void {
    for (const { table, rows, columns, text } of blocks) {
      const seq = cluster.store.seq + 1;
      const blob = encodeBlock(seq, table, rows, columns as never, text);
      cluster.take([blob]);
    }
  }
}

/** Pages, and jsdom, have no immediates. */
function giveImmediates(): void {
  if (typeof globalThis.setImmediate === 'undefined') {
    Object.assign(globalThis, {
      setImmediate: (run: () => void) => setTimeout(run, 0),
      clearImmediate: (timer: number) => clearTimeout(timer)
    });
  }
}

type SessionLink = ConstructorParameters<typeof PanelSession>[0];

/** A WebSocket whose other end is an observer's session. */
class ObserverSocket implements ISocket {
  binaryType: BinaryType = 'blob';
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  private _handlers: Parameters<SessionLink['start']>[0] | null = null;
  private readonly _up = new FrameDecoder('panel', 'up');
  private readonly _down = new FrameEncoder('panel', 'down');

  constructor(
    open: (link: SessionLink) => void,
    private readonly _delayMilliseconds: number
  ) {
    const link: Pick<
      SessionLink,
      'start' | 'send' | 'queuedBytes' | 'pause' | 'resume'
    > = {
      queuedBytes: 0,
      start: handlers => (this._handlers = handlers),
      send: (type, fields, tables) => {
        const body = this._down.encodeBody(type, fields, tables).slice();
        setTimeout(
          () => this.onmessage?.({ data: body.buffer } as MessageEvent),
          this._delayMilliseconds
        );
      },
      pause: () => undefined,
      resume: () => undefined
    };
    setTimeout(() => {
      if (this.onopen !== null) {
        // Before the page hears of it: it asks at once.
        open(link as SessionLink);
        this.onopen(new Event('open'));
      }
    }, 0);
  }

  send(data: Uint8Array<ArrayBuffer>): void {
    this._handlers?.messages([this._up.decode(data.slice())]);
  }

  close(): void {
    this._handlers?.closed('The page is gone.');
    this._handlers = null;
  }
}
