/** System as a panel: what processes take, or all that is on their hosts. */
import type { JSONObject } from '@lumino/coreutils';
import type * as React from 'react';
import { createElement } from '../../charts/shown-element';
import type { SystemResult } from '../../wire/panel-link';
import type { TableData } from '../format';
import { SpanwisePanel } from '../panel';
import type { PanelFace, PanelOptions } from '../panel-context';
import type { PanelState } from '../state-view';
import { RadioGroup } from '../toolbar';
import { OF, type Of, tableOf, titleOf } from './rows';
import { SystemView } from './view';

export class SystemPanel extends SpanwisePanel<SystemResult> {
  private _of: Of;
  private _hidden: ReadonlySet<string> = new Set();

  constructor(face: PanelFace, options: PanelOptions) {
    super(face, options);
    this._of = OF.find(known => known === options.state?.of) ?? 'processes';
  }

  override savedState(): JSONObject {
    return { ...super.savedState(), of: this._of };
  }

  protected get view() {
    return 'system' as const;
  }

  protected override get maxHz(): number {
    return 1;
  }

  // Processes take memory before the first task.
  protected override get showsWithoutTasks(): boolean {
    return true;
  }

  protected override ownState({ lines }: SystemResult): PanelState | null {
    const { trans } = this;
    const { filter, time } = this.answered;
    if (
      lines.length === 0 &&
      (time !== 'all' || filter.workers !== undefined)
    ) {
      return {
        icon: this.face.icon,
        title: trans.__('No process has told of itself here.'),
        sentence: trans.__(
          'The range, or the choice of workers, leaves out every row. (A row is of 0.5 s to 2 s.)'
        ),
        buttons: [this.liftButton()]
      };
    }
    return lines.length > 0
      ? null
      : {
          icon: this.face.icon,
          title: trans.__('No process has told of itself.'),
          sentence: trans.__(
            'Workers and the scheduler of a cluster do so every 0.5 s to 2 s. Programs that are observed do not.'
          )
        };
  }

  protected override liveLine(result: SystemResult): string {
    return result.lines.length > 0 ? titleOf(result, this._of, this.trans) : '';
  }

  protected override renderTools() {
    const { trans } = this;
    return (
      <RadioGroup<Of>
        label={trans.__('Of')}
        value={this._of}
        options={[
          { value: 'processes', label: trans.__('Processes') },
          { value: 'hosts', label: trans.__('Hosts') }
        ]}
        onChange={of => {
          this._of = of;
          this.stateHasChanged();
          this.update();
        }}
      />
    );
  }

  protected renderChart(result: SystemResult): React.ReactNode {
    return (
      <SystemView
        result={result}
        of={this._of}
        hidden={this._hidden}
        context={this.context}
        trans={this.trans}
        onToggle={key => {
          const hidden = new Set(this._hidden);
          if (!hidden.delete(key)) {
            hidden.add(key);
          }
          this._hidden = hidden;
          this.update();
        }}
      />
    );
  }

  protected tableData(result: SystemResult): TableData {
    return tableOf(result, this.trans);
  }
}
