/** Clusters that may not be shown here because they speak another protocol. In the observer process. */
import { REFUSED_CLUSTER, type ClusterInfo } from '../../wire/panel-link';
import { PROTOCOL } from '../../wire/handshake-messages';
import { refusedSourceSentence } from './sentences';

/** A source tries again every two seconds: after this long without a try it is gone. */
const GONE_AFTER_MILLISECONDS = 15_000;

/**
 * An entry in the list of clusters for sources that were turned away, so that a user who misses a cluster learns why it is not there and
 * what to do. A refused source has proved nothing: only its protocol number is taken from it.
 */
export class RefusedSources {
  private _info: ClusterInfo | null = null;
  private _timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly _changed: () => void,
    private readonly _goneAfterMilliseconds = GONE_AFTER_MILLISECONDS
  ) {}

  list(): readonly ClusterInfo[] {
    return this._info === null ? [] : [this._info];
  }

  turnedAway(protocol: number): void {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => {
      this._info = null;
      this._changed();
    }, this._goneAfterMilliseconds);
    const why = refusedSourceSentence(protocol, PROTOCOL);
    if (this._info?.why !== why) {
      this._info = {
        cluster: REFUSED_CLUSTER,
        name: 'a cluster of another version',
        kind: 'embedded',
        logId: '',
        state: 'reconnecting',
        why,
        startedAt: Date.now() / 1000,
        clients: [],
        workers: [],
        threads: 0,
        running: 0,
        tasks: 0,
        capabilities: {}
      };
      this._changed();
    }
  }

  dispose(): void {
    clearTimeout(this._timer);
  }
}
