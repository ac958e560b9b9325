/**
 * What panels and the sidebar may ask of the feed. Runs in the browser; the feed behind it is `feed.ts`, tests pass a fake.
 */
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import type { Milliseconds } from '../base/brand';
import type {
  ClusterInfo,
  Filter,
  RunDetail,
  Snapshot,
  TileColumns,
  TileHeader,
  TimeRange,
  ViewName
} from '../wire/panel-link';

/** The state of the page's one link to the observer; panels show every state but `open`. */
export type LinkStatus =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** `since`: wall clock milliseconds at which the link broke; the pause before the next attempt grows. */
  | { readonly kind: 'reconnecting'; readonly since: Milliseconds }
  /** `unreachable`: never connected, though tried for some time; the link goes on trying. */
  | {
      readonly kind:
        | 'no-observer'
        | 'no-node'
        | 'version'
        | 'refused'
        | 'unreachable';
      readonly sentence: string;
    };

export type WatchSpec = {
  readonly cluster: string;
  readonly view: ViewName;
  readonly filter: Filter;
  readonly time: TimeRange;
  readonly params: Readonly<Record<string, unknown>>;
  /** The most answers a second; 4 if left out. */
  readonly maxHz?: number;
  /** `clusters` tell of each how many functions it has in common with this one. */
  readonly sharedFunctions?: boolean;
};

export type WatchChange = Partial<
  Pick<WatchSpec, 'filter' | 'time' | 'params'>
>;

/** One tile of the task stream, as the page keeps it. */
export type TileData = TileHeader & TileColumns;

/**
 * Which rows tiles have: workers in the order of their numbers, `groupSize` in a group; the lanes of one group, or (null) a row for each
 * group, whose number is the `laneIndex`. Left out: all lanes.
 */
export type TileRows = {
  readonly groupSize: number;
  readonly group: number | null;
};

/** A running watch. Its owner disposes it when it is hidden; disposing twice is safe. */
export interface IWatch extends IDisposable {
  /** The newest answer, null before the first. */
  readonly snapshot: Snapshot | null;
  /** A sentence when the observer could not answer; null again with the next snapshot, or if only tiles failed, with the next tile. */
  readonly failure: string | null;
  /** The last question has no answer yet. One to an earlier question, still on its way, is none. */
  readonly isAsking: boolean;
  /** New filter, time or params; what is left out stays. */
  change(change: WatchChange): void;
  /** A tile that is here, settled or not; null if it must be asked for. */
  tile(level: number, index: number, rows?: TileRows): TileData | null;
  /** Whether it has all that an answer has; the newest if none is named. */
  isFresh(tile: TileData, answer?: Snapshot | null): boolean;
  /** Ask for tiles; those here and settled, newest already, or on their way are left out. Requests of one turn are joined. */
  requestTiles(
    level: number,
    first: number,
    count: number,
    rows?: TileRows
  ): void;
  /** A tile of this watch arrived. */
  readonly tileArrived: ISignal<IWatch, TileData>;
}

export interface IFeed extends IDisposable {
  readonly clusters: readonly ClusterInfo[];
  readonly clustersChanged: ISignal<IFeed, readonly ClusterInfo[]>;
  readonly status: LinkStatus;
  readonly statusChanged: ISignal<IFeed, LinkStatus>;
  /** Starts a watch. `listener` is called after each snapshot or failure. */
  watch(spec: WatchSpec, listener: (watch: IWatch) => void): IWatch;
  /** One run with all details; null if the observer no longer has it. Rejects after 10 s or when the link breaks. */
  detail(cluster: string, run: number): Promise<RunDetail | null>;
  /** Connect for the first time, or now instead of after the pause. The first watch does it too: an unused extension opens nothing. */
  reconnect(): void;
}
