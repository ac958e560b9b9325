import type { ClusterSettings } from '../wire/cluster-settings';
import { PROTOCOL } from '../wire/handshake-messages';

/** Settings of a scheduler process, as a client would write them: one worker of one thread, no observer, unless `settings` say otherwise. */
export function drawnClusterSettings(
  settings: Partial<ClusterSettings> = {}
): ClusterSettings {
  return {
    protocol: PROTOCOL,
    clusterId: 'c1',
    name: 'test',
    secretHex: '07'.repeat(32),
    transport: 'unix',
    nWorkers: 1,
    threadsPerWorker: 1,
    memoryLimit: 0,
    memory: {},
    profile: { enabled: true, interval: 0.01, cycle: 1, scheduler: false },
    resources: {},
    transferLogLength: 1000,
    launch: {
      executable: 'python',
      path: [],
      cwd: '/',
      env: {},
      versions: { python: '3.11' },
      modules: []
    },
    observer: null,
    client: null,
    workerTtlSeconds: 60,
    workerSaturation: null,
    recording: true,
    stallSeconds: 0,
    allowedFailures: 3,
    idleSeconds: 0,
    port: 0,
    notebook: null,
    owner: 'program',
    wallEpoch: 0,
    ...settings
  };
}
