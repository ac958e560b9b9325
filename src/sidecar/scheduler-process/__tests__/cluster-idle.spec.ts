import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drawnClusterSettings } from '../../../testing/cluster-settings';
import { WireFleet } from '../../../testing/wire-worker';
import { Cluster } from '../cluster';

const IDLE_SECONDS = 10;
/** All but what the watch looks by: links and the turns of the loop go on as ever. */
const NOT_FAKED: readonly FakeableAPI[] = [
  ...(['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const),
  ...(['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'] as const)
];

describe.each([
  ['program', 'closed'],
  ['server', 'idle']
] as const)('a cluster of a %s that is used by nobody', (owner, why) => {
  let folder: string;
  let cluster: Cluster;
  let fleet: WireFleet;
  let ended: string | null;
  let now: number;

  beforeEach(async () => {
    jest.useFakeTimers({ doNotFake: [...NOT_FAKED] });
    folder = await mkdtemp(join(tmpdir(), 'sw-'));
    now = 0;
    ended = null;
    cluster = await Cluster.start({
      settings: drawnClusterSettings({
        owner,
        nWorkers: 0,
        idleSeconds: IDLE_SECONDS
      }),
      folder,
      clock: () => now,
      note: () => undefined,
      fleet: options => (fleet = new WireFleet(options))
    });
    void cluster.ended.then(reason => (ended = reason));
  });

  afterEach(async () => {
    await cluster.end('closed');
    jest.useRealTimers();
    await rm(folder, { recursive: true });
  });

  /** So many looks, a second apart. */
  async function pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      now++;
      jest.advanceTimersByTime(1000);
      await new Promise(resolve => setImmediate(resolve));
    }
  }

  it('does not end while its first worker starts, however long that takes', async () => {
    fleet.startingCount = 1;
    await pass(5 * IDLE_SECONDS);
    expect([cluster.phase, ended]).toEqual(['starting', null]);
    // The time begins when the worker is there, or has been given up.
    fleet.startingCount = 0;
    await pass(IDLE_SECONDS - 1);
    expect([cluster.phase, ended]).toEqual(['starting', null]);
    await pass(2);
    expect(cluster.phase).toBe('closing');
    await cluster.ended;
    expect(ended).toBe(why);
  });

  it('does not end while a worker starts in the place of another', async () => {
    await pass(IDLE_SECONDS / 2);
    fleet.startingCount = 1;
    await pass(2 * IDLE_SECONDS);
    expect(cluster.phase).toBe('starting');
  });
});
