/** Whatever a client and workers say: it is handled or refused, and the scheduler goes on. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SeededRandom } from '../../../base/seeded-random';
import { monotonicClock } from '../../../link/monotonic';
import { drawnClusterSettings } from '../../../testing/cluster-settings';
import { DrawnFrames } from '../../../testing/drawn-frames';
import { CLIENT_LINK } from '../../../wire/client-link';
import { FrameDecoder, FrameEncoder } from '../../../wire/frame';
import type { TypeOf } from '../../../wire/schema';
import { WORKER_LINK } from '../../../wire/worker-link';
import { Cluster } from '../cluster';
import type { ClusterState } from '../cluster-state';
import type { IWorkerFleet } from '../worker-fleet';

/** Frames in CI; more by hand: `SPANWISE_FRAMES=500000 jest any-frames`. */
const FRAMES = Number(process.env['SPANWISE_FRAMES'] ?? 4500);
const SEED = Number(process.env['SPANWISE_SEED'] ?? Date.now() % 2 ** 31);

type Handlers = { messages(batch: unknown[]): void; closed(why: string): void };
type Columns = Record<string, ArrayLike<number>>;

/** A link without a socket, on which the test is the other side. */
class EndlessLink {
  handlers!: Handlers;
  refusals: string[] = [];
  readonly queuedBytes = 0;
  constructor(
    readonly role: string,
    readonly intro: object,
    private readonly _sent: (
      type: string,
      fields: unknown,
      tables?: unknown
    ) => void
  ) {}
  start(handlers: Handlers): void {
    this.handlers = handlers;
  }
  send(type: string, fields: unknown, tables?: unknown): void {
    this._sent(type, fields, tables);
  }
  sendLater(type: string, fields: unknown, tables?: unknown): void {
    this._sent(type, fields, tables);
  }
  flush(): void {}
  refuse(_code: string, sentence: string): void {
    this.refusals.push(sentence);
  }
  close(): void {}
  destroy(): void {}
}

let cluster: Cluster;
let folder: string;

// Of a failure too: jest would wait for the cluster's timers.
afterEach(async () => {
  await cluster.end('closed');
  await rm(folder, { recursive: true, force: true });
});

// With the seed in its name a failure of any kind can be had again.
it(`takes any frame from a client and from workers, seed ${SEED}`, async () => {
  const random = new SeededRandom(SEED);
  folder = await mkdtemp(join(tmpdir(), 'sw-'));
  const notes: string[] = [];
  cluster = await Cluster.start({
    settings: drawnClusterSettings({
      nWorkers: 0,
      threadsPerWorker: 2,
      memoryLimit: 1e9,
      observer: { address: 'unix:/nowhere', secretFile: '/nowhere' },
      stallSeconds: 300
    }),
    folder,
    clock: monotonicClock(),
    note: sentence => notes.push(sentence),
    fleet: (): IWorkerFleet => ({
      start: () => undefined,
      has: () => true,
      starterOf: () => null,
      joined: () => undefined,
      worked: () => undefined,
      startingCount: 0,
      threads: 2,
      resources: {},
      replace: () => undefined,
      kill: () => undefined,
      leave: () => undefined,
      dropStarts: () => 0,
      close: () => Promise.resolve()
    })
  });
  const inside = cluster as unknown as {
    _state: ClusterState;
    _clients: { came(link: unknown, id: number): void };
    _roster: { came(link: unknown): void };
  };
  let nextId = 0;
  const assigned: [number, number][] = [];
  const recent = (): number => Math.max(0, nextId - random.below(30));
  const problems: string[] = [];
  const launch = { executable: 'python', path: [], cwd: '/' };
  const client = new EndlessLink('client', { launch }, (type, fields) => {
    if (type === 'problem') {
      problems.push((fields as { sentence: string }).sentence);
    }
  });
  inside._clients.came(client, 0);
  const workers = [1, 2, 3].map(worker => {
    const link = new EndlessLink(
      'worker',
      {
        worker,
        pid: worker,
        threads: 2,
        memoryLimit: 1e9,
        host: 'h',
        address: 'unix:/x'
      },
      (type, _fields, tables) => {
        if (type === 'assign' && tables !== undefined) {
          const { taskId, runId } = (tables as { tasks: Columns }).tasks;
          for (let i = 0; i < taskId!.length; i++) {
            assigned.push([taskId![i]!, runId![i]!]);
          }
          assigned.splice(0, assigned.length - 64);
        }
      }
    );
    inside._roster.came(link);
    return link;
  });
  let run: [number, number] = [0, 0];
  const fromClient = new DrawnFrames('client', 'up', random, {
    id: () => (random.chance(0.6) ? nextId++ : recent()),
    template: () => random.below(6),
    generation: () => 7,
    last: () => random.chance(0.7),
    restriction: () => 0,
    worker: () => random.below(5),
    firstName: () => random.below(20)
  });
  const fromWorker = new DrawnFrames('worker', 'up', random, {
    taskId: () => {
      run = assigned.length > 0 ? random.pick(assigned) : [0, 0];
      return run[0];
    },
    runId: () => run[1],
    status: () => random.below(4),
    firstName: () => 0x80000000 + random.below(20)
  });
  // `close` is the one message that is meant to end it.
  const types = (link: object, without: string[]): never =>
    Object.keys(link).filter(type => !without.includes(type)) as never;
  const up: TypeOf<'client', 'up'>[] = types(CLIENT_LINK.up, ['close']);
  const often = [...up, 'submit', 'submit', 'submit', 'want'] as never;
  const said: TypeOf<'worker', 'up'>[] = types(WORKER_LINK.up, []);
  const saidOften = [...said, 'finished', 'finished', 'finished'] as never;

  const templates = (): unknown => {
    const encoder = new FrameEncoder('client', 'up');
    const body = encoder.encodeBody(
      'submit',
      {
        generation: 7,
        templates: [0, 1, 2, 3, 4, 5].map(id => ({ id, blob: 0 }))
      },
      {},
      [new Uint8Array(9)]
    );
    return new FrameDecoder('client', 'up').decode(body);
  };
  const seen = { client: 0, worker: 0 };
  let last: unknown;
  // A process that has run other specs has memory of theirs.
  const before = process.memoryUsage.rss();
  for (let i = 0; i < FRAMES; i++) {
    if (i % 100 === 0) {
      // `forget` is drawn as well.
      client.handlers.messages([templates()]);
    }
    if (random.chance(0.5)) {
      last = fromClient.draw(often);
      client.handlers.messages([last]);
      seen.client++;
    } else {
      last = fromWorker.draw(saidOften);
      random.pick(workers).handlers.messages([last]);
      seen.worker++;
    }
    if (random.chance(0.3)) {
      await new Promise(resolve => setImmediate(resolve));
    }
    const bugs = problems.filter(sentence => sentence.includes('has failed'));
    if (bugs.length > 0) {
      throw new Error(
        `Seed ${SEED}, frame ${i}: ${notes.slice(-3).join('\n')}\n${JSON.stringify(last)}`
      );
    }
  }
  await new Promise(resolve => setImmediate(resolve));
  inside._state.core.validateState();
  const refusals = [client, ...workers].flatMap(link => link.refusals);
  if (FRAMES > 1e5) {
    process.stderr.write(
      `${JSON.stringify([
        seen,
        refusals.length,
        'refused',
        process.memoryUsage(),
        inside._state.core.tasks.size
      ])}\n`
    );
  }
  refusals.forEach(sentence => expect(sentence.length).toBeGreaterThan(10));
  // It still works.
  expect(cluster.phase).toBe('running');
  expect(process.memoryUsage.rss() - before).toBeLessThan(2e9);
}, 3_600_000);
