/** Pages that ask for too much, at the observer as it ships: the others notice nothing, and its memory stays where it was. */
import { once } from 'node:events';
import { dial } from '../../../link/dial';
import { encode as encodeMsgpack } from '@msgpack/msgpack';
import { connect } from 'node:net';
import { connectOptions } from '../../../link/addresses';
import { syntheticLog } from '../../../testing/synthetic-log';
import { waitFor } from '../../../testing/wait-for';
import { PROTOCOL } from '../../../wire/handshake-messages';
import { secret, TestPanel, TestSource } from './observer-fixture';
import {
  coreWaitSeconds,
  ObserverPrograms,
  residentMegabytes
} from './observer-process';

const NAP_MS = 10;

const itOnLinux = process.platform === 'linux' ? it : it.skip;

describe('an observer whose pages ask for too much', () => {
  let programs: ObserverPrograms;
  let child: Awaited<ReturnType<ObserverPrograms['start']>>['child'];
  let address: string;
  const links: { destroy(): void }[] = [];
  const panel = async (): Promise<TestPanel> => {
    const link = await dial({ address, role: 'panel', secret, build: 'test' });
    links.push(link);
    return new TestPanel(link);
  };
  /** How long somebody else's question takes, without the time in which the observer, or this process, waited for a core, and in which the machine stood still. */
  const answerSeconds = async (
    page: TestPanel,
    id: number
  ): Promise<number> => {
    const read = () => {
      const { user, system } = process.cpuUsage();
      return {
        at: performance.now(),
        used: (user + system) / 1000,
        waited:
          1000 * (coreWaitSeconds(child.pid!) + coreWaitSeconds(process.pid))
      };
    };
    const begin = read();
    let [before, lost] = [begin, 0];
    // Of each stretch the larger of both, for who waits for a core is late, too: the waits for cores, and by how much the timer is late if
    // this process computed nothing meanwhile. Then the machine stood still.
    const look = () => {
      const now = read();
      const length = now.at - before.at;
      const stood = now.used - before.used < NAP_MS ? length - 2 * NAP_MS : 0;
      lost += Math.min(length, Math.max(stood, now.waited - before.waited));
      before = now;
    };
    const nap = setInterval(look, NAP_MS);
    try {
      const time = { from: 0, to: 1 + id };
      const query = { id, cluster: 'c1', time, maxHz: 0 } as const;
      page.link.send('watch', { ...query, view: 'fine-metrics' });
      await page.next('snapshot', fields => fields.id === id);
      look();
      return (before.at - begin.at - lost) / 1000;
    } finally {
      clearInterval(nap);
    }
  };

  beforeAll(async () => {
    programs = await ObserverPrograms.build();
  });
  afterAll(() => programs.remove());
  beforeEach(async () => {
    const started = await programs.start({
      protocol: PROTOCOL,
      secretHex: Buffer.from(secret).toString('hex'),
      transport: 'unix'
    });
    child = started.child;
    ({ address } = started.said['ready'] as { address: string });
    const link = await dial({ address, role: 'source', secret, build: 'test' });
    links.push(link);
    const source = new TestSource(link);
    await source.open();
    await source.send([
      ...syntheticLog({
        runs: 20_000,
        workers: 4,
        threadsPerWorker: 4,
        functions: 5,
        spans: 3,
        meanMilliseconds: 1,
        partsShare: 0.5
      })
    ]);
  });
  afterEach(async () => {
    links.splice(0).forEach(link => link.destroy());
    const exited = once(child, 'exit');
    child.stdin.end();
    await exited;
  });

  itOnLinux(
    'answers the others, keeps its memory, and tells the page',
    async () => {
      const other = await panel();
      await answerSeconds(other, 1);
      const greedy = await panel();
      greedy.link.send('watch', { id: 1, cluster: 'c1', view: 'task-stream' });
      await greedy.next('snapshot');
      const before = residentMegabytes(child.pid!);
      // 640,000 tiles, no two alike.
      for (let i = 0; i < 10_000; i++) {
        greedy.link.send('tiles', {
          id: 1,
          level: 1 + (i % 20),
          first: i * 64,
          count: 64
        });
      }
      let most = 0;
      for (let id = 2; id < 8; id++) {
        expect(await answerSeconds(other, id)).toBeLessThan(2);
        most = Math.max(most, residentMegabytes(child.pid!));
      }
      expect((await greedy.next('failure')).fields).toMatchObject({
        id: 1,
        sentence: expect.stringContaining('More than 1,024 tiles wait')
      });
      // It may ask again, and is answered.
      greedy.link.send('tiles', { id: 1, level: 10, first: 0, count: 3 });
      await greedy.next(
        'tile',
        ({ level, index }) => level === 10 && index === 0
      );
      expect(most - before).toBeLessThan(100);
    }
  );

  itOnLinux('does nothing for one that has gone', async () => {
    const greedy = await panel();
    greedy.link.send('watch', { id: 1, cluster: 'c1', view: 'task-stream' });
    await greedy.next('snapshot');
    for (let i = 0; i < 4_000; i++) {
      greedy.link.send('tiles', {
        id: 1,
        level: 3,
        first: i * 64,
        count: 64
      });
    }
    await greedy.next('tile');
    greedy.link.destroy();
    const other = await panel();
    expect(await answerSeconds(other, 1)).toBeLessThan(2);
  });

  itOnLinux(
    'makes no more for one that does not read than it can hold',
    async () => {
      const deaf = await panel();
      deaf.link.send('watch', { id: 1, cluster: 'c1', view: 'task-stream' });
      await deaf.next('snapshot');
      const before = residentMegabytes(child.pid!);
      deaf.link.pause();
      // Each answer has the tables of a whole run of 20,000 tasks.
      for (let i = 0; i < 20_000; i++) {
        deaf.link.send('change', { id: 1, time: { from: 0, to: i } });
        deaf.link.send('detail', { request: i, cluster: 'c1', run: i });
        deaf.link.send('tiles', {
          id: 1,
          level: 4 + (i % 9),
          first: i % 9,
          count: 9
        });
      }
      const other = await panel();
      for (let id = 2; id < 8; id++) {
        expect(await answerSeconds(other, id)).toBeLessThan(2);
        expect(residentMegabytes(child.pid!) - before).toBeLessThan(100);
      }
      // When it reads at last it gets what it asked for.
      deaf.link.resume();
      await deaf.next('detail', ({ request }) => request === 19_999);
    }
  );

  itOnLinux(
    'is not brought down by lengths that nothing stands behind',
    async () => {
      const before = residentMegabytes(child.pid!);
      const nested = new Uint8Array(5 * 60);
      for (let at = 0; at < nested.length; at += 5) {
        nested.set([0xdd, 1, 0xff, 0xff, 0xff], at);
      }
      const header = Uint8Array.from([
        ...encodeMsgpack({ t: 'watch' }).map((byte, i) =>
          i === 0 ? 0x82 : byte
        ),
        ...[0xa1, 0x66],
        ...nested
      ]);
      const body = new Uint8Array(4 + header.length);
      new DataView(body.buffer).setUint32(0, header.length, true);
      body.set(header, 4);
      const attacker = await panel();
      // Past the encoder, which would not write it.
      (
        attacker.link as unknown as { _socket: { write(frame: unknown): void } }
      )._socket.write({
        chunks: [
          Uint8Array.of(body.length & 255, body.length >> 8, 0, 0),
          body
        ],
        bodyLength: body.length
      });
      await waitFor(
        'the refusal',
        () => attacker.inbox.closedBecause !== undefined
      );
      expect(attacker.inbox.closedBecause).toMatch(/items are promised/);
      // A length of 3.9 GiB from a stranger, and from a page.
      const stranger = connect(connectOptions(address));
      stranger.write(Uint8Array.of(0, 0, 0, 0xf9));
      stranger.resume();
      await once(stranger, 'close');
      expect(residentMegabytes(child.pid!) - before).toBeLessThan(50);
      await answerSeconds(await panel(), 1);
    }
  );

  itOnLinux('lets in so many pages, and more when some have gone', async () => {
    const pages = [];
    for (let i = 0; i < 256; i++) {
      pages.push(await panel());
    }
    await expect(panel()).rejects.toThrow(/256 pages watch already/);
    pages[0]!.link.destroy();
    let room: boolean | undefined;
    await waitFor('room', () => {
      if (room === undefined) {
        room = false;
        void panel().then(
          () => (room = true),
          () => (room = undefined)
        );
      }
      return room;
    });
  });
});
