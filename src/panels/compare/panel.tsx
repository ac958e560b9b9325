/**
 * Compare as a panel: two runs, of one cluster or of two, or two passes of a cell, in one table. The own run is that of the panel, the other is
 * proposed or chosen in it. The older one stands first, so that a change is read from before to after, unless the user says otherwise.
 */
import { filterIcon } from '@jupyterlab/ui-components';
import type { JSONObject, JSONValue } from '@lumino/coreutils';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import { ClusterRef } from '../../feed/cluster-ref';
import { conditionsOf, type SelectionModel } from '../../feed/selection';
import type {
  ClusterInfo,
  Filter,
  FineMetricsResult,
  Snapshot,
  SpanRow,
  ViewName
} from '../../wire/panel-link';
import { conditionText } from '../chip-row';
import { formatClock, type TableData } from '../format';
import { pinIcon } from '../icons';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { PanelState } from '../state-view';
import { tookSeconds } from '../passes';
import { RadioGroup, ToolButton, ToolSelect } from '../toolbar';
import {
  type ChosenPass,
  isWithin,
  listedName,
  namesOfBoth,
  namesPass,
  passesToChoose,
  proposedPasses,
  readPass,
  renewed,
  rowsOfPass,
  shortName,
  withinPass,
  withoutPasses
} from './chosen-pass';
import {
  commonFilter,
  leastExact,
  METRICS_PARAMS,
  RunWatch,
  runsOf
} from './model';
import { areAlike, proposedRun } from './other-run';
import {
  areEmpty,
  BY,
  type By,
  byWord,
  type Figure,
  FIGURES,
  FIGURES_BY,
  figureWord,
  headline,
  hiddenText,
  type Side,
  type Sides,
  tableOf
} from './rows';
import { SharedFunctions } from './shared-functions';
import { CompareView } from './view';

/** The other run: by its id, and by its name when the page knows the id no more. */
type Chosen = { readonly cluster: string; readonly name: string };

/** Of the own and the other run; null: all of it. */
type PassPair = {
  readonly own: ChosenPass | null;
  readonly other: ChosenPass | null;
};
const WHOLE_RUNS: PassPair = { own: null, other: null };

/** Passes of two runs that were let go: there is no proposal that has them, and they are shown until there is another one. */
type LetGo = {
  readonly own: string;
  readonly other: string;
  readonly passes: PassPair;
  /** The pass that was proposed then, and the one that was picked. */
  readonly newest: string | undefined;
  readonly picked: string | undefined;
};

/** Those of the other run; the panel's own watch has the first of its own run. */
const VIEWS: readonly ViewName[] = ['fine-metrics', 'spans', 'memory'];

/**
 * How long a proposal waits for what runs have in common, which the observer tells at once: without that another run may be nearer, and what was
 * shown first would give way.
 */
const DECISION_MILLISECONDS = 1000;

export class ComparePanel extends SpanwisePanel<FineMetricsResult> {
  private _by: By;
  private _figure: Figure;
  /** By the user; null: a run is proposed. */
  private _chosen: Chosen | null;
  private _passes: PassPair = WHOLE_RUNS;
  /** By the user; else they are proposed anew. */
  private _arePassesChosen: boolean;
  private _letGo: LetGo | null = null;
  /** Whether the own run stands first, by the user; null: if it is the older one. */
  private _isOwnFirst: boolean | null;
  /** The id of the own run that the other was proposed to. */
  private _proposedTo: string | null = null;
  /** The id of the proposed run whose figures were seen, of the own one if passes were: it stays, though another may come to be nearer. */
  private _settledOn: string | null = null;
  /** Before it was told what the two have in common. */
  private _isSettledUntold = false;
  /** The last that was compared and seen. */
  private _seen: {
    readonly run: string | undefined;
    readonly passes: readonly (string | undefined)[];
    readonly names: readonly [string, string];
  } | null = null;
  private _pickedBefore: string | undefined;
  /** What was compared before passes of another cell were; null: nothing is to be said of it. */
  private _before: readonly [string, string] | null = null;
  /** What is shown may stay: runs that are not alike give way to what is proposed next, and so do passes of which the user picked one. */
  private _isOfUse = false;
  private _ownWatch: RunWatch | null = null;
  private _otherWatch: RunWatch | null = null;
  /** Of the other run, which has the filter of the own: no other panel needs it. */
  private _otherRun: ClusterRef | null = null;
  private readonly _shared = new SharedFunctions();
  /** The id of the own run that was waited for long enough. */
  private _waitedFor: string | undefined;
  private _decision: ReturnType<typeof setTimeout> | undefined;
  private _wasUndecided = false;
  private _isWatching = false;
  private _selection: SelectionModel | null = null;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    // (a layout of before has the other run as the second)
    const { by, figure, second, other, isOwnFirst, passes } =
      options.state ?? {};
    this._by = BY.find(known => known === by) ?? 'function';
    this._figure = FIGURES.find(known => known === figure) ?? 'thread';
    this._chosen = readChosen(other ?? second);
    this._isOwnFirst =
      typeof isOwnFirst === 'boolean'
        ? isOwnFirst
        : this._chosen !== null && other === undefined
          ? true
          : null;
    this._passes = readPasses(passes) ?? WHOLE_RUNS;
    this._arePassesChosen = readPasses(passes) !== null;
    this.context.feed.clustersChanged.connect(this._choose, this);
    this._followSelection();
    this._choose();
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    clearTimeout(this._decision);
    this.context.feed.clustersChanged.disconnect(this._choose, this);
    this._selection?.changed.disconnect(this._choose, this);
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
      ...(this._isOwnFirst !== null && { isOwnFirst: this._isOwnFirst }),
      ...(this._arePassesChosen && {
        // (of a run that is not listed yet there is none to show)
        passes: {
          own: savedPass(this._pass.own ?? this._passes.own),
          other: savedPass(this._pass.other ?? this._passes.other)
        }
      })
    };
  }

  /** What the user chose in it stays until it is let go. */
  override get turns(): boolean {
    return super.turns && !this._isChosen;
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

  protected override narrowed(filter: Filter): Filter {
    return withinPass(filter, this._pass.own);
  }

  protected override honoured(snapshot: Snapshot): Snapshot['honoured'] {
    const { filter, time } = this.context.selection;
    const asked = commonFilter(filter);
    const { own: ownPass, other: otherPass } = this._pass;
    const areTwoPasses = ownPass !== null && otherPass !== null;
    // (each side is narrowed to its own)
    const without = areTwoPasses ? withoutPasses(filter) : filter;
    const isShared =
      time === 'all' && JSON.stringify(asked) === JSON.stringify(without);
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
      ...(areTwoPasses && namesPass(filter)
        ? [
            {
              how: 'exact' as const,
              why: this.trans.__(
                '%1 and %2 are compared, each alone, whichever pass the filter has.',
                ...this._ordered(this._names())
              )
            }
          ]
        : []),
      ...(isShared
        ? []
        : [this._leftOut(Object.keys(asked).length > 0, areTwoPasses)]),
      ...this._ordered([
        [ofRun(own, ownName!)],
        other === null ? [] : [ofRun(other, otherName!)]
      ]).flat()
    ]);
  }

  /** @param isNarrowed - by what is left of the filter. */
  private _leftOut(
    isNarrowed: boolean,
    areTwoPasses: boolean
  ): Snapshot['honoured'] {
    const { trans } = this;
    return isNarrowed
      ? {
          how: 'approximate',
          why: areTwoPasses
            ? trans.__(
                'Both passes are filtered by functions and by the tags of spans. Paths, workers, times and how tasks ended are left out.'
              )
            : trans.__(
                'Both runs are filtered by functions and by the tags of spans. Paths, passes, workers, times and how tasks ended are left out.'
              )
        }
      : {
          how: 'not filtered',
          why: areTwoPasses
            ? trans.__(
                'Both passes are shown whole: only functions and the tags of spans filter both.'
              )
            : trans.__(
                'Both runs are shown whole: only functions and the tags of spans filter both.'
              )
        };
  }

  protected override get clusterName(): string | undefined {
    const [own, other] = this._ownAndOther();
    return own === null || other === null || this._isUndecided
      ? super.clusterName
      : namesOfBoth(
          this._ordered(this._names()),
          this._ordered([this._pass.own, this._pass.other]),
          this.trans
        );
  }

  /** Of two runs each has its own. */
  protected override get nameWithState(): string | undefined {
    const [own, other] = this._ownAndOther();
    if (!this._showsTwoRuns) {
      return super.nameWithState;
    }
    const [ownName, otherName] = this._names();
    return namesOfBoth(
      this._ordered([
        this.withState(ownName, own!),
        this.withState(otherName, other!)
      ]),
      this._ordered([this._pass.own, this._pass.other]),
      this.trans
    );
  }

  protected override get nameInStrips(): string | undefined {
    const { cluster } = this;
    return cluster !== null && this._showsTwoRuns
      ? this._runName(cluster)
      : undefined;
  }

  private get _showsTwoRuns(): boolean {
    const [own, other] = this._ownAndOther();
    return (
      own !== null &&
      other !== null &&
      own.cluster !== other.cluster &&
      !this._isUndecided
    );
  }

  /**
   * What is shown stays, or is a proposal again: then both runs are still shown, the older one first and with the passes that are proposed,
   * or, of two runs, those that were shown, until a cell runs again, another cluster is chosen in the sidebar, or the own run is another.
   */
  protected override setTurns(turns: boolean): void {
    const [own, other] = this._ownAndOther();
    if (own === null) {
      return;
    }
    if (turns) {
      this._letGo = this._passesToLetGo(own, other);
      this._chosen = null;
      this._isOwnFirst = null;
      this._arePassesChosen = false;
      this._proposedTo = own.cluster;
      this._settledOn = other?.cluster ?? null;
      this._isSettledUntold = false;
      this._waitedFor = own.cluster;
      this.setPinned(false);
      this.turnTo(this.context.of(own, 'follows'));
      this._choose();
    } else if (other !== null) {
      this._keepPair(other);
      this._keepOwn(own);
    } else {
      this.setPinned(true);
    }
    this.stateHasChanged();
    this.retitle();
  }

  protected override onTurned(): void {
    this._followSelection();
    this._renewWatches();
    this._seen = null;
    this._before = null;
    this._choose();
    this._watchBoth();
    this._awaitDecision();
  }

  protected override onWatching(isOn: boolean): void {
    this._isWatching = isOn;
    this._watchBoth();
    this._awaitDecision();
  }

  protected override ownState(): PanelState | null {
    if (this._isUndecided) {
      return {
        icon: this.face.icon,
        title: this.trans.__('Looking for a run to compare with…'),
        sentence: this.trans.__(
          'It is counted which functions other runs have in common with %1.',
          this.cluster?.name ?? ''
        )
      };
    }
    return this._otherRun !== null
      ? this._emptyState()
      : {
          icon: this.face.icon,
          title: this.trans.__('There is no other run to compare with.'),
          sentence: this.trans.__(
            'Run the same work on another cluster, or once more: runs can be chosen here as long as the page knows them. A cell that you run again is compared with the time before, and so is a span that another cell opens again.'
          )
        };
  }

  /** Where the filter leaves nothing of both; passes that each is narrowed to are no part of it. */
  private _emptyState(): PanelState | null {
    const { trans } = this;
    const filter = commonFilter(this.answered.filter);
    const other = commonFilter(
      this._otherWatch?.answeredTo('fine-metrics') ?? {}
    );
    const conditions = conditionsOf({ filter, time: 'all' });
    const sides = this._sides();
    if (
      conditions.length === 0 ||
      JSON.stringify(filter) !== JSON.stringify(other) ||
      !areEmpty(sides)
    ) {
      return null;
    }
    const { own: ownPass, other: otherPass } = this._pass;
    return {
      icon: filterIcon,
      title:
        ownPass !== null && otherPass !== null
          ? trans.__('Nothing of the filter ran in these passes.')
          : trans.__('Nothing of the filter ran in these runs.'),
      sentence: [
        hiddenText(sides, trans),
        trans.__(
          'The filter: %1.',
          conditions
            .map(condition => conditionText(condition, trans))
            .join(', ')
        )
      ]
        .filter(sentence => sentence !== '')
        .join(' '),
      buttons: [this.liftButton()]
    };
  }

  protected override liveLine(): string {
    if (this._isUndecided) {
      return '';
    }
    return headline(this._sides(), this._isFiltered, this.trans);
  }

  protected override renderTools(): React.ReactNode {
    const { trans } = this;
    const [own, other] = this._ownAndOther();
    const [first, second] = this._ordered([
      { run: own, pass: this._pass.own },
      {
        run: this._isUndecided ? null : other,
        pass: this._pass.other
      }
    ]);
    const select = (
      label: string,
      { run, pass }: typeof first,
      place: 0 | 1
    ) => (
      <RunSelect
        label={label}
        chosen={run}
        pass={pass}
        runs={runsOf(this.context.feed.clusters)}
        passesOf={one =>
          passesToChoose(
            one.cluster,
            this._watchOf(one)?.result('spans') ?? null
          )
        }
        text={one => this._runText(one)}
        passText={(one, of) => listedName(one, of.startedAt, trans)}
        onChoose={(one, of) => this._put(one, of, place)}
      />
    );
    return (
      <>
        {select(trans.__('First run'), first, 0)}
        <span className="sw-toolbar-note">{trans.__('with')}</span>
        {select(trans.__('Second run'), second, 1)}
        <ToolButton
          label={trans.__('Swap')}
          text={trans.__('Swap')}
          disabledBecause={
            first.run === null || second.run === null
              ? trans.__('there is no second run yet')
              : undefined
          }
          onClick={() => this._swap()}
        />
        <ToolButton
          className="sw-Compare-pin"
          label={trans.__('Pin to these runs')}
          tooltip={
            this.turns
              ? trans.__(
                  'Turns to the cluster that is chosen in the sidebar, with the run that is proposed to it. Pinned, or once you choose a run here, it stays with these.'
                )
              : trans.__(
                  'Stays with these runs, whatever is chosen in the sidebar. Let go, it turns to what is chosen next.'
                )
          }
          icon={pinIcon}
          pressed={!this.turns}
          disabledBecause={
            this._isUndecided
              ? trans.__('there is no second run yet')
              : undefined
          }
          onClick={() => this.setTurns(!this.turns)}
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
        turned={this._turnText}
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

  /** It is not told yet what runs have in common with the own one, or which cells of it ran again, so that what is proposed is not shown. */
  private get _isUndecided(): boolean {
    const { cluster: own } = this;
    return (
      own !== null &&
      own.cluster !== this._waitedFor &&
      !this._isChosen &&
      !(
        this._shared.isTold &&
        (this._ownWatch?.result('spans') ?? null) !== null
      ) &&
      this.context.feed.clusters.some(
        ({ cluster, tasks }) => cluster !== own.cluster && tasks > 0
      )
    );
  }

  /** It is told while the panel watches. */
  private _awaitDecision(): void {
    clearTimeout(this._decision);
    if (!this._isWatching || !this._isUndecided) {
      return;
    }
    this._decision = setTimeout(() => {
      this._waitedFor = this.cluster?.cluster;
      this._choose();
    }, DECISION_MILLISECONDS);
  }

  /** A run, a pass or their places, by the user. */
  private get _isChosen(): boolean {
    return (
      this._chosen !== null ||
      this._arePassesChosen ||
      this._isOwnFirst !== null
    );
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
    const begun = (run: ClusterInfo, pass: ChosenPass | null) =>
      run.startedAt + (pass?.opened ?? 0);
    return (
      this._isOwnFirst ??
      (own === null ||
        other === null ||
        begun(own, this._pass.own) <= begun(other, this._pass.other))
    );
  }

  /** What is compared of the two, as it is called now: a pass is of one cluster. */
  private get _pass(): PassPair {
    const [own, other] = this._ownAndOther();
    const of = (
      pass: ChosenPass | null,
      run: ClusterInfo | null,
      watch: RunWatch | null
    ) =>
      pass === null || pass.cluster !== run?.cluster
        ? null
        : renewed(pass, watch?.result('spans') ?? null);
    return {
      own: of(this._passes.own, own, this._ownWatch),
      other: of(this._passes.other, other, this._otherWatch)
    };
  }

  /** From own and other to first and second, or back. */
  private _ordered<T>([a, b]: readonly [T, T]): readonly [T, T] {
    return this._standsFirst ? [a, b] : [b, a];
  }

  /** The first and the second. */
  private _runs(): readonly [ClusterInfo | null, ClusterInfo | null] {
    return this._ordered(this._ownAndOther());
  }

  /** What the own and the other are called, so that they are told apart. */
  private _names(): readonly [string, string] {
    const { trans } = this;
    const [own, other] = this._ownAndOther();
    const { own: ownPass, other: otherPass } = this._pass;
    const isOfOneCluster = own?.cluster === other?.cluster;
    const name = (run: ClusterInfo | null, pass: ChosenPass | null): string => {
      if (run === null) {
        return '';
      }
      const runName = this._runName(run);
      if (pass === null) {
        return runName;
      }
      const passName = shortName(pass, run.startedAt, trans);
      return isOfOneCluster ? passName : trans.__('%1: %2', runName, passName);
    };
    return [name(own, ownPass), name(other, otherPass)];
  }

  /** Of two of one name with the time. */
  private _runName(run: ClusterInfo): string {
    const [own, other] = this._ownAndOther();
    return own?.name === other?.name ? this._runText(run) : run.name;
  }

  /** Of a run whose spans are told: it is one of the two. */
  private _watchOf({ cluster }: ClusterInfo): RunWatch | null {
    const [own, other] = this._ownAndOther();
    return cluster === own?.cluster
      ? this._ownWatch
      : cluster === other?.cluster
        ? this._otherWatch
        : null;
  }

  private _sides(): Sides {
    const [own, other] = this._ownAndOther();
    const passes = this._pass;
    const [ownName, otherName] = this._names();
    const side = (
      name: string,
      run: ClusterInfo | null,
      pass: ChosenPass | null,
      watch: RunWatch | null,
      metrics: FineMetricsResult | null,
      answeredTo: Filter
    ): Side => ({
      name,
      kind: run?.kind ?? 'embedded',
      // (an answer may be of what was chosen before)
      metrics: isWithin(answeredTo, pass) ? metrics : null,
      spans: watch?.result('spans') ?? null,
      memory: watch?.result('memory') ?? null,
      pass:
        pass === null
          ? null
          : passSide(
              rowsOfPass(watch?.result('spans') ?? null, pass),
              run?.state === 'ended'
            )
    });
    return this._ordered([
      side(
        ownName,
        own,
        passes.own,
        this._ownWatch,
        this.result,
        this.answered.filter
      ),
      side(
        otherName,
        other,
        passes.other,
        this._otherWatch,
        this._otherWatch?.result('fine-metrics') ?? null,
        this._otherWatch?.answeredTo('fine-metrics') ?? {}
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

  /**
   * The other run is the chosen one; else the last of its name; else, until one is chosen, what is proposed to the own run: the cell that ran
   * again last and the time before, else an earlier run that is alike, else the last pass of a span, else any run. Once its figures were seen, a
   * run that is proposed stays until a cell runs again.
   */
  private _choose(): void {
    // (what was seen was seen before this is told)
    this._settle();
    this._noteSeen();
    this._shared.follow(
      this.context.feed.clusters,
      this.context.cluster.current
    );
    const runs = runsOf(this.context.feed.clusters);
    const chosen = this._chosen;
    const proposed = chosen === null ? this._proposed() : null;
    const passes = this._proposedPasses(proposed);
    const run =
      runs.find(({ cluster }) => cluster === chosen?.cluster) ??
      runs.find(
        ({ cluster, name }) =>
          name === chosen?.name && cluster !== this.cluster?.cluster
      ) ??
      (passes.other?.cluster === this.cluster?.cluster
        ? this.cluster
        : proposed);
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
    if (!this._arePassesChosen) {
      this._setPasses(passes);
    }
    this._isOfUse =
      run !== null &&
      this.cluster !== null &&
      (run.cluster === this.cluster.cluster
        ? this._pickedPass() === undefined
        : areAlike(
            run,
            this.cluster,
            this._shared.of,
            this.context.cluster.notebookOf
          ));
    this._noteTurn();
    this._pickedBefore = this._pickedPass();
    const isUndecided = this._isUndecided;
    if (isUndecided !== this._wasUndecided) {
      this._wasUndecided = isUndecided;
      this._awaitDecision();
      this.retitle();
    }
  }

  private _settle(): void {
    const [own, other] = this._ownAndOther();
    if (
      this._isOfUse &&
      !this._wasUndecided &&
      this._proposedTo === own?.cluster &&
      this._settled() === null &&
      this._sides().every(({ metrics }) => metrics?.byFunction.length)
    ) {
      this._settledOn = other!.cluster;
      this._isSettledUntold = this._shared.of(other!) === undefined;
    }
  }

  /** What is compared now, so that it can be named when a proposal takes its place. */
  private _noteSeen(): void {
    const sides = this._sides();
    if (!this._wasUndecided && sides.every(({ metrics }) => metrics !== null)) {
      const { own, other } = this._pass;
      this._seen = {
        run: this.cluster?.cluster,
        passes: [own?.id, other?.id],
        names: this._ordered(this._names())
      };
    }
  }

  /** Who reads of one cell while another runs again is told what was compared before; of the same cell it is a step from there. */
  private _noteTurn(): void {
    const { own, other } = this._pass;
    const { _seen: seen } = this;
    const picked = this._pickedPass();
    if (
      seen === null ||
      (seen.passes[0] === own?.id && seen.passes[1] === other?.id)
    ) {
      return;
    }
    this._seen = null;
    const isTold =
      !this._isChosen &&
      own !== null &&
      other !== null &&
      seen.run === this.cluster?.cluster &&
      picked === this._pickedBefore &&
      !seen.passes.some(id => id === own.id || id === other.id);
    this._before = isTold ? seen.names : null;
  }

  /** What was compared before a cell ran again; '': nothing else was. */
  private get _turnText(): string {
    return this._before === null || this._isChosen
      ? ''
      : this.trans.__(
          'This ran last, so it is compared now. Before, %1 and %2 were compared. A panel that is pinned stays with what it shows.',
          ...this._before
        );
  }

  /** Null also if it is gone, or is told to have nothing in common. */
  private _settled(): ClusterInfo | null {
    const run = this.context.feed.clusters.find(
      ({ cluster }) => cluster === this._settledOn
    );
    return run === undefined ||
      (this._isSettledUntold && this._shared.of(run) === 0)
      ? null
      : run;
  }

  private _pickedPass(): string | undefined {
    return (this.context.selection.filter.spans?.any ?? []).flatMap(term =>
      'path' in term && term.id !== undefined ? [term.id] : []
    )[0];
  }

  /** @param run - what is proposed otherwise. */
  private _proposedPasses(run: ClusterInfo | null): PassPair {
    const { cluster: own } = this;
    if (this._chosen !== null || this._arePassesChosen || own === null) {
      return WHOLE_RUNS;
    }
    const picked = this._pickedPass();
    const spans = this._ownWatch?.result('spans') ?? null;
    const pair = proposedPasses(own.cluster, spans, picked);
    const letGo = this._letGo;
    if (
      letGo !== null &&
      letGo.own === own.cluster &&
      letGo.other === run?.cluster &&
      letGo.picked === picked &&
      (spans === null || letGo.newest === pair?.after.id)
    ) {
      return letGo.passes;
    }
    this._letGo = null;
    // (a script opens a span more than once in each run; who runs a cell again wants to see what came of it)
    const givesWay =
      pair?.isCell === false &&
      picked === undefined &&
      run !== null &&
      this._settledOn !== own.cluster &&
      areAlike(run, own, this._shared.of, this.context.cluster.notebookOf);
    return pair === null || givesWay
      ? WHOLE_RUNS
      : this._isOwnFirst === true
        ? { own: pair.before, other: pair.after }
        : { own: pair.after, other: pair.before };
  }

  private _passesToLetGo(
    { cluster: own }: ClusterInfo,
    other: ClusterInfo | null
  ): LetGo | null {
    const passes = this._pass;
    if (
      other === null ||
      other.cluster === own ||
      (passes.own === null && passes.other === null)
    ) {
      return null;
    }
    const picked = this._pickedPass();
    const spans = this._ownWatch?.result('spans') ?? null;
    const newest = proposedPasses(own, spans, picked)?.after.id;
    return { own, other: other.cluster, passes, newest, picked };
  }

  private _setPasses(passes: PassPair): void {
    const before = this._pass;
    this._passes = passes;
    const { own, other } = this._pass;
    if (own?.id !== before.own?.id) {
      this.narrowedChanged();
    }
    if (other?.id !== before.other?.id) {
      this._otherWatch?.askAgain();
    }
    if (own?.id !== before.own?.id || other?.id !== before.other?.id) {
      this.retitle();
      this.stateHasChanged();
    }
  }

  private _proposed(): ClusterInfo | null {
    const { feed, cluster } = this.context;
    const own = cluster.current;
    if (own === null) {
      return null;
    }
    if (this._proposedTo !== own.cluster) {
      this._settledOn = null;
    }
    const settled = this._settled();
    if (settled !== null && settled.cluster !== own.cluster) {
      return settled;
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
      this._shared.of,
      cluster.notebookOf,
      this._isOwnFirst === true
    );
  }

  /** The user has chosen a run, or a pass of it, for a place: from now on the places stay. */
  private _put(run: ClusterInfo, pass: ChosenPass | null, place: 0 | 1): void {
    const isFirst = this._standsFirst;
    const passes = this._pass;
    this._isOwnFirst = isFirst;
    this._arePassesChosen ||=
      pass !== null || passes.own !== null || passes.other !== null;
    if (isFirst === (place === 0)) {
      this._keepOther();
      this._keepOwn(run);
      this._setPasses({ ...passes, own: pass });
    } else {
      if (run.cluster !== this._otherRun?.current?.cluster) {
        this._take(run);
      }
      this._keepOther();
      if (this.cluster !== null) {
        this._keepOwn(this.cluster);
      }
      this._setPasses({ ...passes, other: pass });
    }
    this.stateHasChanged();
    this.retitle();
  }

  /** Where a pass was chosen, the run of the other one stays. */
  private _keepOther(): void {
    const other = this._otherRun?.current ?? null;
    if (this._arePassesChosen && other !== null) {
      this._chosen = { cluster: other.cluster, name: other.name };
    }
  }

  private _swap(): void {
    const [own, other] = this._ownAndOther();
    if (own !== null && other !== null) {
      this._keepPair(other);
      this._isOwnFirst = !this._isOwnFirst;
      this._keepOwn(own);
      this.stateHasChanged();
      this.retitle();
    }
  }

  /** Also where its notebook goes on to another cluster. */
  private _keepOwn(run: ClusterInfo): void {
    this.turnTo(this.context.of(run, 'run'));
  }

  /** Both, and their places, as if the user had chosen them. */
  private _keepPair({ cluster, name }: ClusterInfo): void {
    const { own: ownPass, other: otherPass } = this._pass;
    this._isOwnFirst = this._standsFirst;
    this._arePassesChosen ||= ownPass !== null || otherPass !== null;
    this._chosen = { cluster, name };
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
      this._otherRun.changed.connect(this.retitle, this);
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
    this._ownWatch ??= this._newOwnWatch();
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

  /** The chips, of which both runs have the filter, are those of the new own run. Figures of a run that stays do not go away meanwhile. */
  private _renewWatches(): void {
    const [own, other] = [this._ownWatch, this._otherWatch];
    if (own !== null) {
      this._ownWatch = this._newOwnWatch();
      this._ownWatch.takeOver(own);
      own.dispose();
    }
    if (other !== null && this._otherRun !== null) {
      this._otherWatch = this._newWatch(this._otherRun, VIEWS);
      this._otherWatch.takeOver(other);
      other.dispose();
    }
  }

  private _newOwnWatch(): RunWatch {
    return this._newWatch(this.context.cluster, VIEWS.slice(1));
  }

  /** Of the filter of the own run, whose chips the panel shows. */
  private _newWatch(cluster: ClusterRef, views: readonly ViewName[]): RunWatch {
    const { selection } = this.context;
    const watch = new RunWatch(
      { ...this.context, cluster },
      views,
      () => commonFilter(selection.filter),
      filter => withinPass(filter, this._pass.other),
      cluster === this.context.cluster
    );
    watch.changed.connect(this._onAnswer, this);
    return watch;
  }

  private _onAnswer(): void {
    this._choose();
    this.update();
  }

  /** Of the own run: a pass that is chosen there is one of the two. */
  private _followSelection(): void {
    this._selection?.changed.disconnect(this._choose, this);
    this._selection = this.context.selection;
    this._selection.changed.connect(this._choose, this);
  }
}

/** The runs, and below those of which they are told, chosen here or not, their passes. */
function RunSelect(props: {
  readonly label: string;
  readonly chosen: ClusterInfo | null;
  readonly pass: ChosenPass | null;
  readonly runs: readonly ClusterInfo[];
  passesOf(run: ClusterInfo): readonly ChosenPass[];
  text(run: ClusterInfo): string;
  passText(pass: ChosenPass, of: ClusterInfo): string;
  onChoose(run: ClusterInfo, pass: ChosenPass | null): void;
}): JSX.Element | null {
  const { chosen, pass, runs, text } = props;
  // One that the page was told of and is listed no more stays chosen.
  const listed =
    chosen === null || runs.some(({ cluster }) => cluster === chosen.cluster)
      ? runs
      : [chosen, ...runs];
  const passesOf = (run: ClusterInfo) => {
    const passes = props.passesOf(run);
    return run.cluster !== chosen?.cluster ||
      pass === null ||
      passes.some(({ id }) => id === pass.id)
      ? passes
      : [pass, ...passes];
  };
  const choices = listed.flatMap(run => [
    { value: run.cluster, label: text(run), run, pass: null },
    ...passesOf(run).map(one => ({
      value: `${run.cluster} ${one.id}`,
      label: `\u00a0\u00a0${props.passText(one, run)}`,
      run,
      pass: one
    }))
  ]);
  return (
    <ToolSelect<string>
      label={props.label}
      className="sw-Compare-run"
      value={
        chosen === null
          ? ''
          : pass === null
            ? chosen.cluster
            : `${chosen.cluster} ${pass.id}`
      }
      options={[
        ...(chosen === null ? [{ value: '', label: '' }] : []),
        ...choices
      ]}
      onChange={value => {
        const choice = choices.find(each => each.value === value);
        if (choice !== undefined) {
          props.onChoose(choice.run, choice.pass);
        }
      }}
    />
  );
}

function passSide(rows: readonly SpanRow[], isOver: boolean): Side['pass'] {
  return { rows, took: tookSeconds(rows), isOver };
}

function readPasses(value: JSONValue | undefined): PassPair | null {
  const { own, other } = (value ?? {}) as Partial<
    Record<keyof PassPair, JSONValue>
  >;
  const pair = { own: readPass(own), other: readPass(other) };
  return pair.own === null && pair.other === null ? null : pair;
}

/** Its place is told anew. */
function savedPass(pass: ChosenPass | null): JSONObject | null {
  if (pass === null) {
    return null;
  }
  const { cluster, id, path, title, opened, execution } = pass;
  return { cluster, id, path: [...path], title, opened, execution };
}

function readChosen(value: unknown): Chosen | null {
  const { cluster, name } = (value ?? {}) as Partial<Chosen>;
  return typeof cluster === 'string' && typeof name === 'string'
    ? { cluster, name }
    : null;
}
