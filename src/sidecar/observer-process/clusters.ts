/** All clusters that the observer knows, live and ended. In the observer process. */
import {
  boundsFor,
  DEFAULT_BUDGET_BYTES
} from '../../observer/store/store-bounds';
import type { Slices } from '../../observer/folds/context';
import type { NameSketch } from '../../observer/store/name-sketch';
import type { ClusterInfo } from '../../wire/panel-link';
import { BoundedMap } from '../../base/bounded-map';
import type { FunctionSlots } from '../../observer/function-slots';
import { Answers } from './answers';
import { ObservedCluster, type OpenFields } from './observed-cluster';
import { RefusedSources } from './refused-sources';
import { forgottenSentence } from './sentences';
import { AT_ONCE_BYTES } from './unread-blocks';
import type { WorkQueue } from './work-queue';

/** A source whose link broke without an `end` counts as dead after this time. */
const LOST_AFTER_MILLISECONDS = 10_000;
/**
 * Time between two checks whether its process lives. A killed process closes its links some milliseconds before it counts as gone: until
 * then nobody is told that it may come back.
 */
const LOOK_MILLISECONDS = 25;
const TELL_AFTER_MILLISECONDS = 150;
const LATER_LOOK_MILLISECONDS = 250;
/** Indices, totals and caches beside the tables, as a share of them (measured with a million runs). */
const OVERHEAD = 1.6;
/** Ended clusters with their history: panels are sent the list of all, two thirds of a kilobyte each, in one message. */
const MOST_ENDED = 200;
/** Clusters whose history was dropped are still listed: at most this many. */
const FORGOTTEN_LISTED = 20;
/** Notebooks and programs whose next cluster has the colours of the one before; of each half a megabyte at most, with thousands of functions. */
const MOST_COLOURED = 32;

export type ClusterEntry = {
  readonly cluster: ObservedCluster;
  readonly answers: Answers;
};
/** What is kept of a cluster whose history was dropped. */
type Forgotten = {
  readonly info: ClusterInfo;
  readonly functions: NameSketch;
};
type ClustersOptions = {
  readonly queue: WorkQueue;
  readonly budgetBytes?: number;
  readonly lostAfterMilliseconds?: number;
  /** For the process's log. */
  readonly note: (sentence: string) => void;
};

export class Clusters {
  private readonly _entries = new Map<string, ClusterEntry>();
  private _forgotten: Forgotten[] = [];
  /** By {@link colouredAs}: colours of functions of the newest cluster, with which the next one begins. */
  private readonly _colours = new BoundedMap<string, FunctionSlots>(
    MOST_COLOURED
  );
  private readonly _lostTimers = new Map<string, NodeJS.Timeout>();
  private readonly _listeners = new Set<() => void>();
  private _isReadingBeforeDrop = false;

  readonly refused = new RefusedSources(() => this._changed());

  constructor(private readonly _options: ClustersOptions) {}

  get(cluster: string): ClusterEntry | undefined {
    return this._entries.get(cluster);
  }

  /** Why a cluster is not here, if that is known. */
  forgotten(cluster: string): ClusterInfo | undefined {
    return [...this._forgottenInfos, ...this.refused.list()].find(
      info => info.cluster === cluster
    );
  }

  /** Of the names of the functions that ran; undefined: it is not here. */
  functionsOf(cluster: string): NameSketch | undefined {
    return (
      this.get(cluster)?.cluster.store.functionSketch ??
      this._forgotten.find(({ info }) => info.cluster === cluster)?.functions
    );
  }

  private get _forgottenInfos(): readonly ClusterInfo[] {
    return this._forgotten.map(({ info }) => info);
  }

  /** Bytes that are to be read before all can be listed. */
  get unreadBytes(): number {
    let sum = 0;
    for (const { cluster } of this._entries.values()) {
      sum += cluster.unreadBytes;
    }
    return sum;
  }

  /**
   * What pages are told of all. It takes nearly every table of a log (states, memory, tasks, functions, clients, gaps), so that the blocks
   * that wait are read before: of twenty logs that nobody has looked at, for seconds.
   */
  *list(): Slices<ClusterInfo[]> {
    const infos = new Map<ObservedCluster, ClusterInfo>();
    for (const { cluster } of [...this._entries.values()]) {
      yield* cluster.readInSlices();
      infos.set(cluster, cluster.info());
      yield;
    }
    return [
      ...this._forgottenInfos,
      ...this.refused.list(),
      ...[...this._entries.values()].map(
        // (one that came meanwhile has little to read)
        ({ cluster }) => infos.get(cluster) ?? cluster.info()
      )
    ];
  }

  onChange(listener: () => void): () => void {
    this._listeners.add(listener);
    return () => this._listeners.delete(listener);
  }

  /** A source said hello: the same log goes on, another log starts a new history. */
  open(open: OpenFields): ObservedCluster {
    this._clearTimer(open.clusterId);
    const known = this._entries.get(open.clusterId);
    if (known?.cluster.logId === open.logId) {
      known.cluster.reopened(open);
      return known.cluster;
    }
    const cluster = new ObservedCluster(
      open,
      boundsFor(this._budgetBytes),
      why => this._options.note(`${open.name}: a block was left out: ${why}`),
      this._colours.get(colouredAs(open)) ?? null
    );
    this._colours.set(colouredAs(open), cluster.slots);
    this._entries.delete(open.clusterId);
    this._forgotten = this._forgotten.filter(
      ({ info }) => info.cluster !== open.clusterId
    );
    this._entries.set(open.clusterId, {
      cluster,
      answers: new Answers(cluster, this._options.queue)
    });
    cluster.onChange(() => this._changed());
    this._changed();
    return cluster;
  }

  /**
   * The source's link broke without an `end`. If its process is gone too, the cluster has ended; else the source has some time to reconnect.
   */
  linkLost(cluster: ObservedCluster): void {
    // A log that another one has replaced is no longer listed.
    if (cluster.ended || this.get(cluster.id)?.cluster !== cluster) {
      return;
    }
    const { lostAfterMilliseconds = LOST_AFTER_MILLISECONDS } = this._options;
    const lostAt = performance.now();
    const began = Date.now();
    const look = (): void => {
      const passed = Date.now() - began;
      if (cluster.isProcessGone || passed >= lostAfterMilliseconds) {
        this._lostTimers.delete(cluster.id);
        cluster.lost(lostAt);
        this.keepBudget();
        return;
      }
      const isTold = passed >= TELL_AFTER_MILLISECONDS;
      if (isTold) {
        cluster.linkLost();
      }
      const pause = isTold ? LATER_LOOK_MILLISECONDS : LOOK_MILLISECONDS;
      this._clearTimer(cluster.id);
      this._lostTimers.set(
        cluster.id,
        setTimeout(look, Math.min(pause, lostAfterMilliseconds - passed))
      );
    };
    look();
  }

  /**
   * Drops the history of the clusters that ended first until the rest fits. The newest always stays, and live ones are bounded by their
   * tables.
   */
  keepBudget(): void {
    const sizes = [...this._entries].map(([id, { cluster }]) => ({
      id,
      cluster,
      nbytes: cluster.nbytes * OVERHEAD
    }));
    let sum = sizes.reduce((total, { nbytes }) => total + nbytes, 0);
    const oldestFirst = sizes
      .filter(({ cluster }) => cluster.ended)
      .sort((a, b) => a.cluster.endToldAt - b.cluster.endToldAt);
    const surplus = oldestFirst.length - MOST_ENDED;
    for (const [i, { id, cluster, nbytes }] of oldestFirst
      .slice(0, sizes.length - 1)
      .entries()) {
      if (sum <= this._budgetBytes && i >= surplus) {
        return;
      }
      if (cluster.unreadBytes > AT_ONCE_BYTES) {
        void this._readBeforeDrop(cluster);
        return;
      }
      sum -= nbytes;
      this._entries.delete(id);
      const info = {
        ...cluster.info(),
        workers: [],
        dropped: forgottenSentence(cluster.name)
      };
      const functions = cluster.store.functionSketch;
      this._forgotten = [...this._forgotten, { info, functions }].slice(
        -FORGOTTEN_LISTED
      );
      this._options.note(forgottenSentence(cluster.name));
      this._changed();
    }
  }

  /** What is listed of it from then on takes all its blocks. What is dropped is decided anew: it may go on meanwhile. */
  private async _readBeforeDrop(cluster: ObservedCluster): Promise<void> {
    if (this._isReadingBeforeDrop) {
      return;
    }
    this._isReadingBeforeDrop = true;
    try {
      await this._options.queue.run(cluster.readInSlices(), false, {
        owner: cluster,
        isWanted: () => this.get(cluster.id)?.cluster === cluster
      });
    } catch {
      // (another log has replaced it, or the observer ends)
    } finally {
      this._isReadingBeforeDrop = false;
    }
    this.keepBudget();
  }

  dispose(): void {
    for (const timer of this._lostTimers.values()) {
      clearTimeout(timer);
    }
    this._lostTimers.clear();
    this.refused.dispose();
    this._listeners.clear();
    // From now on a link that closes starts no timer.
    this._entries.clear();
  }

  private get _budgetBytes(): number {
    return this._options.budgetBytes ?? DEFAULT_BUDGET_BYTES;
  }

  private _clearTimer(id: string): void {
    clearTimeout(this._lostTimers.get(id));
    this._lostTimers.delete(id);
  }

  private _changed(): void {
    for (const listener of this._listeners) {
      listener();
    }
  }
}

/** Clusters of one notebook, else those of one name, have the same colours. */
function colouredAs({ notebook, name }: OpenFields): string {
  return JSON.stringify(notebook?.path ? { path: notebook.path } : { name });
}
