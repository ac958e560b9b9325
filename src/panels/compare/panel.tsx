/** Compare as a panel: two runs, of one cluster or of two, in one table. The first is that of the panel, the second is chosen in it. */
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

/** The second run: by its id, and by its name when the page knows the id no more. */
type Chosen = { readonly cluster: string; readonly name: string };

/** Those of the second run; the panel's own watch has the first of the first run. */
const VIEWS: readonly ViewName[] = ['fine-metrics', 'spans', 'memory'];

export class ComparePanel extends SpanwisePanel<FineMetricsResult> {
  private _by: By;
  private _figure: Figure;
  /** By the user; null: a run is proposed. */
  private _chosen: Chosen | null;
  /** The id of the first run that the second was proposed to. */
  private _proposedTo: string | null = null;
  private _first: RunWatch | null = null;
  private _second: RunWatch | null = null;
  /** Of the second run, which has the filter of the first: no other panel needs it. */
  private _secondRun: ClusterRef | null = null;
  private _isWatching = false;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    const { by, figure, second } = options.state ?? {};
    this._by = BY.find(known => known === by) ?? 'function';
    this._figure = FIGURES.find(known => known === figure) ?? 'thread';
    this._chosen = readChosen(second);
    this.context.feed.clustersChanged.connect(this._choose, this);
    this._choose();
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.context.feed.clustersChanged.disconnect(this._choose, this);
    this._endWatches();
    this._secondRun?.dispose();
    super.dispose();
  }

  override savedState(): JSONObject {
    return {
      ...super.savedState(),
      by: this._by,
      figure: this._figure,
      second: this._chosen === null ? null : { ...this._chosen }
    };
  }

  // It has two clusters, which are chosen in it.
  override get canBePinned(): boolean {
    return false;
  }

  override get clusters(): readonly (ClusterInfo | null)[] {
    const [first, second] = this._runs();
    return second === null ? [first] : [first, second];
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
    const first = snapshot.honoured;
    const second = this._second?.honoured('fine-metrics') ?? null;
    const [firstName, secondName] = this._sides().map(({ name }) => name);
    const ofRun = (honoured: Snapshot['honoured'], name: string) =>
      honoured.why === undefined || first.why === second?.why
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
      ofRun(first, firstName!),
      ...(second === null ? [] : [ofRun(second, secondName!)])
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
    // The chips, of which both runs have the filter, are those of the new first run.
    this._endWatches();
    this._choose();
    this._watchBoth();
  }

  protected override onWatching(isOn: boolean): void {
    this._isWatching = isOn;
    this._watchBoth();
  }

  protected override ownState(): PanelState | null {
    return this._secondRun !== null
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
    const [cluster, second] = this._runs();
    return (
      <>
        <RunSelect
          label={trans.__('First run')}
          chosen={cluster}
          runs={runsOf(this.context.feed.clusters)}
          text={run => this._runText(run)}
          onChoose={run => this.turnTo(this.context.of(run, 'run'))}
        />
        <span className="sw-toolbar-note">{trans.__('with')}</span>
        <RunSelect
          label={trans.__('Second run')}
          chosen={second}
          runs={runsOf(this.context.feed.clusters)}
          text={run => this._runText(run)}
          onChoose={run => this._take(run)}
        />
        <ToolButton
          label={trans.__('Swap')}
          text={trans.__('Swap')}
          disabledBecause={
            second === null ? trans.__('there is no second run yet') : undefined
          }
          onClick={() => {
            if (cluster !== null && second !== null) {
              this._take(cluster);
              this.turnTo(this.context.of(second, 'run'));
            }
          }}
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
        failure={this._second?.failure ?? this._first?.failure ?? null}
        controls={this._controls()}
        trans={this.trans}
      />
    );
  }

  protected tableData(): TableData {
    return tableOf(this._sides(), this._isFiltered, this.trans);
  }

  /** The answer of the panel is of the first run alone. */
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

  private _runs(): readonly [ClusterInfo | null, ClusterInfo | null] {
    return [this.cluster, this._secondRun?.current ?? null];
  }

  private _sides(): Sides {
    const [first, second] = this._runs();
    const isOfOneName = first?.name === second?.name;
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
    return [
      side(first, this._first, this.result),
      side(second, this._second, this._second?.result('fine-metrics') ?? null)
    ];
  }

  private _runText(run: ClusterInfo): string {
    return this.trans.__(
      '%1 · %2',
      run.name,
      formatClock(run.startedAt, Date.now() / 1000)
    );
  }

  /** The second run is the chosen one; else the last of its name; else, until one is chosen, what is proposed to the first run. */
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
    const second = this._secondRun?.current?.cluster;
    if (run !== null && run.cluster !== second) {
      this._compareWith(run);
    } else if (
      run === null &&
      chosen === null &&
      second !== undefined &&
      second === this.cluster?.cluster
    ) {
      // What was proposed is the first run now, and nothing else can be.
      this._compareWith(null);
    }
  }

  private _proposed(): ClusterInfo | null {
    const { feed, cluster } = this.context;
    const first = cluster.current;
    if (first === null) {
      return null;
    }
    const last =
      this._proposedTo === first.cluster
        ? (this._secondRun?.current ?? null)
        : null;
    this._proposedTo = first.cluster;
    return proposedRun(feed.clusters, first, last, cluster.notebookOf);
  }

  private _take({ cluster, name }: ClusterInfo): void {
    this._chosen = { cluster, name };
    this._compareWith(this._chosen);
  }

  private _compareWith(run: Chosen | null): void {
    this._second?.dispose();
    this._second = null;
    this._secondRun?.dispose();
    this._secondRun = null;
    if (run !== null) {
      this._secondRun = new ClusterRef({
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
      this._first?.stop();
      this._second?.stop();
      return;
    }
    this._first ??= this._newWatch(this.context.cluster, VIEWS.slice(1));
    this._first.start();
    if (this._secondRun !== null) {
      this._second ??= this._newWatch(this._secondRun, VIEWS);
      this._second.start();
    }
  }

  private _endWatches(): void {
    this._first?.dispose();
    this._first = null;
    this._second?.dispose();
    this._second = null;
  }

  /** Of the filter of the first run, whose chips the panel shows. */
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
