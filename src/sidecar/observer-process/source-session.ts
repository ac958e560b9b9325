/** One source's link: blocks in, acknowledgements out. In the observer process. */
import type { AcceptedLink } from '../../link/door';
import type { Message } from '../../wire/schema';
import type { Clusters } from './clusters';
import type { ObservedCluster } from './observed-cluster';
import { openFirstSentence } from './sentences';
import type { Viewers } from './viewers';

/** So many blocks are acknowledged at the latest (docs/contracts.md §6). */
const MOST_UNACKNOWLEDGED = 64;
/** Bytes of blocks between two looks at the memory budget. */
const BYTES_PER_BUDGET = 16 * 2 ** 20;

/**
 * open → resume {haveSeq}; then blocks, each batch acknowledged, or several together where the source does not wait; end, or a link that breaks. A second link of the same log replaces the
 * first, whose end then changes nothing.
 */
export class SourceSession {
  private _cluster: ObservedCluster | undefined;
  private _saidEnd = false;
  private _bytes = 0;
  /** Blocks that came since the last acknowledgement. */
  private _unacknowledged = 0;
  private readonly _stopListening: () => void;

  constructor(
    private readonly _link: AcceptedLink<'source'>,
    private readonly _clusters: Clusters,
    private readonly _newest: WeakMap<ObservedCluster, SourceSession>,
    private readonly _viewers: Viewers
  ) {
    this._stopListening = _viewers.onChange(() => {
      // (a link that another one has replaced is told nothing)
      if (this._cluster && this._newest.get(this._cluster) === this) {
        this._acknowledge();
      }
    });
    _link.start({
      messages: batch => this._take(batch),
      closed: () => this._closed()
    });
  }

  private _take(batch: readonly Message<'source', 'up'>[]): void {
    let isWaitedFor = false;
    for (const message of batch) {
      switch (message.type) {
        case 'open':
          this._cluster = this._clusters.open(message.fields);
          this._newest.set(this._cluster, this);
          this._saidEnd = false;
          this._link.send('resume', {
            haveSeq: this._cluster.haveSeq,
            readsConstants: true,
            hasViewers: this._viewers.isAny
          });
          break;
        case 'block':
          if (this._cluster === undefined) {
            this._link.refuse('order', openFirstSentence());
            return;
          }
          isWaitedFor ||= !message.fields.ackMayWait;
          this._unacknowledged += message.blobs.length;
          for (const { length } of message.blobs) {
            this._bytes += length;
          }
          this._cluster.take(message.blobs);
          break;
        case 'end':
          this._saidEnd = true;
          isWaitedFor = true;
          this._cluster?.end(
            message.fields.why,
            message.fields.at,
            message.fields.told,
            message.fields.unwatched
          );
          this._clusters.keepBudget();
          break;
        default:
          // The handshake's messages, and `refused`, which the link has dealt with.
          break;
      }
    }
    if (this._unacknowledged > 0 && this._cluster !== undefined) {
      // To tell it wakes the source, which costs both more than the rows of short work.
      if (isWaitedFor || this._unacknowledged >= MOST_UNACKNOWLEDGED) {
        this._acknowledge();
      }
      if (this._bytes >= BYTES_PER_BUDGET) {
        this._bytes = 0;
        this._clusters.keepBudget();
      }
    }
  }

  private _acknowledge(): void {
    if (this._cluster !== undefined) {
      this._unacknowledged = 0;
      const seq = this._cluster.haveSeq;
      this._link.send('ack', { seq, hasViewers: this._viewers.isAny });
    }
  }

  private _closed(): void {
    this._stopListening();
    const cluster = this._cluster;
    if (
      cluster !== undefined &&
      !this._saidEnd &&
      this._newest.get(cluster) === this
    ) {
      this._clusters.linkLost(cluster);
    }
  }
}
