/** One viewer's link: a browser page through the relay, or the Python client. In the observer process. */
import type { AcceptedLink } from '../../link/door';
import { complete } from '../../observer/folds/context';
import { runDetail } from '../../observer/folds/run-detail';
import { type ClusterInfo, MOST_WATCHES } from '../../wire/panel-link';
import type { Message } from '../../wire/schema';
import type { Answer } from './answers';
import type { ClusterEntry, Clusters } from './clusters';
import type { ObservedCluster } from './observed-cluster';
import { MOST_QUESTION_CHARACTERS, PageQuestion } from './page-question';
import {
  begunAnewSentence,
  foldFailedSentence,
  longFilterSentence,
  tilesGivenUpSentence,
  unknownClusterSentence,
  unknownWatchSentence
} from './sentences';
import { withSharedFunctions } from './shared-functions';
import { MOST_TILES, TileRequests, type TileRequest } from './tile-requests';
import { type Answered, ARRIVAL_MILLISECONDS, RunningWatch } from './watch';
import { AT_ONCE_BYTES } from './unread-blocks';
import { NotWanted, type WorkQueue } from './work-queue';

/** `clusters` is pushed at most twice a second. */
const CLUSTERS_MILLISECONDS = 500;
/**
 * Bytes that may be on their way to a page that does not read: two of the longest messages. Beyond this nothing is made for the page, and
 * none of its requests is read.
 */
const MOST_QUEUED_BYTES = 2 * 2 ** 20;
/** How long a page's requests are looked at before other sockets are read. */
const REQUESTS_MILLISECONDS = 4;
/** Time between two notices to a page that asks for too many tiles. */
const GIVEN_UP_MILLISECONDS = 1000;
/** A program asks as soon as it is connected: who says nothing for so long is a page without a panel yet. */
const SILENT_PAGE_MILLISECONDS = 1000;

type Up = Message<'panel', 'up'>;
type MessageOf<T extends Up['type']> = Extract<Up, { readonly type: T }>;

/**
 * A watch is kept from `watch` to `unwatch`, a query until its answer. `running` is null while its cluster is not here, or not read, or its
 * first question is too long: then either the page has been told, or `arrival` waits for the cluster, or it is read.
 */
type KeptWatch = {
  readonly question: PageQuestion;
  running: RunningWatch | null;
  /** Ends the wait for its cluster. */
  arrival: NodeJS.Timeout | undefined;
  /** What waits of its cluster's log is being read. */
  isReading: boolean;
};

export class PanelSession {
  private readonly _watches = new Map<number, KeptWatch>();
  private readonly _stopListening: () => void;
  private _clustersTimer: NodeJS.Timeout | undefined;
  private _isListing = false;
  /** Something changed since the list that is being made was begun. */
  private _isListOld = false;
  private _clustersAt = 0;
  private _sentClusters = '';
  private _closed = false;
  /** Requests that are not answered yet. */
  private _inbox: Up[] = [];
  private _paused = false;
  /** The turn in which more requests are taken. */
  private _next: NodeJS.Immediate | undefined;
  private readonly _tileRequests = new TileRequests();
  private _makingTile = false;
  private _givenUpAt = -Infinity;
  /** Runs until the viewer is known for a page or a program. */
  private _silence: NodeJS.Timeout | undefined;

  /**
   * @param isPage - Called when the viewer is known for a page, which draws tiles: a program asks for an answer, and no more.
   * @param left - Called when it has left.
   */
  constructor(
    private readonly _link: AcceptedLink<'panel'>,
    private readonly _clusters: Clusters,
    private readonly _queue: WorkQueue,
    private readonly _note: (sentence: string) => void,
    private readonly _isPage: () => void = () => undefined,
    left: () => void = () => undefined
  ) {
    this._silence = setTimeout(() => {
      this._silence = undefined;
      this._isPage();
    }, SILENT_PAGE_MILLISECONDS);
    this._stopListening = _clusters.onChange(() => {
      this._followClusters();
      this._pushClustersSoon();
    });
    _link.start({
      messages: batch => {
        this._inbox.push(...batch);
        this._work();
      },
      drained: () => this._goOn(),
      closed: () => {
        this._dispose();
        left();
      }
    });
    this._pushClusters();
  }

  private get _isFull(): boolean {
    return this._link.queuedBytes > MOST_QUEUED_BYTES;
  }

  /**
   * Takes requests. The page's socket is not read while more requests wait than one turn takes, or while the page does not read its
   * answers.
   */
  private _work(): void {
    if (this._next !== undefined) {
      // The next turn is scheduled: one share per turn, however often the socket has room meanwhile.
      return;
    }
    const end = performance.now() + REQUESTS_MILLISECONDS;
    let taken = 0;
    while (
      taken < this._inbox.length &&
      !this._closed &&
      !this._isFull &&
      performance.now() < end
    ) {
      this._take(this._inbox[taken++]!);
    }
    this._inbox.splice(0, taken);
    if (this._closed) {
      return;
    }
    if (this._inbox.length === 0) {
      if (this._paused) {
        this._paused = false;
        this._link.resume();
      }
      return;
    }
    if (!this._paused) {
      this._paused = true;
      this._link.pause();
    }
    if (!this._isFull) {
      this._next = setImmediate(() => {
        this._next = undefined;
        this._work();
      });
    }
  }

  /** The page reads again. */
  private _goOn(): void {
    if (this._closed || this._isFull) {
      return;
    }
    this._work();
    this._pushClustersSoon();
    this._watches.forEach(({ running }) => running?.wake());
    this._makeTiles();
  }

  private _take(message: Up): void {
    this._judge(message);
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
        this._watches.get(message.fields.id)?.running?.ack(message.fields.seq);
        return;
      case 'unwatch':
        this._forget(message.fields.id);
        return;
      default:
        // The handshake's messages, and `refused`, which the link has dealt with.
        return;
    }
  }

  /** What is said first tells a page from a program. */
  private _judge(message: Up): void {
    if (this._silence === undefined) {
      return;
    }
    clearTimeout(this._silence);
    this._silence = undefined;
    if (message.type !== 'watch' || message.fields.maxHz !== 0) {
      this._isPage();
    }
  }

  private _watch({ fields }: MessageOf<'watch'>): void {
    const { id, cluster } = fields;
    this._forget(id);
    if (this._watches.size >= MOST_WATCHES) {
      this._fail(
        fields,
        `This page has ${MOST_WATCHES} watches already: close some panels.`
      );
      return;
    }
    const isNewlyCompared =
      fields.sharedFunctions && !this._comparedClusters.has(cluster);
    const watch: KeptWatch = {
      question: new PageQuestion(fields),
      running: null,
      arrival: undefined,
      isReading: false
    };
    this._watches.set(id, watch);
    if (isNewlyCompared) {
      // (what the page proposes, it asks of this)
      this._pushClusters();
    }
    const isExpected = fields.expected || (fields.afterSeq ?? 0) > 0;
    if (isExpected && this._clusters.get(cluster) === undefined) {
      // The viewer was told of the cluster, so it exists: its source is about to connect, or to reconnect after an observer died.
      watch.arrival = setTimeout(() => {
        watch.arrival = undefined;
        if (!watch.question.isTooLong) {
          this._answer(watch);
        }
      }, ARRIVAL_MILLISECONDS);
    }
    this._answer(watch);
  }

  private _change({ fields }: MessageOf<'change'>): void {
    const watch = this._watches.get(fields.id);
    if (watch === undefined) {
      this._fail(fields, unknownWatchSentence(fields.id));
      return;
    }
    watch.question.change(fields);
    this._answer(watch);
  }

  /** Has the question answered as it is now, or says why it cannot be. */
  private _answer(watch: KeptWatch): void {
    const { fields, length, isTooLong } = watch.question;
    if (isTooLong) {
      watch.running?.refuseChange();
      this._rest(watch, longFilterSentence(length, MOST_QUESTION_CHARACTERS));
      return;
    }
    if (watch.running !== null) {
      watch.running.change(fields);
      return;
    }
    const entry = this._clusters.get(fields.cluster);
    if (entry !== undefined) {
      this._run(watch, entry);
      return;
    }
    const absent = this._clusters.forgotten(fields.cluster);
    const why = absent?.dropped ?? absent?.why;
    if (why !== undefined || watch.arrival === undefined) {
      clearTimeout(watch.arrival);
      watch.arrival = undefined;
      this._rest(watch, why ?? unknownClusterSentence(fields.cluster));
    }
  }

  private _run(watch: KeptWatch, entry: ClusterEntry): void {
    clearTimeout(watch.arrival);
    watch.arrival = undefined;
    if (entry.cluster.unreadBytes > AT_ONCE_BYTES && !watch.isReading) {
      watch.isReading = true;
      void this._readBefore(watch, entry.cluster);
    }
    if (watch.isReading) {
      return;
    }
    watch.running = new RunningWatch(watch.question.fields, entry, {
      snapshot: (to, seq, logId, answer) =>
        this._snapshot(to, seq, logId, answer),
      failure: (to, sentence) => this._fail(to, sentence),
      done: id => {
        if (this._watches.get(id) === watch) {
          this._watches.delete(id);
        }
      },
      isFull: () => this._isFull,
      owner: this
    });
  }

  /**
   * Others' questions get their turns meanwhile, and so do this page's other ones: the log is an asker of its own. Then the watch asks what
   * it was changed to.
   */
  private async _readBefore(
    watch: KeptWatch,
    cluster: ObservedCluster
  ): Promise<void> {
    const isWanted = (): boolean =>
      !this._closed && this._watches.get(watch.question.fields.id) === watch;
    try {
      await this._queue.run(cluster.readInSlices(), true, {
        owner: cluster,
        isWanted
      });
    } catch (error) {
      if (!(error instanceof NotWanted)) {
        watch.isReading = false;
        const { view } = watch.question.fields;
        this._rest(watch, foldFailedSentence(view, error));
      }
      return;
    }
    watch.isReading = false;
    if (isWanted() && watch.running === null && !watch.question.isTooLong) {
      this._answer(watch);
    }
  }

  /** Says why there is no answer until the next change, or until the cluster is here. A query has its answer with that. */
  private _rest(watch: KeptWatch, sentence: string): void {
    const { fields } = watch.question;
    if (fields.maxHz === 0) {
      this._forget(fields.id);
    }
    this._fail(fields, sentence);
  }

  private _forget(id: number): void {
    const watch = this._watches.get(id);
    watch?.running?.dispose();
    clearTimeout(watch?.arrival);
    this._watches.delete(id);
    this._tileRequests.forget(id);
  }

  private _tiles({ fields }: MessageOf<'tiles'>): void {
    const watch = this._watches.get(fields.id);
    if (watch === undefined) {
      this._failTiles(fields.id, unknownWatchSentence(fields.id));
      return;
    }
    if (watch.running === null) {
      // A page asks again when it has an answer.
      return;
    }
    const { id: ofWatch, level, first, groupSize, group } = fields;
    for (let i = 0; i < fields.count; i++) {
      const request = {
        watch: ofWatch,
        level,
        index: first + i,
        groupSize,
        group
      };
      const given = this._tileRequests.add(request);
      if (given !== undefined) {
        this._tellGivenUp(given);
      }
    }
    this._makeTiles();
  }

  private _tellGivenUp(request: TileRequest): void {
    const now = Date.now();
    if (now - this._givenUpAt >= GIVEN_UP_MILLISECONDS) {
      this._givenUpAt = now;
      this._failTiles(request.watch, tilesGivenUpSentence(MOST_TILES));
    }
  }

  /** One tile at a time, so that the rest can still be cancelled and other pages get their turns. */
  private _makeTiles(): void {
    if (this._makingTile || this._closed || this._isFull) {
      return;
    }
    const request = this._tileRequests.take();
    if (request === undefined) {
      return;
    }
    this._makingTile = true;
    void this._makeTile(request).finally(() => {
      this._makingTile = false;
      this._makeTiles();
    });
  }

  private async _makeTile(request: TileRequest) {
    const { watch: id, level, index, groupSize, group } = request;
    const watch = this._watches.get(id)?.running;
    if (!watch) {
      return;
    }
    const isWanted = (): boolean =>
      !this._closed && this._watches.get(id)?.running === watch;
    try {
      const { cluster } = watch.entry;
      const { value: tile } = await this._queue.run(
        cluster.tiles(watch.filter).tile(level, index, cluster.ended, request),
        true,
        { owner: this, isWanted }
      );
      if (!isWanted()) {
        return;
      }
      this._send('tile', () =>
        this._link.send(
          'tile',
          {
            id,
            level: tile.level,
            index: tile.index,
            settled: tile.settled,
            logSeq: tile.logSeq,
            groupSize,
            group,
            functions: [...tile.functions]
          },
          { boxes: tile.columns }
        )
      );
    } catch (error) {
      if (!(error instanceof NotWanted)) {
        this._failTiles(id, foldFailedSentence('task-stream', error));
      }
    }
  }

  private _detail(message: MessageOf<'detail'>): void {
    const cluster = this._clusters.get(message.fields.cluster)?.cluster;
    if (cluster !== undefined && cluster.unreadBytes > AT_ONCE_BYTES) {
      const asker = { owner: cluster, isWanted: () => !this._closed };
      const tell = (): void => this._tellDetail(message);
      this._queue.run(cluster.readInSlices(), true, asker).then(tell, tell);
    } else {
      this._tellDetail(message);
    }
  }

  private _tellDetail({ fields }: MessageOf<'detail'>): void {
    if (this._closed) {
      return;
    }
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
    { id, question }: Answered,
    seq: number,
    logId: string,
    answer: Answer
  ): void {
    this._send('snapshot', () =>
      this._link.send('snapshot', {
        id,
        question,
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

  private _fail({ id, question }: Answered, sentence: string): void {
    if (!this._closed) {
      this._link.send('failure', { id, question, sentence });
    }
  }

  private _failTiles(id: number, sentence: string): void {
    if (!this._closed) {
      this._link.send('failure', { id, sentence, tiles: true });
    }
  }

  /** A watch begins with its cluster, and goes over to the new log of a restarted one. */
  private _followClusters(): void {
    for (const [id, watch] of [...this._watches]) {
      const { question, running } = watch;
      const { cluster } = question.fields;
      const entry = this._clusters.get(cluster);
      if (running !== null && running.entry !== entry) {
        // A history that was dropped must not stay in memory because a panel looks at it.
        running.dispose();
        watch.running = null;
        this._tileRequests.forget(id);
        if (!question.isTooLong) {
          this._rest(
            watch,
            this._clusters.forgotten(cluster)?.dropped ??
              begunAnewSentence(running.entry.cluster.name)
          );
        }
      }
      const isDue =
        entry !== undefined ||
        (watch.arrival !== undefined &&
          this._clusters.forgotten(cluster) !== undefined);
      if (
        this._watches.get(id) === watch &&
        watch.running === null &&
        !question.isTooLong &&
        isDue
      ) {
        this._answer(watch);
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
    if (this._isFull) {
      return; // told when it reads
    }
    if (this._isListing) {
      this._isListOld = true;
      return;
    }
    this._clustersAt = Date.now();
    if (this._clusters.unreadBytes > AT_ONCE_BYTES) {
      void this._listInTurns();
    } else {
      this._sendClusters(complete(this._clusters.list()));
    }
  }

  /**
   * The lists of all pages take their turns as one asker: what the first has read the others need not read, and no question stands behind
   * them.
   */
  private async _listInTurns(): Promise<void> {
    this._isListing = true;
    this._isListOld = false;
    try {
      const { value } = await this._queue.run(this._clusters.list(), false, {
        owner: this._clusters,
        isWanted: () => !this._closed
      });
      this._sendClusters(value);
    } catch (error) {
      if (!(error instanceof NotWanted)) {
        throw error;
      }
    } finally {
      this._isListing = false;
    }
    if (this._isListOld) {
      this._pushClustersSoon();
    }
  }

  private _sendClusters(listed: readonly ClusterInfo[]): void {
    const compared = this._comparedClusters;
    const clusters = [...withSharedFunctions(listed, compared, this._clusters)];
    const text = JSON.stringify(clusters);
    if (text !== this._sentClusters && !this._closed && !this._isFull) {
      this._sentClusters = text;
      this._link.send('clusters', { clusters });
    }
  }

  private get _comparedClusters(): ReadonlySet<string> {
    return new Set(
      [...this._watches.values()].flatMap(({ question: { fields } }) =>
        fields.sharedFunctions ? [fields.cluster] : []
      )
    );
  }

  private _dispose(): void {
    this._closed = true;
    this._inbox = [];
    this._tileRequests.clear();
    clearTimeout(this._clustersTimer);
    clearTimeout(this._silence);
    clearImmediate(this._next);
    this._stopListening();
    for (const id of [...this._watches.keys()]) {
      this._forget(id);
    }
  }
}
