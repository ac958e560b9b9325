/** Which run a first one is compared with, unless the user chooses one. */
import { type ISignal, Signal } from '@lumino/signaling';
import { ClusterRef } from '../../feed/cluster-ref';
import { Disposing } from '../../feed/disposing';
import type {
  ClusterInfo,
  Filter,
  FineMetricsResult
} from '../../wire/panel-link';
import type { PanelContext } from '../panel-context';
import { RunWatch, runsOf } from './model';

/** Each is asked once, and the observer goes through all that it holds of it. */
const MOST_ASKED = 8;

/** Runs that have run tasks, other than the first, newest first. */
export function otherRuns(
  clusters: readonly ClusterInfo[],
  first: ClusterInfo
): readonly ClusterInfo[] {
  return runsOf(clusters).filter(
    ({ cluster, tasks }) => cluster !== first.cluster && tasks > 0
  );
}

/**
 * Of runs of the same notebook or program the last that began before the first run; if none did, the newest.
 *
 * @param runs - newest first.
 */
export function previousRun(
  runs: readonly ClusterInfo[],
  first: ClusterInfo
): ClusterInfo | null {
  const own = runs.filter(run => isOfSameProgram(run, first));
  return (
    own.find(({ startedAt }) => startedAt < first.startedAt) ?? own[0] ?? null
  );
}

/** Clusters of notebooks are told apart by these: folders may have notebooks of one name. Others are called after their programs. */
function isOfSameProgram(a: ClusterInfo, b: ClusterInfo): boolean {
  const [ofA, ofB] = [notebooksOf(a), notebooksOf(b)];
  return ofA.size > 0 && ofB.size > 0
    ? haveCommon(ofA, ofB)
    : a.name === b.name || haveCommon(programsOf(a), programsOf(b));
}

/** By their paths; by their kernels before these are known. */
function notebooksOf(info: ClusterInfo): ReadonlySet<string> {
  return new Set(
    [info, ...info.clients].flatMap(({ notebook }) =>
      [notebook?.path, notebook?.kernelId].filter(id => id !== undefined)
    )
  );
}

function programsOf({ clients }: ClusterInfo): ReadonlySet<string> {
  return new Set(clients.map(({ name }) => name));
}

function haveCommon(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return [...a].some(one => b.has(one));
}

/** Asks the newest runs for their functions, to find that which is most like the first. */
export class RunSearch extends Disposing {
  private readonly _asked: readonly {
    readonly run: ClusterInfo;
    readonly cluster: ClusterRef;
    readonly watch: RunWatch;
  }[];
  private readonly _changed = new Signal<this, void>(this);

  /** @param runs - newest first. */
  constructor(
    context: PanelContext,
    runs: readonly ClusterInfo[],
    filter: () => Filter
  ) {
    super();
    this._asked = runs.slice(0, MOST_ASKED).map(run => {
      const { cluster: id, name } = run;
      const cluster = new ClusterRef({
        feed: context.feed,
        target: { cluster: id, name },
        notebookOf: () => undefined
      });
      const watch = new RunWatch(
        { ...context, cluster },
        ['fine-metrics'],
        filter
      );
      watch.changed.connect(() => this._changed.emit());
      return { run, cluster, watch };
    });
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  start(): void {
    this._asked.forEach(({ watch }) => watch.start());
  }

  stop(): void {
    this._asked.forEach(({ watch }) => watch.stop());
  }

  /**
   * The run whose functions are most like those of the first; the newest of several, or if none has any of these. Null: not all have
   * answered.
   */
  found(first: FineMetricsResult): ClusterInfo | null {
    const own = functionsOf(first);
    const answers = this._asked.map(({ run, watch }) => ({
      run,
      metrics: watch.result('fine-metrics'),
      failure: watch.failure
    }));
    if (
      answers.some(
        ({ metrics, failure }) => metrics === null && failure === null
      )
    ) {
      return null;
    }
    const byLikeness = answers
      .map(({ run, metrics }) => ({ run, like: likeness(own, metrics) }))
      .sort((a, b) => b.like - a.like);
    return byLikeness[0]?.run ?? null;
  }

  protected override end(): void {
    for (const { cluster, watch } of this._asked) {
      watch.dispose();
      cluster.dispose();
    }
    Signal.clearData(this);
  }
}

function functionsOf({ byFunction }: FineMetricsResult): ReadonlySet<string> {
  return new Set(byFunction.map(row => row.function));
}

/** Of the functions that one of the two has, the share that both have. */
function likeness(
  own: ReadonlySet<string>,
  metrics: FineMetricsResult | null
): number {
  if (metrics === null) {
    return 0;
  }
  const others = functionsOf(metrics);
  const common = [...own].filter(name => others.has(name)).length;
  return common === 0 ? 0 : common / (own.size + others.size - common);
}
