/** Progress as a panel: how far the tasks of each function are, in which order. */
import type { JSONObject } from '@lumino/coreutils';
import type * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { ProgressResult } from '../../wire/panel-link';
import type { TableData } from '../format';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { MenuItem } from '../panel-menu';
import type { Hidden } from '../panel-states';
import type { PanelState } from '../state-view';
import { ToolSelect } from '../toolbar';
import {
  headlineText,
  type Order,
  ORDERS,
  otherTexts,
  tableOf,
  tasksOf
} from './rows';
import { ProgressView } from './view';

export class ProgressPanel extends SpanwisePanel<ProgressResult> {
  private _order: Order;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    this._order =
      ORDERS.find(known => known === options.state?.order) ?? 'appearance';
  }

  override savedState(): JSONObject {
    return { ...super.savedState(), order: this._order };
  }

  protected get view() {
    return 'progress' as const;
  }

  // The counts are told once a second.
  protected override get maxHz(): number {
    return 2;
  }

  protected override isEmpty({ total, hidden }: ProgressResult): Hidden | null {
    return tasksOf(total) === 0 && hidden > 0
      ? {
          hidden,
          of: 'tasks',
          by: ['any', 'all', 'not', 'function', 'not function']
        }
      : null;
  }

  protected override ownState({ total }: ProgressResult): PanelState | null {
    const { trans } = this;
    return tasksOf(total) > 0
      ? null
      : {
          icon: this.face.icon,
          title: trans.__('No task is counted yet.'),
          sentence: trans.__(
            'Tasks are counted once a second, from when somebody needs them.'
          )
        };
  }

  protected override liveLine(result: ProgressResult): string {
    const { trans } = this;
    return [
      headlineText(result, trans),
      ...otherTexts(result.total, trans)
    ].join(', ');
  }

  protected override renderTools() {
    const { trans } = this;
    return (
      <ToolSelect<Order>
        label={trans.__('Sort by')}
        className="sw-tool-wide"
        value={this._order}
        options={[
          { value: 'appearance', label: trans.__('As they came') },
          { value: 'left', label: trans.__('Most left first') },
          { value: 'name', label: trans.__('By name') }
        ]}
        onChange={order => this._setOrder(order)}
      />
    );
  }

  protected override moreItems(): readonly MenuItem[] {
    const { trans } = this;
    const orders = [
      { order: 'appearance', label: trans.__('Sort as they came') },
      { order: 'left', label: trans.__('Sort by what is left') },
      { order: 'name', label: trans.__('Sort by name') }
    ] as const;
    return orders.map(({ order, label }) => ({
      label,
      isToggled: this._order === order,
      run: () => this._setOrder(order)
    }));
  }

  protected renderChart(result: ProgressResult): React.ReactNode {
    return (
      <ProgressView
        result={result}
        order={this._order}
        selection={this.context.selection}
        trans={this.trans}
      />
    );
  }

  protected tableData(result: ProgressResult): TableData {
    return tableOf(result, this.trans);
  }

  private _setOrder(order: Order): void {
    this._order = order;
    this.stateHasChanged();
    this.update();
  }
}
