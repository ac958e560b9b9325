/** Memory Sampler as a panel: measure, alignment, whose memory, which runs. */
import { filterIcon } from '@jupyterlab/ui-components';
import { createElement } from '../../charts/shown-element';
import {
  MEMORY_MEASURES,
  type MemoryMeasure
} from '../../records/enumerations';
import type { JSONObject } from '@lumino/coreutils';
import * as React from 'react';
import type { MemoryResult, Snapshot } from '../../wire/panel-link';
import { recordIcon, recordingIcon, taskStreamIcon } from '../icons';
import type { TableData } from '../format';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { MenuItem } from '../panel-menu';
import type { PanelState } from '../state-view';
import { RadioGroup, ToolButton, ToolSelect } from '../toolbar';
import { type Align, measureWords, tableOf } from './rows';
import {
  type Range,
  type ShownTime,
  shownTime,
  windowFor,
  type Zoom,
  zoomFrom,
  zoomSaved
} from './shown-time';
import { type Below, MemoryView } from './view';

type Show = 'cluster' | 'workers';

const BELOW = ['nothing', 'breakdown', 'difference'] as const;

export class MemoryPanel extends SpanwisePanel<MemoryResult> {
  private _measure: MemoryMeasure;
  private _show: Show;
  private _align: Align | null;
  private _below: Below;
  private _hidden: ReadonlySet<string> = new Set();
  private _zoom: Zoom | null;
  /** Whether it shows the time that the Task Stream shows, if nothing else is chosen; else it is all. */
  private _goesByStream: boolean;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    const { measure, show, align, below, breakdown } = options.state ?? {};
    this._measure =
      MEMORY_MEASURES.find(known => known === measure) ?? 'process';
    this._show = show === 'workers' ? show : 'cluster';
    this._align = align === 'zero' || align === 'clock' ? align : null;
    // (by a version of before it was there or not)
    this._below =
      BELOW.find(known => known === below) ??
      (breakdown === true ? 'breakdown' : 'nothing');
    this._zoom = zoomFrom(options.state?.zoom);
    this._goesByStream = options.state?.time !== 'all';
  }

  override savedState(): JSONObject {
    return {
      ...super.savedState(),
      measure: this._measure,
      show: this._show,
      align: this._align,
      below: this._below,
      time: this._goesByStream ? 'task-stream' : 'all',
      ...zoomSaved(this._zoom)
    };
  }

  protected get view() {
    return 'memory' as const;
  }

  protected override get maxHz(): number {
    return 2;
  }

  // Memory is there before the first task.
  protected override get showsWithoutTasks(): boolean {
    return true;
  }

  protected override params() {
    return { measure: this._measure, show: this._show, ...this._window };
  }

  /** Of the time that is shown each pixel is drawn, not of all that there is. The time of runs from zero is not the cluster's. */
  private get _window() {
    const { by, range } = this._shownTime;
    const isOfCluster = this._alignOf(this.result) === 'clock';
    return isOfCluster && (by === 'zoom' || by === 'task-stream')
      ? windowFor(range)
      : {};
  }

  protected override onWatching(isOn: boolean): void {
    const changed = this.context.timeViews?.changed;
    if (isOn) {
      changed?.connect(this._onTimeView, this);
      this.paramsMoved();
    } else {
      changed?.disconnect(this._onTimeView, this);
    }
  }

  /** By what there is it shows runs from zero, which have another time. */
  protected override onSnapshot(): void {
    this.askAnew();
  }

  protected override ownState(result: MemoryResult): PanelState | null {
    const { trans } = this;
    const cluster = this.context.cluster.current;
    return result.measure !== 'process' &&
      cluster?.capabilities.managed === false
      ? {
          icon: this.face.icon,
          title:
            result.measure === 'managed'
              ? trans.__('This source gives no managed memory.')
              : result.measure === 'unmanaged'
                ? trans.__('This source gives no unmanaged memory.')
                : result.measure === 'spilled'
                  ? trans.__('This source gives no spilled memory.')
                  : trans.__('This source gives process memory alone.'),
          sentence: trans.__(
            'Dask’s own schedulers do not say which results they keep. Choose Process: what %1 holds in all.',
            cluster.name
          )
        }
      : null;
  }

  /** From zero the chart shows recorded runs alone, which nothing narrows; its table has the cluster too. */
  protected override honoured(snapshot: Snapshot): Snapshot['honoured'] {
    const { result } = snapshot;
    return result.view === 'memory' &&
      result.runs.length > 0 &&
      this._alignOf(result) === 'zero' &&
      !this.showsTable
      ? {
          how: 'not filtered',
          why: this.trans.__('Recorded runs are shown whole, of all workers.')
        }
      : snapshot.honoured;
  }

  protected override liveLine(result: MemoryResult): string {
    const recording = result.runs.find(run => run.stopped === null);
    return recording === undefined
      ? ''
      : this.trans.__('Recording %1', recording.label);
  }

  protected override renderTools(result: MemoryResult | null) {
    const { trans } = this;
    const recording = result?.runs.find(run => run.stopped === null);
    return (
      <>
        <ToolButton
          label={
            recording === undefined
              ? trans.__('Record')
              : trans.__('Stop “%1”', recording.label)
          }
          text={
            recording === undefined
              ? trans.__('Record')
              : trans.__('Stop “%1”', recording.label)
          }
          className={`sw-Memory-record${recording === undefined ? '' : ' sw-is-recording'}`}
          icon={recording === undefined ? recordIcon : recordingIcon}
          disabledBecause={this._whyNot(recording !== undefined)}
          onClick={() => undefined}
        />
        <ToolSelect<MemoryMeasure>
          label={trans.__('Memory measure')}
          className="sw-Memory-measure"
          value={this._measure}
          options={MEMORY_MEASURES.map(value => ({
            value,
            label: measureWords(value, trans).option
          }))}
          onChange={measure => {
            this._measure = measure;
            this.paramsChanged();
          }}
        />
        <ToolButton
          label={trans.__('As in Task Stream')}
          tooltip={trans.__('Show the time that the Task Stream shows')}
          className="sw-Memory-time"
          icon={taskStreamIcon}
          pressed={this._isAsInStream}
          disabledBecause={this._whyNotAsInStream}
          onClick={() => this._setGoesByStream(!this._isAsInStream)}
        />
        <ToolButton
          label={trans.__('Use as time filter')}
          className="sw-Memory-time"
          icon={filterIcon}
          disabledBecause={this._whyNoTimeFilter}
          onClick={() => this._useAsTimeFilter()}
        />
        <RadioGroup<Align>
          label={trans.__('Align')}
          className="sw-Memory-align"
          value={this._alignOf(result)}
          options={[
            { value: 'zero', label: trans.__('From zero') },
            { value: 'clock', label: trans.__('By clock') }
          ]}
          onChange={align => this._setAlign(align)}
        />
        <RadioGroup<Show>
          label={trans.__('Show')}
          className="sw-tool-wide"
          value={this._show}
          options={[
            {
              value: 'cluster',
              label: this._isLocal
                ? trans.__('All processes')
                : trans.__('Cluster')
            },
            {
              value: 'workers',
              label: this._isLocal
                ? trans.__('Each process')
                : trans.__('Workers')
            }
          ]}
          onChange={show => this._setShow(show)}
        />
        <RadioGroup<Below>
          label={trans.__('Below')}
          className="sw-Memory-below"
          value={this._below}
          options={[
            { value: 'nothing', label: trans.__('Nothing') },
            { value: 'breakdown', label: trans.__('Breakdown') },
            { value: 'difference', label: trans.__('Difference') }
          ]}
          onChange={below => this._setBelow(below)}
        />
      </>
    );
  }

  protected renderChart(result: MemoryResult): React.ReactNode {
    const align = this._alignOf(result);
    return (
      <MemoryView
        result={result}
        align={align}
        show={this._show}
        hidden={this._hidden}
        time={this._shownTime}
        filtered={this.answered.time}
        drawn={this._window}
        onZoom={range => this._setZoom(range)}
        onUseAsTimeFilter={() => this._useAsTimeFilter()}
        onAsInStream={
          this._canGoByStream ? () => this._setGoesByStream(true) : null
        }
        below={this._below}
        isLocal={this._isLocal}
        context={this.context}
        trans={this.trans}
        onToggle={key => {
          const next = new Set(this._hidden);
          if (!next.delete(key)) {
            next.add(key);
          }
          this._hidden = next;
          this.update();
        }}
      />
    );
  }

  protected tableData(result: MemoryResult): TableData {
    return tableOf(
      result,
      this.context.cluster.current?.startedAt ?? 0,
      Date.now() / 1000,
      this.trans,
      this._isLocal
    );
  }

  protected override moreItems(): readonly MenuItem[] {
    const align = this._alignOf(this.result);
    return [
      {
        label: this._isLocal
          ? this.trans.__('Each process')
          : this.trans.__('Each worker'),
        isToggled: this._show === 'workers',
        run: () =>
          this._setShow(this._show === 'workers' ? 'cluster' : 'workers')
      },
      this._belowItem('breakdown', this.trans.__('Breakdown')),
      this._belowItem('difference', this.trans.__('Difference')),
      // A low panel has no room for the choice in its toolbar.
      {
        label: this.trans.__('By clock'),
        isToggled: align === 'clock',
        run: () => this._setAlign(align === 'clock' ? 'zero' : 'clock')
      },
      {
        label: this.trans.__('As in Task Stream'),
        isToggled: this._isAsInStream,
        disabledBecause: this._whyNotAsInStream,
        run: () => this._setGoesByStream(!this._isAsInStream)
      },
      {
        label: this.trans.__('Show all of the time'),
        disabledBecause:
          this._shownTime.by === 'all'
            ? this.trans.__('all of it is shown')
            : this._shownTime.by === 'filter'
              ? this.trans.__('the filter leaves this part of it')
              : undefined,
        run: () => this._setZoom(null)
      },
      {
        label: this.trans.__('Use as time filter'),
        disabledBecause: this._whyNoTimeFilter,
        run: () => this._useAsTimeFilter()
      }
    ];
  }

  /** Whether it shows a run without a cluster: of a program, and of the processes of its pools. */
  private get _isLocal(): boolean {
    return this.cluster?.kind === 'local';
  }

  /** Why a click neither begins a run nor ends one: code does both. */
  private _whyNot(isRecording: boolean): string {
    const { trans } = this;
    const { cluster } = this;
    if (cluster?.state === 'ended') {
      return cluster.unwatched === true
        ? trans.__('%1 is not watched any more', cluster.name)
        : trans.__('%1 has ended', cluster.name);
    }
    return isRecording
      ? trans.__('it ends with the block of code that is sampled')
      : trans.__(
          'a run is a block of code; write “with MemorySampler().sample("A"):” above it in a cell'
        );
  }

  // ------------------------------------------------------------- time

  private get _shownTime(): ShownTime {
    return shownTime(
      this._zoom,
      this._zoomable,
      this._goesByStream ? this._streamView : null
    );
  }

  /** What a zoom is of. */
  private get _zoomable() {
    return {
      cluster: this.cluster?.cluster,
      align: this._alignOf(this.result),
      time: this.asking.time
    };
  }

  private get _streamView() {
    const { cluster } = this;
    return cluster === null
      ? null
      : (this.context.timeViews?.of(cluster.cluster, cluster.tasks) ?? null);
  }

  private get _isAsInStream(): boolean {
    return this._goesByStream && this._shownTime.by !== 'zoom';
  }

  /** Whether something else is shown that a click leads away from. */
  private get _canGoByStream(): boolean {
    const { by } = this._shownTime;
    return (
      (by === 'all' || by === 'zoom') &&
      this.asking.time === 'all' &&
      this._whyNotAsInStream === undefined
    );
  }

  private get _whyNotAsInStream(): string | undefined {
    return this._alignOf(this.result) === 'zero'
      ? this.trans.__('runs from zero have a time of their own')
      : this._streamView === null
        ? this.trans.__('no Task Stream of this cluster is in sight')
        : undefined;
  }

  private get _whyNoTimeFilter(): string | undefined {
    const { by } = this._shownTime;
    return this._alignOf(this.result) === 'zero'
      ? this.trans.__('runs from zero have a time of their own')
      : by === 'filter'
        ? this.trans.__('what is shown is the filter’s range')
        : by === 'all'
          ? this.trans.__('drag over a part of the chart first')
          : undefined;
  }

  private _setGoesByStream(goes: boolean): void {
    this._goesByStream = goes;
    this._zoom = null;
    this.paramsChanged();
  }

  /** @param range - null: back to all of the time. */
  private _setZoom(range: Range | null): void {
    if (range !== null) {
      this._zoom = { ...this._zoomable, range };
    } else if (this._shownTime.by === 'zoom') {
      this._zoom = null;
      // All of it, and not what the Task Stream shows of it.
      if (this.asking.time === 'all' && this._streamView !== null) {
        this._goesByStream = false;
      }
    } else if (this._shownTime.by === 'task-stream') {
      this._goesByStream = false;
    }
    this.paramsChanged();
  }

  /** For all panels of the cluster. */
  private _useAsTimeFilter(): void {
    const { range } = this._shownTime;
    if (range !== undefined && this._whyNoTimeFilter === undefined) {
      this.context.selection.setTime({ from: range[0], to: range[1] });
    }
  }

  private _onTimeView(_: unknown, cluster: string): void {
    if (cluster === this.cluster?.cluster) {
      this.paramsMoved();
    }
  }

  private _setShow(show: Show): void {
    this._show = show;
    // Runs are of the cluster: workers are seen by clock.
    if (show === 'workers') {
      this._align = 'clock';
    }
    this.paramsChanged();
  }

  private _setAlign(align: Align): void {
    this._align = align;
    this.paramsChanged();
  }

  /** Chosen once more, it goes away. */
  private _belowItem(below: Below, label: string): MenuItem {
    const isShown = this._below === below;
    return {
      label,
      isToggled: isShown,
      run: () => this._setBelow(isShown ? 'nothing' : below)
    };
  }

  private _setBelow(below: Below): void {
    this._below = below;
    this.stateHasChanged();
    this.update();
  }

  /** From zero as soon as there is a run to align, unless the user chose. */
  private _alignOf(result: MemoryResult | null): Align {
    return (
      this._align ??
      (result !== null && result.runs.length > 0 ? 'zero' : 'clock')
    );
  }
}
