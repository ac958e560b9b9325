/** When a source is told which blocks the observer has: each time wakes it. */
import type { Seconds } from '../../../base/brand';
import type { AcceptedLink } from '../../../link/door';
import { drawBlocks } from '../../../testing/run-from-text';
import type { Message } from '../../../wire/schema';
import { Clusters } from '../clusters';
import { SourceSession } from '../source-session';
import { Viewers } from '../viewers';
import { WorkQueue } from '../work-queue';
import { encoded } from './observer-fixture';

type Up = Message<'source', 'up'>;

describe('a source', () => {
  const [block] = drawBlocks('0/0 aa');
  let clusters: Clusters;
  let viewers: Viewers;
  /** Numbers that were acknowledged. */
  let acked: number[];
  /** The session's side of the link: everything that one read has completed. */
  let read: (...batch: readonly object[]) => void;
  let seq: number;

  beforeEach(() => {
    clusters = new Clusters({ queue: new WorkQueue(), note: () => undefined });
    viewers = new Viewers();
    acked = [];
    seq = 0;
    const link = {
      start: (handlers: { messages(batch: readonly Up[]): void }) => {
        read = (...batch) => handlers.messages(batch as readonly Up[]);
      },
      send: (type: string, fields: { readonly seq: number }) => {
        if (type === 'ack') {
          acked.push(fields.seq);
        }
      }
    };
    new SourceSession(
      link as unknown as AcceptedLink<'source'>,
      clusters,
      new WeakMap(),
      viewers
    );
    read({
      type: 'open',
      fields: {
        logId: 'l',
        clusterId: 'c',
        name: 'n',
        kind: 'embedded',
        wallEpoch: 0,
        clockAhead: 0,
        pid: process.pid
      }
    });
  });
  afterEach(() => {
    viewers.dispose();
    clusters.dispose();
  });

  /** The next so many blocks, as a message. */
  function blocks(count: number, ackMayWait: boolean): object {
    const blobs = Array.from({ length: count }, () =>
      encoded({ ...block!, seq: ++seq })
    );
    return { type: 'block', fields: { ackMayWait }, tables: {}, blobs };
  }

  it('that waits hears at once which blocks are here, also of what came before', () => {
    read(blocks(2, true));
    expect(acked).toEqual([]);
    read(blocks(1, true), blocks(1, false));
    expect(acked).toEqual([4]);
    read(blocks(1, false));
    expect(acked).toEqual([4, 5]);
  });

  it('that does not wait hears of each 64 blocks', () => {
    for (let i = 0; i < 9; i++) {
      read(blocks(7, true));
    }
    expect(acked).toEqual([]);
    read(blocks(1, true));
    expect(acked).toEqual([64]);
    read(blocks(63, true));
    expect(acked).toEqual([64]);
    read(blocks(5, true));
    expect(acked).toEqual([64, 132]);
  });

  it('that does not wait hears of all when it ends, and when somebody looks', () => {
    read(blocks(3, true));
    viewers.came();
    expect(acked).toEqual([3]);
    read(blocks(2, true));
    expect(acked).toEqual([3]);
    const why = { why: 'closed', at: 1 as Seconds, told: '' };
    read({ type: 'end', fields: why, tables: {}, blobs: [] });
    expect(acked).toEqual([3, 5]);
  });
});
