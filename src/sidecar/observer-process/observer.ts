/** The observer: a door for sources and panels, and the clusters that it knows. In the observer process, and in its tests. */
import type { Slices } from '../../observer/folds/context';
import { Door, type AcceptedLink } from '../../link/door';
import type { Transport } from '../../link/addresses';
import { HandshakeRefused } from '../../wire/handshake';
import { Clusters } from './clusters';
import type { ObservedCluster } from './observed-cluster';
import { PanelSession } from './panel-session';
import { SourceSession } from './source-session';
import { Viewers } from './viewers';
import { WorkQueue } from './work-queue';

/** Pages and Python clients at a time. One costs some 100 KB, and a few MB more if it does not read. */
const MOST_VIEWERS = 256;

export type ObserverOptions = {
  readonly folder: string;
  readonly transport: Transport;
  readonly secret: Uint8Array;
  readonly build: string;
  readonly budgetBytes?: number;
  readonly lostAfterMilliseconds?: number;
  /**
   * Has the hot paths compiled: run once, when a viewer is known for a page, by its first message or by its silence. A program that nobody
   * watches has no use for it, nor one that asks for its own figures: it took half of the observer's start.
   */
  readonly warmUp?: () => Slices<void>;
  /** For the process's log. */
  readonly note: (sentence: string) => void;
};

export class Observer {
  static async start(options: ObserverOptions): Promise<Observer> {
    const queue = new WorkQueue();
    const clusters = new Clusters({
      queue,
      note: options.note,
      ...(options.budgetBytes === undefined
        ? {}
        : { budgetBytes: options.budgetBytes }),
      ...(options.lostAfterMilliseconds === undefined
        ? {}
        : { lostAfterMilliseconds: options.lostAfterMilliseconds })
    });
    let warmUp = options.warmUp;
    const warmUpOnce = (): void => {
      if (warmUp !== undefined) {
        void queue.run(warmUp());
        warmUp = undefined;
      }
    };
    const newest = new WeakMap<ObservedCluster, SourceSession>();
    const viewers = new Viewers();
    const links = new Set<AcceptedLink<'source' | 'panel'>>();
    const forgetClosed = (): void => {
      for (const old of links) {
        if (old.closed) {
          links.delete(old);
        }
      }
    };
    const door = await Door.open<'source' | 'panel'>({
      transport: options.transport,
      folder: options.folder,
      name: 'observer',
      secret: options.secret,
      build: options.build,
      roles: ['source', 'panel'],
      welcome: role => {
        forgetClosed();
        const count = [...links].filter(link => link.role === 'panel').length;
        if (role === 'panel' && count >= MOST_VIEWERS) {
          throw new HandshakeRefused(
            'busy',
            `${MOST_VIEWERS} pages watch already: close some, then reload this one.`
          );
        }
        return {};
      },
      onLink: link => {
        links.add(link);
        if (link.role === 'source') {
          new SourceSession(
            link as AcceptedLink<'source'>,
            clusters,
            newest,
            viewers
          );
        } else {
          viewers.came();
          new PanelSession(
            link as AcceptedLink<'panel'>,
            clusters,
            queue,
            options.note,
            warmUpOnce,
            () => viewers.left()
          );
        }
      },
      onRefused: (sentence, caller) => {
        options.note(sentence);
        if (caller?.role === 'source') {
          clusters.refused.turnedAway(caller.protocol);
        }
      }
    });
    return new Observer(door, clusters, viewers, links);
  }

  private constructor(
    private readonly _door: Door<'source' | 'panel'>,
    readonly clusters: Clusters,
    private readonly _viewers: Viewers,
    private readonly _links: ReadonlySet<AcceptedLink<'source' | 'panel'>>
  ) {}

  get address(): string {
    return this._door.address;
  }

  async close(): Promise<void> {
    await this._door.close();
    this._viewers.dispose();
    for (const link of this._links) {
      link.close('The observer ended.');
    }
    this.clusters.dispose();
  }
}
