/**
 * What Task Streams show of the time, by cluster, in one page: others of the cluster may show the same. A view stays when its panel is hidden;
 * of one that went on with the newest work only until there is newer work, for nobody sees then where it would have gone.
 */
import { type ISignal, Signal } from '@lumino/signaling';

export type TimeView = {
  /** Seconds since the cluster's start. */
  readonly from: number;
  readonly to: number;
  /** It holds while the cluster has no more tasks than these. Left out: it holds until another one is shown. */
  readonly whileTasks?: number;
};

export class TimeViews {
  private readonly _views = new Map<string, TimeView>();
  private readonly _changed = new Signal<this, string>(this);

  /** With the cluster of which another part is shown. */
  get changed(): ISignal<this, string> {
    return this._changed;
  }

  /** Of a cluster that has so many tasks; null: nothing shows it. */
  of(cluster: string, tasks: number): TimeView | null {
    const view = this._views.get(cluster);
    return view === undefined || tasks > (view.whileTasks ?? Infinity)
      ? null
      : view;
  }

  show(cluster: string, view: TimeView): void {
    this._views.set(cluster, view);
    this._changed.emit(cluster);
  }

  /** It is hidden now, if it is still what is shown. */
  hide(cluster: string, view: TimeView, whileTasks: number): void {
    if (this._views.get(cluster) === view) {
      this._views.set(cluster, { ...view, whileTasks });
    }
  }
}
