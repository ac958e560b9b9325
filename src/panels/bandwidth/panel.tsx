/** Bandwidth as a panel: speed or bytes, of each pair of workers and each type. */
import type { JSONObject } from '@lumino/coreutils';
import type * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { TransfersResult } from '../../wire/panel-link';
import type { TableData } from '../format';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { Hidden } from '../panel-states';
import type { PanelState } from '../state-view';
import { RadioGroup } from '../toolbar';
import { type Show, SHOWS, tableOf, titleOf } from './rows';
import { BandwidthView } from './view';

export class BandwidthPanel extends SpanwisePanel<TransfersResult> {
  private _show: Show;

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    this._show = SHOWS.find(known => known === options.state?.show) ?? 'speed';
  }

  override savedState(): JSONObject {
    return { ...super.savedState(), show: this._show };
  }

  protected get view() {
    return 'transfers' as const;
  }

  protected override get maxHz(): number {
    return 1;
  }

  /** Times and workers alone narrow what it shows. */
  protected override isEmpty(result: TransfersResult): Hidden | null {
    const { total, hidden } = result;
    const { filter, time } = this.answered;
    // An observer of before does not tell how many it has left out.
    const mayHide =
      hidden ?? Number(time !== 'all' || (filter.workers ?? []).length > 0);
    return total.count === 0 && mayHide > 0
      ? { hidden: hidden ?? 0, of: 'transfers', by: ['worker', 'time'] }
      : null;
  }

  protected override ownState({ total }: TransfersResult): PanelState | null {
    const { trans } = this;
    return total.count > 0
      ? null
      : {
          icon: this.face.icon,
          title: trans.__('No worker has fetched from another.'),
          sentence: trans.__(
            'Results move when a task runs on another worker than its inputs. With one worker, and with Dask’s own schedulers, nothing has to move.'
          )
        };
  }

  protected override liveLine(result: TransfersResult): string {
    return result.total.count > 0 ? titleOf(result, this.trans) : '';
  }

  protected override renderTools() {
    const { trans } = this;
    return (
      <RadioGroup<Show>
        label={trans.__('Show')}
        value={this._show}
        options={[
          { value: 'speed', label: trans.__('Speed') },
          { value: 'bytes', label: trans.__('Bytes') }
        ]}
        onChange={show => {
          this._show = show;
          this.stateHasChanged();
          this.update();
        }}
      />
    );
  }

  protected renderChart(result: TransfersResult): React.ReactNode {
    return (
      <BandwidthView
        result={result}
        show={this._show}
        context={this.context}
        trans={this.trans}
      />
    );
  }

  protected tableData(result: TransfersResult): TableData {
    return tableOf(result, this.trans);
  }
}
