/** The activity of all of the time, which is drawn behind a chosen range: of a range the panel's own answers have no more than that. */
import { Disposing } from '../../feed/disposing';
import type { Filter, Snapshot } from '../../wire/panel-link';
import type { PanelContext } from '../panel-context';
import { PanelWatch } from '../panel-watch';
import { type Activity, activityOf } from './figure';

export class WholeActivity extends Disposing {
  private _known: {
    readonly logId: string;
    readonly activity: Activity;
  } | null = null;
  private _last: Snapshot | null = null;
  private readonly _watching: PanelWatch;

  /**
   * @param filter - that of the panel.
   * @param changed - there is another one to draw.
   */
  constructor(
    context: PanelContext,
    filter: () => Filter,
    changed: () => void
  ) {
    super();
    this._watching = new PanelWatch({
      context,
      view: 'profile',
      // (its frames are not drawn)
      params: () => ({ groupBy: 'all', order: 'left-heavy', maxNodes: 1 }),
      asked: () => ({ filter: filter(), time: 'all' }),
      maxHz: 0.5
    });
    this._watching.changed.connect(({ snapshot }) => {
      // (called when a run is selected, too)
      if (snapshot !== null && snapshot !== this._last) {
        this._last = snapshot;
        this.tell(snapshot);
        changed();
      }
    });
  }

  /** Null: it is not known yet. */
  of(logId: string): Activity | null {
    return this._known?.logId === logId ? this._known.activity : null;
  }

  /** Follow it while the panel is in sight and asks for a range. */
  follow(isWanted: boolean): void {
    if (isWanted) {
      // (the panel may have been linked again)
      this._watching.askAgain();
      this._watching.start();
    } else {
      this._watching.stop();
    }
  }

  /** An answer to all of the time, as the panel's own are while no range is chosen. */
  tell({ logId, result }: Snapshot): void {
    if (result.view === 'profile') {
      this._known = { logId, activity: activityOf(result) };
    }
  }

  protected override end(): void {
    this._watching.dispose();
  }
}
