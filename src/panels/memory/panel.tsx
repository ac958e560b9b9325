/** Memory Sampler as a panel: measure, alignment, whose memory, which runs. */
import { createElement } from '../../charts/shown-element';
import {
  MEMORY_MEASURES,
  type MemoryMeasure
} from '../../records/enumerations';
import type { JSONObject } from '@lumino/coreutils';
import * as React from 'react';
import type { MemoryResult, Snapshot } from '../../wire/panel-link';
import { recordIcon, recordingIcon } from '../icons';
import type { TableData } from '../format';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { MenuItem } from '../panel-menu';
import type { PanelState } from '../state-view';
import { RadioGroup, ToolButton, ToolSelect } from '../toolbar';
import { type Align, measureWords, tableOf } from './rows';
import { MemoryView } from './view';

type Show = 'cluster' | 'workers';

/** What of the time is looked at. Of another cluster, or by the other alignment, these seconds are others. */
type Zoom = {
  readonly cluster: string | undefined;
  readonly align: Align;
  readonly range: readonly [number, number];
};

export class MemoryPanel extends SpanwisePanel<MemoryResult> {
  private _measure: MemoryMeasure;
  private _show: Show;
  private _align: Align | null;
  private _showsBreakdown: boolean;
  private _hidden: ReadonlySet<string> = new Set();
  private _zoom: Zoom | null = null;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    const { measure, show, align, breakdown } = options.state ?? {};
    this._measure =
      MEMORY_MEASURES.find(known => known === measure) ?? 'process';
    this._show = show === 'workers' ? show : 'cluster';
    this._align = align === 'zero' || align === 'clock' ? align : null;
    this._showsBreakdown = breakdown === true;
  }

  override savedState(): JSONObject {
    return {
      ...super.savedState(),
      measure: this._measure,
      show: this._show,
      align: this._align,
      breakdown: this._showsBreakdown
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
    return { measure: this._measure, show: this._show };
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
        <ToolButton
          label={trans.__('Breakdown')}
          text={trans.__('Breakdown')}
          className="sw-tool-wide"
          pressed={this._showsBreakdown}
          onClick={() => this._toggleBreakdown()}
        />
      </>
    );
  }

  protected renderChart(result: MemoryResult): React.ReactNode {
    const align = this._alignOf(result);
    const cluster = this.context.cluster.current?.cluster;
    const zoom = this._zoom;
    return (
      <MemoryView
        result={result}
        align={align}
        show={this._show}
        hidden={this._hidden}
        range={
          zoom?.cluster === cluster && zoom?.align === align
            ? zoom.range
            : undefined
        }
        onZoom={range => {
          this._zoom = range && { cluster, align, range };
          this.update();
        }}
        showsBreakdown={this._showsBreakdown}
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
      {
        label: this.trans.__('Breakdown'),
        isToggled: this._showsBreakdown,
        run: () => this._toggleBreakdown()
      },
      // A low panel has no room for the choice in its toolbar.
      {
        label: this.trans.__('By clock'),
        isToggled: align === 'clock',
        run: () => this._setAlign(align === 'clock' ? 'zero' : 'clock')
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
    this._changed();
  }

  private _toggleBreakdown(): void {
    this._showsBreakdown = !this._showsBreakdown;
    this._changed();
  }

  /** From zero as soon as there is a run to align, unless the user chose. */
  private _alignOf(result: MemoryResult | null): Align {
    return (
      this._align ??
      (result !== null && result.runs.length > 0 ? 'zero' : 'clock')
    );
  }

  private _changed(): void {
    this.stateHasChanged();
    this.update();
  }
}
