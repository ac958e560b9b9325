/** One viewer's link: a browser page through the relay, or the Python client. In the observer process. */
import type { AcceptedLink } from '../../link/door';
import { runDetail } from '../../observer/folds/run-detail';
import type { Message } from '../../wire/schema';
import type { Answer } from './answers';
import type { Clusters } from './clusters';
import {
  begunAnewSentence,
  foldFailedSentence,
  unknownClusterSentence,
  unknownWatchSentence
} from './sentences';
import { ARRIVAL_MILLISECONDS, RunningWatch } from './watch';
import type { WorkQueue } from './work-queue';

/** `clusters` is pushed at most twice a second. */
const CLUSTERS_MILLISECONDS = 500;
/** A page shows a dozen panels; a link that asks for more is told so. */
const MOST_WATCHES = 256;

type Up = Message<'panel', 'up'>;
type MessageOf<T extends Up['type']> = Extract<Up, { readonly type: T }>;

type Awaiting = {
  readonly message: MessageOf<'watch'>;
  readonly timer: NodeJS.Timeout;
};

export class PanelSession {
  private readonly _watches = new Map<number, RunningWatch>();
  /** Watches of clusters that will be known, by their ids. */
  private readonly _awaiting = new Map<number, Awaiting>();
  private readonly _stopListening: () => void;
  private _clustersTimer: NodeJS.Timeout | undefined;
  private _clustersAt = 0;
  private _sentClusters = '';
  private _closed = false;

  constructor(
    private readonly _link: AcceptedLink<'panel'>,
    private readonly _clusters: Clusters,
    private readonly _queue: WorkQueue,
    private readonly _note: (sentence: string) => void
  ) {
    this._stopListening = _clusters.onChange(() => {
      this._endOutdated();
      this._beginAwaited();
      this._pushClustersSoon();
    });
    _link.start({
      messages: batch => batch.forEach(message => this._take(message)),
      closed: () => this._dispose()
    });
    this._pushClusters();
  }

  private _take(message: Up): void {
    switch (message.type) {
      case 'watch':
        return this._watch(message);
      case 'change':
        return this._change(message);
      case 'tiles':
        return this._tiles(message);
      case 'detail':
        return this._detail(message);
      case 'ack':
        this._watches.get(message.fields.id)?.ack(message.fields.seq);
        return;
      case 'unwatch':
        this._forget(message.fields.id);
        return;
      default:
        // The handshake's messages, and `refused`, which the link has dealt with.
        return;
    }
  }

  private _watch(message: MessageOf<'watch'>): void {
    const { fields } = message;
    this._forget(fields.id);
    const entry = this._clusters.get(fields.cluster);
    if (entry === undefined) {
      const absent = this._clusters.forgotten(fields.cluster);
      const why = absent?.dropped ?? absent?.why;
      const isKnownThere = (fields.afterSeq ?? 0) > 0;
      const hasRoom = this._awaiting.size < MOST_WATCHES;
      if (why === undefined && isKnownThere && hasRoom) {
        // Who asks for what is in its log knows that there is one: it is on its way here.
        this._await(message);
      } else {
        this._fail(fields.id, why ?? unknownClusterSentence(fields.cluster));
      }
      return;
    }
    if (this._watches.size >= MOST_WATCHES) {
      this._fail(
        fields.id,
        `This page has ${MOST_WATCHES} watches already: close some panels.`
      );
      return;
    }
    const watch = new RunningWatch(fields, entry, {
      snapshot: (id, seq, logId, answer) =>
        this._snapshot(id, seq, logId, answer),
      failure: (id, sentence) => this._fail(id, sentence),
      done: id => {
        if (this._watches.get(id) === watch) {
          this._watches.delete(id);
        }
      }
    });
    this._watches.set(fields.id, watch);
  }

  private _await(message: MessageOf<'watch'>): void {
    const { id, cluster } = message.fields;
    const timer = setTimeout(() => {
      this._awaiting.delete(id);
      this._fail(id, unknownClusterSentence(cluster));
    }, ARRIVAL_MILLISECONDS);
    this._awaiting.set(id, { message, timer });
  }

  private _beginAwaited(): void {
    for (const { message } of [...this._awaiting.values()]) {
      const { cluster } = message.fields;
      if (
        this._clusters.get(cluster) !== undefined ||
        this._clusters.forgotten(cluster) !== undefined
      ) {
        this._watch(message);
      }
    }
  }

  private _forget(id: number): void {
    this._watches.get(id)?.dispose();
    this._watches.delete(id);
    clearTimeout(this._awaiting.get(id)?.timer);
    this._awaiting.delete(id);
  }

  private _change({ fields }: MessageOf<'change'>): void {
    const watch = this._watches.get(fields.id);
    if (watch === undefined) {
      this._fail(fields.id, unknownWatchSentence(fields.id));
      return;
    }
    watch.change({
      ...(fields.filter === undefined ? {} : { filter: fields.filter }),
      ...(fields.time === undefined ? {} : { time: fields.time }),
      ...(fields.params === undefined ? {} : { params: fields.params })
    });
  }

  private _tiles({ fields }: MessageOf<'tiles'>): void {
    const watch = this._watches.get(fields.id);
    if (watch === undefined) {
      this._fail(fields.id, unknownWatchSentence(fields.id));
      return;
    }
    const { cluster } = watch.entry;
    const tiles = cluster.tiles(watch.filter);
    for (let i = 0; i < fields.count; i++) {
      const index = fields.first + i;
      this._queue
        .run(tiles.tile(fields.level, index, cluster.ended), true)
        .then(({ value: tile }) =>
          this._send('tile', () =>
            this._link.send(
              'tile',
              {
                id: fields.id,
                level: tile.level,
                index: tile.index,
                settled: tile.settled,
                logSeq: tile.logSeq,
                functions: [...tile.functions]
              },
              { boxes: tile.columns }
            )
          )
        )
        .catch((error: unknown) =>
          this._fail(fields.id, foldFailedSentence('task-stream', error))
        );
    }
  }

  private _detail({ fields }: MessageOf<'detail'>): void {
    const store = this._clusters.get(fields.cluster)?.cluster.store;
    const row = store?.runRows.get(fields.run) ?? -1;
    const { request } = fields;
    if (store === undefined || row < 0) {
      this._link.send('detail', { request, run: null });
      return;
    }
    const whole = runDetail(store, row);
    try {
      this._send('detail', () =>
        this._link.send('detail', { request, run: whole })
      );
    } catch {
      // Too long, which is noted; in short it never is.
      this._link.send('detail', { request, run: runDetail(store, row, true) });
    }
  }

  private _snapshot(
    id: number,
    seq: number,
    logId: string,
    answer: Answer
  ): void {
    this._send('snapshot', () =>
      this._link.send('snapshot', {
        id,
        seq,
        logId,
        logSeq: answer.logSeq,
        honoured: answer.honoured,
        result: answer.result
      })
    );
  }

  /** An answer that is too long for the link is an answer that cannot be given, not the end of the page's link. */
  private _send(what: string, send: () => void): void {
    if (this._closed) {
      return;
    }
    try {
      send();
    } catch (error) {
      const sentence = error instanceof Error ? error.message : String(error);
      this._note(`A ${what} could not be sent: ${sentence}`);
      throw error;
    }
  }

  private _fail(id: number, sentence: string): void {
    if (!this._closed) {
      this._link.send('failure', { id, sentence });
    }
  }

  /**
   * A history that was dropped must not stay in memory because a panel looks at it. Panels ask again for what failed when they are told
   * of clusters, which finds the new log of a cluster that began anew.
   */
  private _endOutdated(): void {
    for (const [id, watch] of this._watches) {
      const { cluster } = watch.entry;
      if (this._clusters.get(cluster.id) !== watch.entry) {
        this._forget(id);
        this._fail(
          id,
          this._clusters.forgotten(cluster.id)?.dropped ??
            begunAnewSentence(cluster.name)
        );
      }
    }
  }

  private _pushClustersSoon(): void {
    if (this._clustersTimer !== undefined || this._closed) {
      return;
    }
    this._clustersTimer = setTimeout(
      () => {
        this._clustersTimer = undefined;
        this._pushClusters();
      },
      Math.max(0, this._clustersAt + CLUSTERS_MILLISECONDS - Date.now())
    );
  }

  private _pushClusters(): void {
    this._clustersAt = Date.now();
    const clusters = this._clusters.list();
    const text = JSON.stringify(clusters);
    if (text !== this._sentClusters) {
      this._sentClusters = text;
      this._link.send('clusters', { clusters });
    }
  }

  private _dispose(): void {
    this._closed = true;
    clearTimeout(this._clustersTimer);
    this._stopListening();
    for (const id of [...this._watches.keys(), ...this._awaiting.keys()]) {
      this._forget(id);
    }
  }
}
