/** Blocks wait as they came until somebody asks; nobody can tell by the answers. */
import fc from 'fast-check';
import { answer } from '../../../observer/__tests__/ask';
import { blockRows } from '../../../observer/store/block-rows';
import { BlockBuilder } from '../../../records/block-builder';
import {
  drawCluster,
  TICK,
  TICKS,
  toldToSource
} from '../../../testing/drawn-cluster';
import { rowsToBlock } from '../../../testing/rows-to-block';
import type { ViewName } from '../../../wire/panel-link';
import { ObservedCluster } from '../observed-cluster';
import { UnreadBlocks } from '../unread-blocks';
import { encoded } from './observer-fixture';

const VIEWS: readonly ViewName[] = [
  'spans',
  'summary',
  'task-stream',
  'tasks',
  'records',
  'fine-metrics',
  'profile',
  'memory',
  'transfers',
  'system'
];
const HEADER_BYTES = 24;

const log = toldToSource(drawCluster(5)).map(block =>
  encoded(blockRows(block))
);

/** Ways in which a block is none, or tells nonsense; of the others nothing is to change. */
const damages = {
  magic: (blob: Uint8Array) => blob.fill(9, 0, 4),
  table: (blob: Uint8Array) => blob.fill(0xff, 8, 10),
  rows: (blob: Uint8Array) => blob.fill(0xff, 12, 14),
  // In most tables a number that is no time, or a text that ends before it starts.
  body: (blob: Uint8Array) => blob.fill(0xff, HEADER_BYTES)
} as const;
const anyDamage = fc.constantFrom<keyof typeof damages>(
  ...(Object.keys(damages) as (keyof typeof damages)[])
);

/** A cluster, and what was noted of its blocks. */
function watched(): { cluster: ObservedCluster; notes: string[] } {
  const notes: string[] = [];
  const open = {
    logId: 'log',
    clusterId: 'c1',
    name: 'test',
    kind: 'embedded',
    wallEpoch: 0,
    pid: 1
  };
  const note = (why: string): void => void notes.push(why);
  return { cluster: new ObservedCluster(open as never, {}, note), notes };
}

/** All that anybody may be told of it. */
function allOf(cluster: ObservedCluster): unknown {
  const now = TICKS * TICK;
  return JSON.stringify([
    cluster.state,
    cluster.info(),
    cluster.haveSeq,
    cluster.store.gaps,
    ...VIEWS.map(view => answer(cluster.store, view, { now }))
  ]);
}

describe('blocks that nobody has asked about', () => {
  it('give the answers that they would have given if each had been read when it came', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.nat(log.length - 1).map(String), anyDamage, {
          maxKeys: 4
        }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        fc.array(fc.boolean(), { minLength: 1 }),
        fc.boolean(),
        (damaged, batches, asks, isEnded) => {
          const blobs = log.map((blob, i) => {
            const copy = new Uint8Array(blob);
            const damage = damaged[String(i)];
            return damage === undefined ? copy : damages[damage](copy);
          });
          const eager = watched();
          for (const blob of blobs) {
            eager.cluster.take([blob]);
            eager.cluster.info();
          }
          const lazy = watched();
          let at = 0;
          for (let i = 0; at < blobs.length; i++) {
            const next = at + batches[i % batches.length]!;
            lazy.cluster.take(blobs.slice(at, next));
            at = next;
            if (asks[i % asks.length]!) {
              lazy.cluster.info();
            }
          }
          if (isEnded) {
            eager.cluster.end('closed', TICKS * TICK);
            lazy.cluster.end('closed', TICKS * TICK);
          }
          expect(allOf(lazy.cluster)).toBe(allOf(eager.cluster));
          expect(lazy.notes).toEqual(eager.notes);
        }
      ),
      { numRuns: 30 }
    );
  });

  it('are read when somebody asks, and acknowledged before', () => {
    // What is wrong with a block is told when it is read.
    const { cluster, notes } = watched();
    const late = rowsToBlock(1, 'header', [{ t: 1e300, json: '{}' }]);
    cluster.take([encoded(late)]);
    cluster.take(log.slice(1));
    cluster.end('closed', TICKS * TICK);
    expect([cluster.haveSeq, cluster.ended]).toEqual([log.length, true]);
    expect(cluster.nbytes).toBeGreaterThan(
      log.slice(1).reduce((sum, { length }) => sum + length, 0)
    );
    expect(cluster.id + cluster.name + cluster.logId).toBe('c1testlog');
    expect(notes).toEqual([]);
    expect(cluster.info()).toMatchObject({ state: 'ended', running: 0 });
    expect(notes).toEqual([expect.stringContaining('header')]);
    expect(cluster.store.shape.running.size).toBe(0);
  });

  it('are told at once to be none, if their headers say so', () => {
    const { cluster, notes } = watched();
    cluster.take([log[0]!, damages.magic(new Uint8Array(log[1]!))]);
    expect(notes).toEqual(['Not a block of this format.']);
    const late = rowsToBlock(3, 'header', [{ t: 1e300, json: '{}' }]);
    cluster.take([encoded(late)]);
    expect(notes).toHaveLength(1);
    expect(cluster.store.gaps).toHaveLength(2);
    expect(notes[1]).toContain('header');
  });

  it.each([
    ['is shorter than its rows need', 'rows', 'do not make'],
    ['has a text that ends before it starts', 'body', 'ends before']
  ] as const)('are told at once to be none, if one %s', (_, damage, words) => {
    const { cluster, notes } = watched();
    const texts = rowsToBlock(2, 'names', [
      { id: 1, text: 'inc' },
      { id: 2, text: 'add' }
    ]);
    cluster.take([log[0]!, damages[damage](encoded(texts))]);
    expect(notes).toEqual([expect.stringContaining(words)]);
    expect(cluster.haveSeq).toBe(2);
  });

  it('acknowledge no number that only a broken block has', () => {
    const { cluster } = watched();
    const [first, , third] = log as [Uint8Array, Uint8Array, Uint8Array];
    const odd = damages.body(new Uint8Array(log[1]!));
    new DataView(odd.buffer).setUint32(4, 1e6, true);
    cluster.take([first, odd]);
    expect(cluster.store.gaps).toHaveLength(1);
    expect(cluster.haveSeq).toBe(1);
    cluster.take([third]);
    expect(cluster.haveSeq).toBe(3);
  });

  it('wait up to a bound, which counts blocks of few bytes too', () => {
    const [blob] = log;
    const few = new UnreadBlocks(10_000);
    let added = 1;
    while (!few.add(blob!)) {
      added++;
    }
    expect(added).toBeLessThan(10_000 / blob!.length);
    expect(Array.from({ length: added }, () => few.take())).toEqual(
      new Array(added).fill(blob)
    );
    expect([few.nbytes, few.take()]).toEqual([0, undefined]);
    expect(few.add(blob!)).toBe(false);
  });

  it('wait up to a bound of what is to be read, and take the memory of what came', () => {
    const rows = Array.from({ length: 1000 }, (_, lane) => ({
      lane,
      node: 1,
      function: 2,
      span: 3,
      started: 4
    }));
    const builder = new BlockBuilder('running');
    const sealed = (constantFrom: number): Uint8Array => {
      for (const row of rows) {
        builder.append(row as never);
      }
      return builder.seal(1, constantFrom);
    };
    const blocks = new UnreadBlocks(10 * 22_000);
    const whole = new UnreadBlocks(10 * 22_000);
    let added = 0;
    do {
      added++;
      expect(whole.add(sealed(Infinity))).toBe(blocks.add(sealed(1)));
    } while (whole.wholeBytes <= 10 * 22_000);
    expect(added).toBe(10);
    expect(blocks.wholeBytes).toBe(whole.wholeBytes);
    expect(blocks.nbytes).toBeLessThan(whole.nbytes / 8);
    while (blocks.take() !== undefined) {
      // (all of them)
    }
    expect([blocks.nbytes, blocks.wholeBytes]).toEqual([0, 0]);
  });

  it('hold no memory that they share with what is read at once', () => {
    const SHARED_BYTES = 64 * 1024;
    const blob = log.find(({ length }) => length < 1024)!;
    const blocks = new UnreadBlocks();
    for (let i = 0; i < 1000; i++) {
      // Node gives short bodies out of pieces of this length, one to every link that asks.
      const room = new Uint8Array(new ArrayBuffer(SHARED_BYTES), 8 * i);
      room.set(blob);
      blocks.add(room.subarray(0, blob.length));
    }
    const counted = blocks.nbytes;
    const held = new Set<ArrayBufferLike>();
    for (let kept = blocks.take(); kept; kept = blocks.take()) {
      expect(kept).toEqual(blob);
      held.add(kept.buffer);
    }
    const nbytes = [...held].reduce((sum, each) => sum + each.byteLength, 0);
    expect(nbytes).toBeLessThan(counted);
  });
});
