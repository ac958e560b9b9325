/**
 * Which cluster a panel belongs to. A panel is tied to a *target* that survives reloads, reruns and kernel restarts (a notebook, or a
 * cluster's name), not to one cluster's id; this file finds the cluster that the target means now.
 *
 *   target {notebook: 'a.ipynb'}    cluster 1 (ended) → cluster 2 (ended) → cluster 3 (running)   ⇒ cluster 3
 *   target {…, name: 'survey'}      of the notebook's clusters only those of this name, whatever else it starts
 *   target {…, cluster: 'id'}       this cluster and no other, while the page knows it
 *   not following                   stays with the cluster it showed when following was switched off
 */
import { type ISignal, Signal } from '@lumino/signaling';
import { Disposing } from './disposing';
import { REFUSED_CLUSTER, type ClusterInfo } from '../wire/panel-link';
import type { IFeed } from './feed-types';

/** What a panel belongs to. An empty target becomes that of the first cluster that there is: its notebook or name. */
export type ClusterTarget = {
  /** Path of the notebook, as the contents service writes it. */
  readonly notebook?: string;
  /** The cluster's name; with a notebook, only its clusters of that name. */
  readonly name?: string;
  /** Id of the only cluster that is meant, as long as it is listed: others have its name. */
  readonly cluster?: string;
};

/** How long a cluster that a new observer does not know may take to be listed again: its source reconnects within 2 s of the observer's start. */
const RETURN_LIMIT_MS = 10_000;

/** Clusters of a kernel that ends do so one after another: what ends within so many seconds has ended together. */
const TOGETHER_SECONDS = 15;

/** How long a requested cluster may take until the page hears of it. */
const ARRIVAL_LIMIT_MS = 30_000;

/** Who computes on a cluster: what started it, or one of its clients. */
export type ClusterUser = Pick<ClusterInfo, 'notebook'>;

/** Path of the notebook that uses a cluster, as far as this page can tell; undefined for other programs. */
export type NotebookOf = (user: ClusterUser) => string | undefined;

/** A notebook that a cluster belongs to. */
type NotebookUse = {
  readonly path: string;
  /** Since when, wall clock seconds. */
  readonly since: number;
  /** Until when; Infinity while its kernel is connected. If that is not known it is `since`. */
  readonly until: number;
  /** Whether its kernel is connected. */
  readonly isHere: boolean;
};

export class ClusterRef extends Disposing {
  readonly notebookOf: NotebookOf;
  private readonly _feed: IFeed;
  private _target: ClusterTarget;
  private _current: ClusterInfo | null = null;
  private _elsewhere: ClusterInfo | null = null;
  private _heldCluster: string | null = null;
  private _awaited: string | null = null;
  private _arrivalTimer: ReturnType<typeof setTimeout> | undefined;
  private _missingSince: number | null = null;
  private _mayReturn = false;
  private _returnTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly _changed = new Signal<this, void>(this);

  constructor(options: ClusterRef.IOptions) {
    super();
    this._feed = options.feed;
    this.notebookOf = options.notebookOf;
    this._target = options.target;
    this._feed.clustersChanged.connect(this._refresh, this);
    this._refresh();
  }

  /** The cluster, its figures, the target or following changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get target(): ClusterTarget {
    return this._target;
  }

  /** What the target means now; null while no such cluster is known. */
  get current(): ClusterInfo | null {
    return this._current;
  }

  /**
   * Since when the observer no longer lists the current cluster, wall clock milliseconds; null while it lists it. A new observer lists a
   * cluster when its source has reconnected.
   */
  get missingSince(): number | null {
    return this._missingSince;
  }

  /**
   * Shows this cluster as soon as the page hears of it: the caller knows it from its kernel, which may be ahead of the page. Given up after a
   * while.
   *
   * @param cluster - its id or name.
   */
  await(cluster: string): void {
    clearTimeout(this._arrivalTimer);
    this._awaited = cluster;
    this._arrivalTimer = setTimeout(() => {
      this._awaited = null;
      this._changed.emit();
    }, ARRIVAL_LIMIT_MS);
    this._refresh();
    this._changed.emit();
  }

  /** Whether a requested cluster has not been heard of yet. */
  get isAwaiting(): boolean {
    return this._awaited !== null;
  }

  /** If there is no current cluster: the newest of another target, one that has ended only if all have. */
  get elsewhere(): ClusterInfo | null {
    return this._elsewhere;
  }

  /** The name for titles: the cluster's, else the target's, else nothing. */
  get name(): string | undefined {
    return this._current?.name ?? this._target.name;
  }

  /** Whether the next cluster of the same target is shown by itself when this one has ended. */
  get follows(): boolean {
    return this._heldCluster === null;
  }

  setFollows(follows: boolean): void {
    this._heldCluster = follows ? null : (this._current?.cluster ?? null);
    this._refresh();
    this._changed.emit();
  }

  /** Looks again which cluster the target means; called when the page learned which notebook a kernel belongs to. */
  refresh(): void {
    this._refresh();
  }

  protected override end(): void {
    clearTimeout(this._returnTimer);
    clearTimeout(this._arrivalTimer);
    this._feed.clustersChanged.disconnect(this._refresh, this);
  }

  private _refresh(): void {
    const wasMissing = this._missingSince !== null;
    const hasArrived = this._noteArrival();
    this._noteMissing();
    const held = this._feed.clusters.find(
      info => info.cluster === this._heldCluster
    );
    const next =
      held ?? newestFor(this._feed.clusters, this._target, this.notebookOf);
    if (next !== null && isOpen(this._target)) {
      this._target = targetOf(next, this.notebookOf);
    }
    // A cluster that a restarted observer does not list yet is shown as it was last seen until it is back or a newer one comes: an older
    // cluster of the same notebook may be listed before it.
    const current =
      next === null || (this._mayReturn && !isNewer(next, this._current))
        ? this._current
        : next;
    const elsewhere =
      current !== null
        ? null
        : newestOf(
            this._feed.clusters.filter(
              ({ cluster }) => cluster !== REFUSED_CLUSTER
            )
          );
    const isNew =
      elsewhere?.cluster !== this._elsewhere?.cluster ||
      elsewhere?.state !== this._elsewhere?.state;
    this._elsewhere = elsewhere;
    const isMissing = this._missingSince !== null;
    if (
      current !== this._current ||
      isNew ||
      isMissing !== wasMissing ||
      hasArrived
    ) {
      this._current = current;
      this._noteMissing();
      this._changed.emit();
    }
  }

  private _noteArrival(): boolean {
    const hasArrived =
      this._awaited !== null &&
      this._feed.clusters.some(
        ({ cluster, name }) =>
          cluster === this._awaited || name === this._awaited
      );
    if (hasArrived) {
      clearTimeout(this._arrivalTimer);
      this._awaited = null;
    }
    return hasArrived;
  }

  private _noteMissing(): void {
    const id = this._current?.cluster;
    const isListed =
      id === undefined ||
      this._feed.clusters.some(({ cluster }) => cluster === id);
    if (isListed) {
      clearTimeout(this._returnTimer);
      this._missingSince = null;
      this._mayReturn = false;
    } else if (this._missingSince === null) {
      this._missingSince = Date.now();
      this._mayReturn = true;
      clearTimeout(this._returnTimer);
      // The end of the wait is kept as a flag and not compared with the clock: a timer may be a millisecond early, and nothing would look
      // again.
      this._returnTimer = setTimeout(() => {
        this._mayReturn = false;
        this._refresh();
      }, RETURN_LIMIT_MS);
    }
  }
}

export namespace ClusterRef {
  export interface IOptions {
    readonly feed: IFeed;
    readonly target: ClusterTarget;
    readonly notebookOf: NotebookOf;
  }
}

function isNewer(info: ClusterInfo, than: ClusterInfo | null): boolean {
  return than === null || info.startedAt > than.startedAt;
}

/** The notebooks of a cluster, each once: that which started it, then those that have joined it, in that order. */
export function notebooksOf(
  info: ClusterInfo,
  notebookOf: NotebookOf
): readonly NotebookUse[] {
  const uses = [
    { user: info, ...timesOf(info, info.startedAt) },
    ...info.clients.map(client => ({
      user: client,
      ...timesOf(info, client.joined, client.left)
    }))
  ];
  const byPath = new Map<string, NotebookUse>();
  for (const { user, since, until } of uses) {
    const path = notebookOf(user);
    if (path !== undefined) {
      const known = byPath.get(path);
      const latest = Math.max(until, known?.until ?? until);
      byPath.set(path, {
        path,
        since: Math.max(since, known?.since ?? since),
        until: latest,
        isHere: latest === Infinity
      });
    }
  }
  return [...byPath.values()];
}

/** @param left - when the user left the cluster; undefined: it stays as long as the cluster does. */
function timesOf(
  { state, endedAt }: ClusterInfo,
  since: number,
  left?: number
): Pick<NotebookUse, 'since' | 'until' | 'isHere'> {
  const until =
    left ?? (state === 'ended' ? Math.max(since, endedAt ?? since) : Infinity);
  return { since, until, isHere: until === Infinity };
}

/**
 * The lasting description of a cluster: its notebook if it has one, else its name, also if several share it. For the entry of refused clusters
 * it is empty, which means the next cluster.
 */
export function targetOf(
  info: ClusterInfo,
  notebookOf: NotebookOf
): ClusterTarget {
  if (info.cluster === REFUSED_CLUSTER) {
    return {};
  }
  const [only, ...others] = notebooksOf(info, notebookOf);
  const own =
    notebookOf(info) ?? (others.length === 0 ? only?.path : undefined);
  return own === undefined ? { name: info.name } : { notebook: own };
}

/**
 * The target that goes on with what comes after a cluster: the next one of its notebook, if the cluster is the one that the notebook means
 * now; else those of its name.
 *
 * @param own - the notebook or name that the cluster is to be found by.
 */
export function followingTarget(
  info: ClusterInfo,
  infos: readonly ClusterInfo[],
  notebookOf: NotebookOf,
  own = targetOf(info, notebookOf)
): ClusterTarget {
  return newestFor(infos, own, notebookOf)?.cluster === info.cluster
    ? own
    : pinnedTarget(info, infos, notebookOf, own);
}

/** The target that stays with a cluster whatever else its notebook starts; with the next run, if that has its name. */
export function pinnedTarget(
  info: ClusterInfo,
  infos: readonly ClusterInfo[],
  notebookOf: NotebookOf,
  own = targetOf(info, notebookOf)
): ClusterTarget {
  const named = { ...own, name: info.name };
  return newestFor(infos, named, notebookOf)?.cluster === info.cluster
    ? named
    : { ...named, cluster: info.cluster };
}

/** Equal targets have equal keys; also the key of the saved selection. */
export function targetKey(target: ClusterTarget): string {
  const { notebook = null, name = null, cluster } = target;
  return JSON.stringify(
    cluster === undefined ? [notebook, name] : [notebook, name, cluster]
  );
}

function isOpen(target: ClusterTarget): boolean {
  return target.notebook === undefined && target.name === undefined;
}

export function belongsTo(
  info: ClusterInfo,
  target: ClusterTarget,
  notebookOf: NotebookOf
): boolean {
  return useOf(info, target, notebookOf) !== null;
}

/**
 * The cluster that a target means: the only one that it names; else of those that its notebook is connected to the one that it joined last;
 * else the one that it used last: what is shown when it ends stays, also if another one was joined later and ended before.
 */
function newestFor(
  infos: readonly ClusterInfo[],
  target: ClusterTarget,
  notebookOf: NotebookOf
): ClusterInfo | null {
  const only = infos.find(info => info.cluster === target.cluster);
  if (only !== undefined) {
    return only;
  }
  if (target.notebook === undefined) {
    return newestOf(infos.filter(info => belongsTo(info, target, notebookOf)));
  }
  const uses = infos.flatMap(info => {
    const use = useOf(info, target, notebookOf);
    return use === null ? [] : [{ info, use }];
  });
  return usedLast(uses);
}

/** Of those that are used until now, or were used last, the one that began last. */
function usedLast(
  uses: readonly {
    readonly info: ClusterInfo;
    readonly use: Pick<NotebookUse, 'since' | 'until'>;
  }[]
): ClusterInfo | null {
  const latest = Math.max(...uses.map(({ use }) => use.until));
  const [last] = uses
    .filter(
      ({ use }) => use.until === latest || use.until > latest - TOGETHER_SECONDS
    )
    .sort((a, b) => b.use.since - a.use.since);
  return last?.info ?? null;
}

/** How the target uses the cluster; null: it is not the target's. */
function useOf(
  info: ClusterInfo,
  { notebook, name }: ClusterTarget,
  notebookOf: NotebookOf
): Omit<NotebookUse, 'path'> | null {
  if (name !== undefined && info.name !== name) {
    return null;
  }
  return notebook === undefined
    ? timesOf(info, info.startedAt)
    : (notebooksOf(info, notebookOf).find(({ path }) => path === notebook) ??
        null);
}

/**
 * The newest that has not ended; if all have, the newest of those that ended last. A cluster that was turned away only if there is no other.
 */
export function newestOf(infos: readonly ClusterInfo[]): ClusterInfo | null {
  const uses = infos
    .filter(info => info.cluster !== REFUSED_CLUSTER)
    .map(info => ({ info, use: timesOf(info, info.startedAt) }));
  return usedLast(uses) ?? infos[0] ?? null;
}
