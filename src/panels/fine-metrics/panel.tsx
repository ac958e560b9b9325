/** Fine Performance Metrics as a panel: its unit, how many functions, in which order, paused or not. */
import type { JSONObject } from '@lumino/coreutils';
import * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { FineMetricsResult } from '../../wire/panel-link';
import { pauseIcon, resumeIcon } from '../icons';
import type { TableData } from '../format';
import { isNodeProgram } from '../node-program';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { Hidden } from '../panel-states';
import type { MenuItem } from '../panel-menu';
import type { PanelState } from '../state-view';
import { RadioGroup, ToolButton, ToolSelect } from '../toolbar';
import { type FunctionOrder, hasNoTask, tableOf } from './rows';
import { FineMetricsView } from './view';

type Unit = 'seconds' | 'bytes' | 'count';
type Top = '12' | '25' | '500';

export class FineMetricsPanel extends SpanwisePanel<FineMetricsResult> {
  private _unit: Unit;
  private _top: Top;
  private _order: FunctionOrder;
  /** The answer that stays while the panel is paused. */
  private _paused: FineMetricsResult | null = null;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    const { unit, top, order } = options.state ?? {};
    this._unit = unit === 'bytes' || unit === 'count' ? unit : 'seconds';
    this._top = top === '25' || top === '500' ? top : '12';
    this._order = order === 'name' || order === 'executions' ? order : 'time';
  }

  override savedState(): JSONObject {
    return {
      ...super.savedState(),
      unit: this._unit,
      top: this._top,
      order: this._order
    };
  }

  protected get view() {
    return 'fine-metrics' as const;
  }

  protected override params() {
    return { unit: this._unit, top: Number(this._top) };
  }

  protected override isEmpty(result: FineMetricsResult): Hidden | null {
    if (result.notKnown !== undefined) {
      return null;
    }
    const cluster = this.context.cluster.current;
    if (result.account !== 'told') {
      return hasNoTask(result)
        ? { hidden: cluster?.runs ?? cluster?.tasks ?? 0 }
        : null;
    }
    // Of tasks that ran before it was attached to a Dask cluster has sums alone, and of others they come later.
    const hidden = result.hiddenSeconds ?? result.otherSpansSeconds;
    const hasNone =
      result.attributedNanoseconds === 0 && !(result.runningSeconds ?? 0);
    return hasNone && hidden > 0
      ? {
          hidden,
          of: 'seconds',
          ...(cluster?.state !== 'ended' && { hint: this._toldLater() })
        }
      : null;
  }

  protected override ownState(result: FineMetricsResult): PanelState | null {
    const { trans } = this;
    if (result.notKnown !== undefined) {
      return {
        icon: this.face.icon,
        title: trans.__('Not known under this filter.'),
        sentence: result.notKnown,
        buttons: [this.liftButton()]
      };
    }
    if (
      result.unit !== 'seconds' &&
      result.account !== 'told' &&
      result.byFunction.length === 0 &&
      result.background.length === 0
    ) {
      return {
        icon: this.face.icon,
        title:
          this.context.cluster.current?.state === 'ended'
            ? trans.__('No task has ended.')
            : trans.__('Nothing has ended yet.'),
        sentence: trans.__('Bytes and counts are known when a task ends.')
      };
    }
    // Dask's workers tell with their heartbeats, and seconds of every task: bytes and counts may never come.
    return result.account === 'told' &&
      result.unit === 'seconds' &&
      result.byFunction.length === 0
      ? {
          icon: this.face.icon,
          title: trans.__('No figures yet.'),
          sentence: this._toldLater()
        }
      : null;
  }

  protected override renderTools(result: FineMetricsResult | null) {
    const { trans } = this;
    const labels: Record<string, string> = {
      seconds: trans.__('Time'),
      bytes: trans.__('Bytes'),
      count: trans.__('Count')
    };
    return (
      <>
        <RadioGroup<Unit>
          label={trans.__('Unit')}
          value={this._unit}
          options={(['seconds', 'bytes', 'count'] as const).map(value => ({
            value,
            label: labels[value] ?? value
          }))}
          onChange={unit => {
            this._unit = unit;
            this._paused = null;
            this.paramsChanged();
          }}
        />
        <ToolSelect<Top>
          label={trans.__('Functions shown')}
          className="sw-tool-wide"
          value={this._top}
          options={[
            { value: '12', label: trans.__('Top 12') },
            { value: '25', label: trans.__('Top 25') },
            { value: '500', label: trans.__('All functions') }
          ]}
          onChange={top => this._setTop(top)}
        />
        <ToolSelect<FunctionOrder>
          label={trans.__('Sort by')}
          className="sw-tool-wide"
          value={this._order}
          options={[
            {
              value: 'time',
              label:
                this._unit === 'seconds'
                  ? trans.__('Sort: time')
                  : trans.__('Sort: amount')
            },
            { value: 'name', label: trans.__('Sort: name') },
            { value: 'executions', label: trans.__('Sort: executions') }
          ]}
          onChange={order => this._setOrder(order)}
        />
        <ToolButton
          label={trans.__('Pause')}
          icon={this._paused === null ? pauseIcon : resumeIcon}
          pressed={this._paused !== null}
          disabledBecause={
            result === null ? trans.__('there are no figures yet') : undefined
          }
          onClick={() => {
            this._paused = this._paused === null ? result : null;
            this.update();
          }}
        />
      </>
    );
  }

  protected renderChart(result: FineMetricsResult): React.ReactNode {
    return (
      <FineMetricsView
        result={this._paused ?? result}
        order={this._order}
        isRunning={(this.context.cluster.current?.running ?? 0) > 0}
        isLocal={this.cluster?.kind === 'local'}
        isNode={isNodeProgram(this.cluster)}
        selection={this.context.selection}
        trans={this.trans}
        onShowAll={() => this._setTop('500')}
      />
    );
  }

  protected tableData(result: FineMetricsResult): TableData {
    return tableOf(
      this._paused ?? result,
      this.trans,
      this.cluster?.kind === 'local'
    );
  }

  protected override moreItems(): readonly MenuItem[] {
    const { trans } = this;
    const orders = [
      { order: 'time', label: trans.__('Sort by amount') },
      { order: 'name', label: trans.__('Sort by name') },
      { order: 'executions', label: trans.__('Sort by executions') }
    ] as const;
    return [
      {
        label: trans.__('Show all functions'),
        isToggled: this._top === '500',
        run: () => this._setTop(this._top === '500' ? '12' : '500')
      },
      ...orders.map(({ order, label }) => ({
        label,
        isToggled: this._order === order,
        run: () => this._setOrder(order)
      }))
    ];
  }

  private _toldLater(): string {
    return this.trans.__(
      'Dask’s workers tell what their tasks took some seconds later.'
    );
  }

  private _setOrder(order: FunctionOrder): void {
    this._order = order;
    this.stateHasChanged();
    this.update();
  }

  private _setTop(top: Top): void {
    this._top = top;
    this._paused = null;
    this.paramsChanged();
  }
}
