/** Whatever pages and sources say: it is answered or refused, and the observer goes on. */
import { SeededRandom } from '../../../base/seeded-random';
import { DrawnFrames } from '../../../testing/drawn-frames';
import { drawBlocks } from '../../../testing/run-from-text';
import { PANEL_LINK } from '../../../wire/panel-link';
import { waitFor } from '../../../testing/wait-for';
import type { TypeOf } from '../../../wire/schema';
import { SOURCE_LINK } from '../../../wire/source-link';
import { Clusters } from '../clusters';
import type { ObservedCluster } from '../observed-cluster';
import { PanelSession } from '../panel-session';
import { SourceSession } from '../source-session';
import { Viewers } from '../viewers';
import { WorkQueue } from '../work-queue';
import { encoded } from './observer-fixture';

/** Frames in CI; more by hand: `SPANWISE_FRAMES=500000 jest any-frames`. */
const FRAMES = Number(process.env['SPANWISE_FRAMES'] ?? 3000);
const SEED = Number(process.env['SPANWISE_SEED'] ?? Date.now() % 2 ** 31);

/** Of this process: a machine that gives it no core takes none of it. */
function cpuMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

type Handlers = {
  messages(batch: unknown[]): void;
  closed(why: string): void;
};

/** A link without a socket, on which the test is the other side. */
class EndlessLink {
  handlers!: Handlers;
  readonly queuedBytes = 0;
  readonly refusals: string[] = [];
  readonly failures: string[] = [];
  answers = 0;

  constructor(readonly role: string) {}
  start(handlers: Handlers): void {
    this.handlers = handlers;
  }
  send(type: string, fields: { sentence?: string }): void {
    this.answers++;
    if (type === 'failure') {
      this.failures.push(fields.sentence ?? '');
      this.failures.splice(0, this.failures.length - 100);
    }
  }
  refuse(_code: string, sentence: string): void {
    this.refusals.push(sentence);
  }
  pause(): void {}
  resume(): void {}
}

// With the seed in its name a failure of any kind can be had again.
it(`takes any frame from pages and from sources, seed ${SEED}`, async () => {
  const random = new SeededRandom(SEED);
  const note = () => undefined;
  const queue = new WorkQueue();
  const clusters = new Clusters({ queue, note, lostAfterMilliseconds: 50 });
  const newest = new WeakMap<ObservedCluster, SourceSession>();
  const pages = [0, 1, 2].map(() => {
    const link = new EndlessLink('panel');
    new PanelSession(link as never, clusters, queue, note);
    return link;
  });
  const sources = [0, 1].map(() => {
    const link = new EndlessLink('source');
    new SourceSession(link as never, clusters, newest, new Viewers());
    return link;
  });
  const blocks = drawBlocks(
    `
    0/0  aaaabb..cc
    0/1  ..cccc.dd
    1/0  dddd..aaaa`,
    { tasks: { a: { span: 'x/y', function: 'load' }, b: { span: 'z' } } }
  ).map(encoded);
  const open = (at: EndlessLink, cluster: string): void =>
    at.handlers.messages([
      {
        type: 'open',
        fields: {
          logId: `log of ${cluster}`,
          clusterId: cluster,
          name: cluster,
          kind: 'embedded',
          wallEpoch: Date.now() / 1000,
          pid: process.pid,
          versions: {},
          capabilities: {},
          environmentId: ''
        },
        tables: {},
        blobs: []
      }
    ]);
  open(sources[0]!, 'c1');
  sources[0]!.handlers.messages([
    { type: 'block', fields: {}, tables: {}, blobs: blocks }
  ]);

  const fromPage = new DrawnFrames('panel', 'up', random, {
    id: () => random.below(5),
    cluster: () => 'c1',
    run: () => random.below(8)
  });
  const fromSource = new DrawnFrames('source', 'up', random, {
    clusterId: () => random.pick(['c1', 'c2']),
    logId: () => random.pick(['log of c1', 'other'])
  });
  const asked = Object.keys(PANEL_LINK.up) as TypeOf<'panel', 'up'>[];
  const said = ['open', 'end'] as TypeOf<'source', 'up'>[];
  expect(Object.keys(SOURCE_LINK.up)).toEqual(
    expect.arrayContaining([...said, 'block'])
  );
  let seq = blocks.length;
  /** A block with some bytes other than they were: columns, ids, offsets, counts. */
  const mutated = (): Uint8Array => {
    const block = random.pick(blocks).slice();
    const view = new DataView(block.buffer);
    view.setUint32(4, ++seq, true);
    for (let i = random.below(4); i > 0; i--) {
      // Mostly the columns; the header would rarely pass.
      const at = random.chance(0.1) ? 8 : 24;
      const where = at + 4 * random.below((block.length - at) >> 2);
      const value = random.pick([0, 1, 7, 255, 65_535, 2 ** 31, 2 ** 32 - 1]);
      if (where + 4 <= block.length) {
        view.setUint32(where, value, true);
      }
    }
    if (random.chance(0.2)) {
      const at = 24 + 8 * random.below((block.length - 24) >> 3);
      const value = random.pick([NaN, Infinity, -Infinity, -1, 1e300, 1e9]);
      if (at + 8 <= block.length) {
        view.setFloat64(at, value, true);
      }
    }
    return block;
  };

  let longest = 0;
  // A process that has run other specs has memory of theirs.
  const rssBefore = process.memoryUsage.rss();
  for (let i = 0; i < FRAMES; i++) {
    const begin = cpuMilliseconds();
    if (random.chance(0.7)) {
      random.pick(pages).handlers.messages([fromPage.draw(asked)]);
    } else if (random.chance(0.85)) {
      random
        .pick(sources)
        .handlers.messages([
          { type: 'block', fields: {}, tables: {}, blobs: [mutated()] }
        ]);
    } else {
      random.pick(sources).handlers.messages([fromSource.draw(said)]);
      open(random.pick(sources), 'c1');
    }
    if (random.chance(0.3)) {
      await new Promise(resolve => setImmediate(resolve));
    }
    const took = cpuMilliseconds() - begin;
    if (took > longest) {
      longest = took;
    }
    if (took > 5000) {
      throw new Error(
        `Seed ${SEED}, frame ${i} took ${took} ms of the processor.`
      );
    }
  }
  const failures = pages.flatMap(page => page.failures);
  if (FRAMES > 1e5) {
    process.stderr.write(
      `${JSON.stringify([
        { longest, answers: pages.map(page => page.answers) },
        [...new Set(failures.map(text => text.slice(0, 90)))].slice(0, 20),
        process.memoryUsage()
      ])}\n`
    );
  }
  // It still answers; from a page that came now.
  const link = new EndlessLink('panel');
  new PanelSession(link as never, clusters, queue, note);
  open(sources[0]!, 'c9');
  const before = link.answers;
  link.handlers.messages([
    {
      type: 'watch',
      fields: {
        id: 1,
        cluster: 'c9',
        view: 'summary',
        filter: {},
        time: 'all',
        params: {},
        maxHz: 0
      },
      tables: {},
      blobs: []
    }
  ]);
  await waitFor('an answer', () => link.answers > before);
  expect(link.failures).toEqual([]);
  expect(process.memoryUsage.rss() - rssBefore).toBeLessThan(3e9);
  [...pages, ...sources, link].forEach(each => each.handlers.closed('over'));
  clusters.dispose();
}, 3_600_000);
