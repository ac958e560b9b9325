/** Tells other panels what a Task Stream shows of the time, while it is in sight: where it came to rest, and a few times a second while it moves. */
import { Disposing } from '../../feed/disposing';
import type { ClusterInfo } from '../../wire/panel-link';
import type { TimeView, TimeViews } from '../time-views';
import type { Viewport } from './viewport';

const TELL_MS = 250;

export class ToldView extends Disposing {
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _told: {
    readonly views: TimeViews;
    readonly cluster: ClusterInfo;
    readonly view: TimeView;
  } | null = null;

  /** @param _now - null: it is not in sight, or has nothing to show yet. */
  constructor(private readonly _now: () => ToldView.INow | null) {
    super();
  }

  /** It may show another part now. */
  moved(): void {
    if (this._now() !== null) {
      this._timer ??= setTimeout(() => {
        this._timer = undefined;
        this._tell();
      }, TELL_MS);
    }
  }

  /** @param tasks - how many the cluster has, if what was shown is not to stay beyond them. */
  hidden(tasks: number | null): void {
    const told = this._told;
    this._told = null;
    if (told !== null && tasks !== null) {
      told.views.hide(told.cluster.cluster, told.view, tasks);
    }
  }

  protected override end(): void {
    clearTimeout(this._timer);
  }

  private _tell(): void {
    const now = this._now();
    if (now === null) {
      return;
    }
    const { views, cluster } = now;
    const { from, to } = now.view;
    const told = this._told;
    // Another Task Stream of the cluster may have moved since: this one has not.
    if (
      told?.cluster.cluster !== cluster.cluster ||
      told.view.from !== from ||
      told.view.to !== to
    ) {
      const view = { from, to };
      this._told = { views, cluster, view };
      views.show(cluster.cluster, view);
    }
  }
}

export namespace ToldView {
  export interface INow {
    readonly views: TimeViews;
    readonly cluster: ClusterInfo;
    readonly view: Viewport;
  }
}
