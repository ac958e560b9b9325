/** What a recorder writes, read from a sink that keeps it. */
import { decodeBlock, type Block } from '../../../records/block';
import type { Executor } from '../../local/executor';
import { ref, task } from '../../graph/nodes';
import { getSync } from '../../local/get-sync';
import { ObservedComputations } from '../observed-computations';
import { LiveLog } from '../live-log';
import type { LogSink } from '../log-sink';
import { createRecorder } from '../recorder';
import { RunningBoard } from '../running-board';
import { span } from '../span';

function memory(): LogSink & { readonly blocks: Block[] } {
  const blocks: Block[] = [];
  return {
    blocks,
    open: () => undefined,
    write: bytes => blocks.push(decodeBlock(bytes)),
    flush: () => Promise.resolve(),
    end: () => Promise.resolve()
  };
}

function capacities(blocks: readonly Block[]): number[] {
  return blocks.flatMap(block =>
    block.table === 'capacity' ? [...block.columns.threads] : []
  );
}

describe('a recorder', () => {
  it('takes runs after its end, and keeps nothing of them', async () => {
    const sink = memory();
    const recorder = createRecorder({ name: 'ended', into: sink });
    const early = recorder.begin({ key: 'early' });
    await recorder.close();
    const written = sink.blocks.length;
    early.end();
    for (let at = 0; at < 10_000; at++) {
      using run = recorder.begin({ key: `late-${at}` });
      run.end();
    }
    await recorder.flush();
    expect(sink.blocks).toHaveLength(written);
  });

  it('has lanes for 65,535 runs at a time, in no time', async () => {
    const sink = memory();
    const recorder = createRecorder({ name: 'open', into: sink });
    let looks = 0;
    const lanes: boolean[] = new Proxy([], {
      get: (taken, name, receiver) => {
        if (++looks > 1_000_000) {
          throw new Error('All lanes are gone through again and again.');
        }
        return Reflect.get(taken, name, receiver) as unknown;
      }
    });
    Object.assign(recorder, { _isTaken: lanes });
    const before = process.cpuUsage();
    const runs = Array.from({ length: 70_000 }, () =>
      recorder.begin({ key: 'never-1' })
    );
    // Looking through all lanes for each took minutes: 2 thousand million looks. Here it is a few for each.
    expect(looks).toBeGreaterThan(70_000);
    // Whatever else could grow with them: half a second of the processor, not of the wall clock.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(15);
    runs.forEach(run => run.end());
    await recorder.close();
    const most = capacities(sink.blocks).reduce((a, b) => Math.max(a, b), 0);
    expect(most).toBe(65_535);
    expect(capacities(sink.blocks).at(-1)).toBe(65_535);
    const threads = sink.blocks.flatMap(block =>
      block.table === 'lanes' ? [...block.columns.thread] : []
    );
    expect(new Set(threads).size).toBe(threads.length);
  });

  it('is forgotten by a span that stays open', async () => {
    const outer = span('days', () => span(['days', 'open']));
    const watch = jest.spyOn(outer, 'watch');
    const unwatch = jest.spyOn(outer, 'unwatch');
    for (let at = 0; at < 3; at++) {
      const recorder = createRecorder({ name: 'short', into: memory() });
      recorder.begin({ key: 'a', span: outer }).end();
      await recorder.close();
    }
    expect(watch.mock.calls).toHaveLength(3);
    expect(unwatch.mock.calls).toEqual(watch.mock.calls);
    outer[Symbol.dispose]();
  });
});

describe('runs of very many tasks', () => {
  it('are written in blocks that fit into what is kept, edges with their nodes', () => {
    const sink = memory();
    const live = new LiveLog('large', sink);
    const following = new ObservedComputations(
      live,
      new RunningBoard(),
      () => undefined
    );
    const graph = new Map<string, unknown>();
    for (let at = 0; at < 20_000; at++) {
      const input = at === 0 ? 0 : ref(`inc-${at - 1}`);
      graph.set(
        `inc-${at}`,
        task((x: number) => x + 1, input)
      );
    }
    expect(following.run(() => getSync(graph as never, 'inc-19999'))).toBe(
      20_000
    );
    live.seal();
    const sizes = sink.blocks.map(({ byteLength }) => byteLength);
    // (all in one block would be 800,000)
    expect(sizes.reduce((a, b) => Math.max(a, b))).toBeLessThan(600_000);
    // A reader of the blocks in their order knows all that an edge refers to.
    let nodes = 0;
    let edges = 0;
    for (const block of sink.blocks) {
      if (block.table === 'nodes') {
        nodes += block.rows;
      } else if (block.table === 'edges') {
        edges += block.rows;
        expect(edges).toBe(nodes - 1);
      }
    }
    expect([nodes, edges]).toEqual([20_000, 19_999]);
  });
});

describe('very many threads', () => {
  it('are said to be 65,535', async () => {
    const sink = memory();
    const live = new LiveLog('wide', sink);
    const following = new ObservedComputations(
      live,
      new RunningBoard(),
      () => undefined
    );
    const ofPool: Executor = {
      numWorkers: 100_000,
      remote: {
        kind: 'threads',
        pool: {},
        size: 100_000,
        measure: () => undefined,
        lives: () => true,
        running: () => []
      },
      submit: () => undefined,
      stop: () => Promise.resolve()
    };
    following.giveLanes(following.takeLanes(ofPool), ofPool);
    await live.end('closed');
    // A column of 16 bits would have made 34,464 of them.
    expect(capacities(sink.blocks)).toEqual([0, 65_535, 0]);
  });
});
