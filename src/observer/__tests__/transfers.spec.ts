import { SeededRandom } from '../../base/seeded-random';
import { NONE_U32 } from '../../records/enumerations';
import { drawCluster } from '../../testing/drawn-cluster';
import { rowsToBlock, type Row } from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask, takenIn } from './ask';

const LARGE = 1_000_000;

function logOf(rows: readonly Row[]): LogStore {
  const log = new LogStore('transfers');
  const worker = (id: number): Row => ({
    worker: id,
    name: `worker-${id}`,
    address: `tcp://${id}`,
    threads: 1,
    left: NaN
  });
  ingestBlock(log, rowsToBlock(1, 'workers', [worker(0), worker(1)]));
  ingestBlock(
    log,
    rowsToBlock(2, 'names', [
      { id: 0, text: '' },
      { id: 7, text: 'numpy:ndarray' }
    ])
  );
  ingestBlock(
    log,
    rowsToBlock(
      3,
      'transfers',
      rows.map(row => ({ type: NONE_U32, ...row }))
    )
  );
  return log;
}

describe('transfers', () => {
  it('of a pair are from who held the result to who fetched it', () => {
    const log = logOf([
      { from: 0, to: 1, bytes: 8e6, duration: 0.5, type: 7 },
      { from: 0, to: 1, bytes: 10, duration: 9 },
      { from: 1, to: 0, bytes: 2e6, duration: 1 },
      { from: 5, to: 1, bytes: 1, duration: 1 }
    ]);
    expect(ask(log, 'transfers')).toEqual({
      view: 'transfers',
      workers: [
        { worker: 0, name: 'worker-0', address: 'tcp://0' },
        { worker: 1, name: 'worker-1', address: 'tcp://1' },
        // (of which no block came)
        { worker: 5, name: '5', address: '' }
      ],
      total: {
        count: 4,
        bytes: 10_000_011,
        largeBytes: 10e6,
        largeSeconds: 1.5
      },
      pairs: {
        from: [0, 1, 5],
        to: [1, 0, 1],
        count: [2, 1, 1],
        bytes: [8_000_010, 2e6, 1],
        largeBytes: [8e6, 2e6, 0],
        largeSeconds: [0.5, 1, 0]
      },
      types: {
        type: ['numpy:ndarray'],
        count: [1],
        bytes: [8e6],
        largeBytes: [8e6],
        largeSeconds: [0.5]
      },
      dropped: 0,
      hidden: 0
    });
  });

  it('that filter and range leave out are counted', () => {
    const log = logOf([
      { from: 0, to: 1, start: 1, bytes: 1, duration: 1 },
      { from: 5, to: 1, start: 2, bytes: 1, duration: 1 },
      { from: 0, to: 5, start: 3, bytes: 1, duration: 1 }
    ]);
    const hidden = (asked: Parameters<typeof ask>[2]) => {
      const { total, hidden: count } = ask(log, 'transfers', asked);
      return [total.count, count];
    };
    expect(hidden({})).toEqual([3, 0]);
    expect(hidden({ filter: { functions: ['inc'] } })).toEqual([3, 0]);
    expect(hidden({ filter: { workers: [5] } })).toEqual([2, 1]);
    expect(hidden({ time: { from: 2, to: 3 } })).toEqual([1, 2]);
  });

  it('are timed from one byte more than a million on, if their time is known', () => {
    const log = logOf([
      { bytes: LARGE, duration: 1 },
      { bytes: LARGE + 1, duration: 1 },
      { bytes: 5 * LARGE, duration: 0 },
      { bytes: 5 * LARGE, duration: NaN },
      { bytes: NaN, duration: 1 }
    ]);
    expect(ask(log, 'transfers').total).toEqual({
      count: 5,
      bytes: 12 * LARGE + 1,
      largeBytes: LARGE + 1,
      largeSeconds: 1
    });
  });

  it('have the mean rate of their bytes, as often as they are told of (Q-10)', () => {
    const random = new SeededRandom(3);
    const rows = Array.from({ length: 300 }, () => {
      const seconds = 0.125 + random.next();
      return { from: 0, to: 1, bytes: Math.round(100e6 * seconds), seconds };
    });
    const log = logOf(
      rows.map(({ seconds, ...row }) => ({ ...row, duration: seconds }))
    );
    const { largeBytes, largeSeconds } = ask(log, 'transfers').total;
    expect(largeBytes / largeSeconds / 100e6).toBeCloseTo(1, 6);
  });

  it('have a bound, and those with the most bytes are shown', () => {
    const log = logOf(
      Array.from({ length: 8_100 }, (_, i) => ({
        from: i % 90,
        to: Math.floor(i / 90),
        bytes: 1 + i,
        duration: 1
      }))
    );
    const { pairs, dropped } = ask(log, 'transfers');
    expect([pairs.from.length, dropped]).toEqual([8_000, 100]);
    expect(Math.min(...pairs.bytes)).toBe(101);
  });

  it('are those of the log, by pair and by type', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const facts = drawCluster(seed);
      const log = takenIn(facts);
      const { pairs, types } = ask(log, 'transfers');
      const sums = (of: (row: (typeof facts.transfers)[number]) => string) => {
        const found: Record<string, number> = {};
        for (const row of facts.transfers) {
          found[of(row)] = (found[of(row)] ?? 0) + row.bytes;
        }
        return found;
      };
      expect(
        Object.fromEntries(
          pairs.from.map((from, i) => [
            `${from} ${pairs.to[i]}`,
            pairs.bytes[i]
          ])
        )
      ).toEqual(sums(({ from, to }) => `${from} ${to}`));
      expect(
        Object.fromEntries(types.type.map((type, i) => [type, types.bytes[i]]))
      ).toEqual(sums(({ type }) => type));
    }
  });
});
