/**
 * Compare as a panel: two runs, of one cluster or of two, in one table. The own run is that of the panel, the other is proposed or chosen in it.
 * The older one stands first, so that a change is read from before to after, unless the user says otherwise.
 */
import type { JSONObject } from '@lumino/coreutils';
import * as React from 'react';
import { ClusterRef } from '../../feed/cluster-ref';
import type { SelectionModel } from '../../feed/selection';
import type {
  ClusterInfo,
  FineMetricsResult,
  Snapshot,
  ViewName
} from '../../wire/panel-link';
import { formatClock, type TableData } from '../format';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { PanelState } from '../state-view';
import { RadioGroup, ToolButton, ToolSelect } from '../toolbar';
import {
  commonFilter,
  leastExact,
  METRICS_PARAMS,
  RunWatch,
  runsOf
} from './model';
import { proposedRun } from './other-run';
import {
  BY,
  type By,
  byWord,
  type Figure,
  FIGURES,
  FIGURES_BY,
  figureWord,
  headline,
  type Side,
  type Sides,
  tableOf
} from './rows';
import { CompareView } from './view';

/** The other run: by its id, and by its name when the page knows the id no more. */
type Chosen = { readonly cluster: string; readonly name: string };

/** Those of the other run; the panel's own watch has the first of its own run. */
const VIEWS: readonly ViewName[] = ['fine-metrics', 'spans', 'memory'];

export class ComparePanel extends SpanwisePanel<FineMetricsResult> {
  private _by: By;
  private _figure: Figure;
  /** By the user; null: a run is proposed. */
  private _chosen: Chosen | null;
  /** Whether the own run stands first, by the user; null: if it is the older one. */
  private _isOwnFirst: boolean | null;
  /** The id of the own run that the other was proposed to. */
  private _proposedTo: string | null = null;
  private _ownWatch: RunWatch | null = null;
  private _otherWatch: RunWatch | null = null;
  /** Of the other run, which has the filter of the own: no other panel needs it. */
  private _otherRun: ClusterRef | null = null;
  private _isWatching = false;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    // (a layout of before has the other run as the second)
    const { by, figure, second, other, isOwnFirst } = options.state ?? {};
    this._by = BY.find(known => known === by) ?? 'function';
    this._figure = FIGURES.find(known => known === figure) ?? 'thread';
    this._chosen = readChosen(other ?? second);
    this._isOwnFirst =
      typeof isOwnFirst === 'boolean'
        ? isOwnFirst
        : this._chosen !== null && other === undefined
          ? true
          : null;
    this.context.feed.clustersChanged.connect(this._choose, this);
    this._choose();
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.context.feed.clustersChanged.disconnect(this._choose, this);
    this._endWatches();
    this._otherRun?.dispose();
    super.dispose();
  }

  override savedState(): JSONObject {
    return {
      ...super.savedState(),
      by: this._by,
      figure: this._figure,
      other: this._chosen === null ? null : { ...this._chosen },
      ...(this._isOwnFirst !== null && { isOwnFirst: this._isOwnFirst })
    };
  }

  // It has two clusters, which are chosen in it.
  override get canBePinned(): boolean {
    return false;
  }

  override get clusters(): readonly (ClusterInfo | null)[] {
    const [own, other] = this._ownAndOther();
    return other === null ? [own] : this._runs();
  }

  protected get view() {
    return 'fine-metrics' as const;
  }

  protected override params() {
    return METRICS_PARAMS;
  }

  protected override get maxHz(): number {
    return 1;
  }

  protected override asked({ filter }: SelectionModel) {
    return { filter: commonFilter(filter), time: 'all' } as const;
  }

  protected override honoured(snapshot: Snapshot): Snapshot['honoured'] {
    const { filter, time } = this.context.selection;
    const asked = commonFilter(filter);
    const isShared =
      time === 'all' && JSON.stringify(asked) === JSON.stringify(filter);
    const own = snapshot.honoured;
    const other = this._otherWatch?.honoured('fine-metrics') ?? null;
    const [ownName, otherName] = this._ordered(this._sides()).map(
      ({ name }) => name
    );
    const ofRun = (honoured: Snapshot['honoured'], name: string) =>
      honoured.why === undefined || own.why === other?.why
        ? honoured
        : { ...honoured, why: this.trans.__('%1: %2', name, honoured.why) };
    return leastExact([
      ...(isShared
        ? []
        : [
            {
              how: 'approximate' as const,
              why: this.trans.__(
                'Both runs are filtered by functions and by the tags of spans: paths, workers and times of one are none of the other.'
              )
            }
          ]),
      ...this._ordered([
        [ofRun(own, ownName!)],
        other === null ? [] : [ofRun(other, otherName!)]
      ]).flat()
    ]);
  }

  protected override get clusterName(): string | undefined {
    const [first, second] = this._runs();
    return first === null || second === null
      ? super.clusterName
      : first.name === second.name
        ? this.trans.__('%1, %2', this._runText(first), this._runText(second))
        : this.trans.__('%1, %2', first.name, second.name);
  }

  protected override onTurned(): void {
    // The chips, of which both runs have the filter, are those of the new own run.
    this._endWatches();
    this._choose();
    this._watchBoth();
  }

  protected override onWatching(isOn: boolean): void {
    this._isWatching = isOn;
    this._watchBoth();
  }

  protected override ownState(): PanelState | null {
    return this._otherRun !== null
      ? null
      : {
          icon: this.face.icon,
          title: this.trans.__('There is no other run to compare with.'),
          sentence: this.trans.__(
            'Run the same work on another cluster, or once more: runs can be chosen here as long as the page knows them.'
          )
        };
  }

  protected override liveLine(): string {
    return headline(this._sides(), this._isFiltered, this.trans);
  }

  protected override renderTools(): React.ReactNode {
    const { trans } = this;
    const [first, second] = this._runs();
    return (
      <>
        <RunSelect
          label={trans.__('First run')}
          chosen={first}
          runs={runsOf(this.context.feed.clusters)}
          text={run => this._runText(run)}
          onChoose={run => this._put(run, 0)}
        />
        <span className="sw-toolbar-note">{trans.__('with')}</span>
        <RunSelect
          label={trans.__('Second run')}
          chosen={second}
          runs={runsOf(this.context.feed.clusters)}
          text={run => this._runText(run)}
          onChoose={run => this._put(run, 1)}
        />
        <ToolButton
          label={trans.__('Swap')}
          text={trans.__('Swap')}
          disabledBecause={
            this._ownAndOther().includes(null)
              ? trans.__('there is no second run yet')
              : undefined
          }
          onClick={() => this._swap()}
        />
      </>
    );
  }

  protected renderChart(): React.ReactNode {
    return (
      <CompareView
        sides={this._sides()}
        by={this._by}
        figure={this._shownFigure}
        isFiltered={this._isFiltered}
        failure={this._otherWatch?.failure ?? this._ownWatch?.failure ?? null}
        controls={this._controls()}
        trans={this.trans}
      />
    );
  }

  protected tableData(): TableData {
    return tableOf(this._sides(), this._isFiltered, this.trans);
  }

  /** The answer of the panel is of its own run alone. */
  protected override exported(): unknown {
    return this._sides();
  }

  private _controls(): React.ReactNode {
    const { trans } = this;
    const figures = FIGURES_BY[this._by];
    return (
      <>
        {figures.length > 1 && (
          <ToolSelect<Figure>
            label={trans.__('Figure')}
            value={this._shownFigure}
            options={figures.map(figure => ({
              value: figure,
              label: figureWord(figure, this._by, trans)
            }))}
            onChange={figure => this._show(this._by, figure)}
          />
        )}
        <RadioGroup<By>
          label={trans.__('Compare by')}
          value={this._by}
          options={BY.map(by => ({ value: by, label: byWord(by, trans) }))}
          onChange={by => this._show(by, this._figure)}
        />
      </>
    );
  }

  private get _isFiltered(): boolean {
    return Object.keys(commonFilter(this.context.selection.filter)).length > 0;
  }

  /** Not all figures are there by everything. */
  private get _shownFigure(): Figure {
    return FIGURES_BY[this._by].includes(this._figure)
      ? this._figure
      : 'thread';
  }

  private _show(by: By, figure: Figure): void {
    this._by = by;
    this._figure = figure;
    this.stateHasChanged();
    this.update();
  }

  private _ownAndOther(): readonly [ClusterInfo | null, ClusterInfo | null] {
    return [this.cluster, this._otherRun?.current ?? null];
  }

  private get _standsFirst(): boolean {
    const [own, other] = this._ownAndOther();
    return (
      this._isOwnFirst ??
      (own === null || other === null || own.startedAt <= other.startedAt)
    );
  }

  /** From own and other to first and second, or back. */
  private _ordered<T>([a, b]: readonly [T, T]): readonly [T, T] {
    return this._standsFirst ? [a, b] : [b, a];
  }

  /** The first and the second. */
  private _runs(): readonly [ClusterInfo | null, ClusterInfo | null] {
    return this._ordered(this._ownAndOther());
  }

  private _sides(): Sides {
    const [own, other] = this._ownAndOther();
    const isOfOneName = own?.name === other?.name;
    const side = (
      run: ClusterInfo | null,
      watch: RunWatch | null,
      metrics: FineMetricsResult | null
    ): Side => ({
      name: run === null ? '' : isOfOneName ? this._runText(run) : run.name,
      kind: run?.kind ?? 'embedded',
      metrics,
      spans: watch?.result('spans') ?? null,
      memory: watch?.result('memory') ?? null
    });
    return this._ordered([
      side(own, this._ownWatch, this.result),
      side(
        other,
        this._otherWatch,
        this._otherWatch?.result('fine-metrics') ?? null
      )
    ]);
  }

  private _runText(run: ClusterInfo): string {
    return this.trans.__(
      '%1 · %2',
      run.name,
      formatClock(run.startedAt, Date.now() / 1000)
    );
  }

  /** The other run is the chosen one; else the last of its name; else, until one is chosen, what is proposed to the own run. */
  private _choose(): void {
    const runs = runsOf(this.context.feed.clusters);
    const chosen = this._chosen;
    const run =
      runs.find(({ cluster }) => cluster === chosen?.cluster) ??
      runs.find(
        ({ cluster, name }) =>
          name === chosen?.name && cluster !== this.cluster?.cluster
      ) ??
      (chosen === null ? this._proposed() : null);
    const other = this._otherRun?.current?.cluster;
    if (run !== null && run.cluster !== other) {
      this._compareWith(run);
    } else if (
      run === null &&
      chosen === null &&
      other !== undefined &&
      other === this.cluster?.cluster
    ) {
      // What was proposed is the own run now, and nothing else can be.
      this._compareWith(null);
    }
  }

  private _proposed(): ClusterInfo | null {
    const { feed, cluster } = this.context;
    const own = cluster.current;
    if (own === null) {
      return null;
    }
    const last =
      this._proposedTo === own.cluster
        ? (this._otherRun?.current ?? null)
        : null;
    this._proposedTo = own.cluster;
    return proposedRun(
      feed.clusters,
      own,
      last,
      cluster.notebookOf,
      this._isOwnFirst === true
    );
  }

  /** The user has chosen a run for a place: from now on the places stay. */
  private _put(run: ClusterInfo, place: 0 | 1): void {
    const isFirst = this._standsFirst;
    this._isOwnFirst = isFirst;
    if (isFirst === (place === 0)) {
      this.turnTo(this.context.of(run, 'run'));
    } else {
      this._take(run);
    }
  }

  private _swap(): void {
    const [own, other] = this._ownAndOther();
    if (own !== null && other !== null) {
      this._isOwnFirst = !this._standsFirst;
      this._chosen = { cluster: other.cluster, name: other.name };
      this.stateHasChanged();
      this.retitle();
    }
  }

  private _take({ cluster, name }: ClusterInfo): void {
    this._chosen = { cluster, name };
    this._compareWith(this._chosen);
  }

  private _compareWith(run: Chosen | null): void {
    this._otherWatch?.dispose();
    this._otherWatch = null;
    this._otherRun?.dispose();
    this._otherRun = null;
    if (run !== null) {
      this._otherRun = new ClusterRef({
        feed: this.context.feed,
        target: { cluster: run.cluster, name: run.name },
        notebookOf: () => undefined
      });
    }
    this._watchBoth();
    this.retitle();
    // Also of a proposal: who lists what panels show hears of it.
    this.stateHasChanged();
  }

  private _watchBoth(): void {
    if (!this._isWatching) {
      this._ownWatch?.stop();
      this._otherWatch?.stop();
      return;
    }
    this._ownWatch ??= this._newWatch(this.context.cluster, VIEWS.slice(1));
    this._ownWatch.start();
    if (this._otherRun !== null) {
      this._otherWatch ??= this._newWatch(this._otherRun, VIEWS);
      this._otherWatch.start();
    }
  }

  private _endWatches(): void {
    this._ownWatch?.dispose();
    this._ownWatch = null;
    this._otherWatch?.dispose();
    this._otherWatch = null;
  }

  /** Of the filter of the own run, whose chips the panel shows. */
  private _newWatch(cluster: ClusterRef, views: readonly ViewName[]): RunWatch {
    const { selection } = this.context;
    const watch = new RunWatch({ ...this.context, cluster }, views, () =>
      commonFilter(selection.filter)
    );
    watch.changed.connect(this.update, this);
    return watch;
  }
}

function RunSelect(props: {
  readonly label: string;
  readonly chosen: ClusterInfo | null;
  readonly runs: readonly ClusterInfo[];
  text(run: ClusterInfo): string;
  onChoose(run: ClusterInfo): void;
}): JSX.Element | null {
  const { chosen, runs, text } = props;
  // One that the page was told of and is listed no more stays chosen.
  const listed =
    chosen === null || runs.some(({ cluster }) => cluster === chosen.cluster)
      ? runs
      : [chosen, ...runs];
  return (
    <ToolSelect<string>
      label={props.label}
      className="sw-Compare-run"
      value={chosen?.cluster ?? ''}
      options={[
        ...(chosen === null ? [{ value: '', label: '' }] : []),
        ...listed.map(run => ({ value: run.cluster, label: text(run) }))
      ]}
      onChange={id => {
        const run = listed.find(({ cluster }) => cluster === id);
        if (run !== undefined) {
          props.onChoose(run);
        }
      }}
    />
  );
}

function readChosen(value: unknown): Chosen | null {
  const { cluster, name } = (value ?? {}) as Partial<Chosen>;
  return typeof cluster === 'string' && typeof name === 'string'
    ? { cluster, name }
    : null;
}
