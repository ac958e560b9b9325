/** What is asked of the two runs, and which two they are. */
import { type ISignal, Signal } from '@lumino/signaling';
import { Disposing } from '../../feed/disposing';
import {
  REFUSED_CLUSTER,
  type ClusterInfo,
  type Filter,
  type Snapshot,
  type SpanTerm,
  type ViewName,
  type ViewResult
} from '../../wire/panel-link';
import type { PanelContext } from '../panel-context';
import { PanelWatch } from '../panel-watch';

/** The most functions that an answer may have: names are matched with those of another run. */
export const METRICS_PARAMS = {
  unit: 'seconds',
  top: 500,
  entries: true
} as const;
const PARAMS: Partial<Record<ViewName, Readonly<Record<string, unknown>>>> = {
  'fine-metrics': METRICS_PARAMS,
  memory: { measure: 'process', show: 'cluster' }
};

/** The views of one run, watched while the panel is shown. */
export class RunWatch extends Disposing {
  private readonly _watches: ReadonlyMap<ViewName, PanelWatch>;
  private readonly _changed = new Signal<this, void>(this);

  /**
   * @param asked - the filter of both runs.
   * @param narrowed - to what of the run its fine metrics are.
   * @param isOwn - others are compared with it.
   */
  constructor(
    readonly context: PanelContext,
    views: readonly ViewName[],
    asked: () => Filter,
    narrowed: (filter: Filter) => Filter,
    isOwn: boolean
  ) {
    super();
    this._watches = new Map(
      views.map(view => [
        view,
        new PanelWatch({
          context,
          view,
          params: () => PARAMS[view] ?? {},
          asked: () => ({ filter: asked(), time: 'all' }),
          ...(view === 'fine-metrics' && { narrowed }),
          ...(isOwn && view === 'spans' && { sharedFunctions: true }),
          maxHz: 1
        })
      ])
    );
    for (const watch of this._watches.values()) {
      watch.changed.connect(() => this._changed.emit());
    }
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  result<V extends ViewName>(view: V): Extract<ViewResult, { view: V }> | null {
    const result = this._watches.get(view)?.snapshot?.result;
    return result?.view === view
      ? (result as Extract<ViewResult, { view: V }>)
      : null;
  }

  /** How far a view honours the filter; null: it is not answered. */
  honoured(view: ViewName): Honoured | null {
    return this._watches.get(view)?.snapshot?.honoured ?? null;
  }

  /** What a view was last answered to. */
  answeredTo(view: ViewName): Filter {
    return this._watches.get(view)?.answered.filter ?? {};
  }

  /** What it is narrowed to changed. */
  askAgain(): void {
    this._watches.get('fine-metrics')?.askAgain();
  }

  /** Why one of the questions is not answered; null: all are, or will be. */
  get failure(): string | null {
    return (
      [...this._watches.values()].find(({ failure }) => failure !== null)
        ?.failure ?? null
    );
  }

  /** Goes on from the answers of another one, as far as it is of the same run. */
  takeOver(last: RunWatch): void {
    for (const [view, watch] of this._watches) {
      const lastWatch = last._watches.get(view);
      if (lastWatch !== undefined) {
        watch.takeOver(lastWatch);
      }
    }
  }

  start(): void {
    for (const watch of this._watches.values()) {
      watch.start();
    }
  }

  stop(): void {
    for (const watch of this._watches.values()) {
      watch.stop();
    }
  }

  protected override end(): void {
    for (const watch of this._watches.values()) {
      watch.dispose();
    }
    Signal.clearData(this);
  }
}

type Honoured = Snapshot['honoured'];

const LEAST_EXACT_FIRST: readonly Honoured['how'][] = [
  'not known',
  'not filtered',
  'approximate'
];

/** As exact as the least exact one, for the reasons of all. */
export function leastExact(all: readonly Honoured[]): Honoured {
  const how = LEAST_EXACT_FIRST.find(word => all.some(one => one.how === word));
  const whys = [...new Set(all.flatMap(({ why }) => why ?? []))];
  return {
    how: how ?? 'exact',
    ...(whys.length > 0 && { why: whys.join(' ') })
  };
}

/**
 * What of a filter two runs can share: spans by their tags, and functions. Paths begin with the notebook and the cell where these are known;
 * passes, workers, times and clients are of one cluster.
 */
export function commonFilter(filter: Filter): Filter {
  const { spans, functions, notFunctions } = filter;
  const tags = (terms: readonly SpanTerm[] | undefined) =>
    (terms ?? []).flatMap(term => {
      const tag =
        'tag' in term
          ? term.tag
          : term.id === undefined
            ? term.path.at(-1)
            : undefined;
      return tag === undefined ? [] : [{ tag }];
    });
  const byTag = Object.fromEntries(
    (['any', 'all', 'not'] as const)
      .map(match => [match, tags(spans?.[match])] as const)
      .filter(([, terms]) => terms.length > 0)
  );
  return {
    ...(Object.keys(byTag).length > 0 && { spans: byTag }),
    ...(functions && functions.length > 0 && { functions }),
    ...(notFunctions && notFunctions.length > 0 && { notFunctions })
  };
}

/** Runs to choose from, newest first. */
export function runsOf(
  clusters: readonly ClusterInfo[]
): readonly ClusterInfo[] {
  return clusters
    .filter(({ cluster }) => cluster !== REFUSED_CLUSTER)
    .sort((a, b) => b.startedAt - a.startedAt);
}
