/** The line in the status bar: workers, running tasks and memory of the cluster in front, or, if that has ended, of one that runs. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { type ISignal, Signal } from '@lumino/signaling';
import { createElement } from '../charts/shown-element';
import { formatBytes } from '../panels/format';
import { taskStreamIcon } from '../panels/icons';
import { tasksNowText, waitingLines, waitingText } from '../panels/waiting';
import { memoryOf, notOfSentence, workersText } from './cluster-figures';
import type { IClusterInFront } from './tokens';

export class StatusItem extends ReactWidget {
  private readonly _hasClusterChanged = new Signal<this, void>(this);

  constructor(
    private readonly _front: IClusterInFront,
    private readonly _trans: TranslationBundle,
    private readonly _onClick: () => void
  ) {
    super();
    this._front.changed.connect(this._redraw, this);
  }

  /** The status bar asks again whether to show the item. */
  get hasClusterChanged(): ISignal<this, void> {
    return this._hasClusterChanged;
  }

  /** Whether there is a cluster to tell of. */
  get hasCluster(): boolean {
    return this._front.running !== null;
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._front.changed.disconnect(this._redraw, this);
    Signal.clearData(this);
    super.dispose();
  }

  render(): JSX.Element | null {
    const { cluster: shown, running: cluster, notOf, ownedBy } = this._front;
    if (cluster === null) {
      return null;
    }
    const parts = [
      workersText(cluster, this._trans).text,
      // Dask tells late that a task runs, and at once that it waits.
      cluster.kind === 'dask'
        ? waitingText(cluster, this._trans)
        : tasksNowText(cluster, this._trans),
      formatBytes(memoryOf(cluster).used)
    ].filter(Boolean);
    const figures = parts.join(' · ');
    // Whose they are, where one would take them for those of one's own notebook.
    const isUnshown = shown?.cluster !== cluster.cluster;
    const isOther = isUnshown || notOf !== undefined;
    return (
      <button
        type="button"
        className="sw-status"
        aria-label={[
          'Spanwise',
          ...(isOther ? [cluster.name] : []),
          parts.join(', ')
        ].join(': ')}
        title={[
          `Spanwise: ${cluster.name}`,
          ...(isUnshown
            ? [this._trans.__('The sidebar shows a cluster that has ended.')]
            : notOf === undefined
              ? []
              : [notOfSentence(notOf, ownedBy, this._trans)]),
          ...waitingLines(cluster, this._trans)
        ].join('\n')}
        onClick={this._onClick}
      >
        <taskStreamIcon.react tag="span" />
        {isOther && <bdi className="sw-status-name">{cluster.name}</bdi>}
        {isOther && <span className="sw-status-colon">:</span>}
        <span>{figures}</span>
      </button>
    );
  }

  private _redraw(): void {
    this._hasClusterChanged.emit();
    this.update();
  }
}
