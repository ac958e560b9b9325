import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monotonicClock } from '../link/monotonic';
import { Cluster } from '../sidecar/scheduler-process/cluster';
import type { ClusterSettings } from '../wire/cluster-settings';
import { drawnClusterSettings } from './cluster-settings';
import { waitFor } from './wait-for';
import { WireClient } from './wire-client';
import { WireFleet, type WireWorker } from './wire-worker';

const secret = Buffer.alloc(32, 7);

/** A real cluster over real links, with its owner: the workers of a {@link WireFleet} are there, and more clients may join. */
export class WireCluster {
  /** Clients that joined, and are let go of at the end. */
  readonly guests = new Set<WireClient>();

  private constructor(
    readonly cluster: Cluster,
    readonly fleet: WireFleet,
    readonly owner: WireClient,
    private readonly _folder: string
  ) {}

  static async start(
    changes: Partial<ClusterSettings> = {}
  ): Promise<WireCluster> {
    const settings = drawnClusterSettings({
      secretHex: secret.toString('hex'),
      ...changes
    });
    const folder = await mkdtemp(join(tmpdir(), 'sw-'));
    let fleet!: WireFleet;
    const cluster = await Cluster.start({
      settings,
      folder,
      clock: monotonicClock(),
      note: () => undefined,
      fleet: options => (fleet = new WireFleet(options))
    });
    const owner = await WireClient.join(cluster.address, secret);
    await waitFor('workers', () => fleet.workers.size === settings.nWorkers);
    return new WireCluster(cluster, fleet, owner, folder);
  }

  get workers(): WireWorker[] {
    return [...this.fleet.workers.values()];
  }

  async guest(): Promise<WireClient> {
    const client = await WireClient.join(this.cluster.address, secret, true);
    this.guests.add(client);
    return client;
  }

  async end(): Promise<void> {
    await this.cluster.end('closed');
    [this.owner, ...this.guests].forEach(({ link }) => link.destroy());
    await rm(this._folder, { recursive: true });
  }
}
