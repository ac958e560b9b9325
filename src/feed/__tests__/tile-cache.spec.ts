import { laneIndices } from '../../testing/ids';
import * as fc from 'fast-check';
import type { TileData } from '../feed-types';
import { TileCache } from '../tile-cache';

function tile(index: number, boxes = 1, extra: Partial<TileData> = {}) {
  return {
    level: 0,
    index,
    settled: true,
    logSeq: 1,
    functions: [],
    laneIndex: laneIndices(new Uint16Array(boxes)),
    from: new Float32Array(boxes),
    to: new Float32Array(boxes),
    function: new Uint16Array(boxes),
    kind: new Uint8Array(boxes),
    strip: new Uint8Array(boxes),
    cover: new Uint8Array(boxes),
    run: new Uint32Array(boxes),
    tasks: new Uint32Array(boxes),
    ...extra
  };
}

describe('TileCache', () => {
  it('keeps scopes and levels apart', () => {
    const cache = new TileCache();
    cache.put(1, tile(3));
    expect(cache.get(1, 0, 3)).not.toBeNull();
    expect(cache.get(2, 0, 3)).toBeNull();
    expect(cache.get(1, 1, 3)).toBeNull();
  });

  it('has a number for each scope, also for one that it has met long ago', () => {
    const cache = new TileCache();
    const names = Array.from({ length: 1000 }, (_, n) => `log ${n}`);
    const numbers = names.map(name => cache.scope(name));
    expect(new Set(numbers).size).toBe(1000);
    expect(cache.scope('log 999')).toBe(numbers[999]);
    // Forgotten: its tiles are asked for again, nobody else's are taken for them.
    expect(numbers).not.toContain(cache.scope('log 0'));
  });

  it('never replaces a tile by an older one, nor a settled one by its like', () => {
    const cache = new TileCache();
    cache.put(1, tile(0, 1, { settled: false, logSeq: 5 }));
    cache.put(1, tile(0, 2, { settled: false, logSeq: 4 }));
    expect(cache.get(1, 0, 0)?.laneIndex).toHaveLength(1);
    cache.put(1, tile(0, 3, { settled: true, logSeq: 5 }));
    cache.put(1, tile(0, 4, { settled: false, logSeq: 5 }));
    expect(cache.get(1, 0, 0)?.laneIndex).toHaveLength(3);
    // Rows have come late.
    cache.put(1, tile(0, 4, { settled: false, logSeq: 6 }));
    expect(cache.get(1, 0, 0)?.laneIndex).toHaveLength(4);
  });

  it('throws away what was used longest ago', () => {
    const cache = new TileCache(3 * 300);
    [0, 1, 2].forEach(index => cache.put(1, tile(index)));
    cache.get(1, 0, 0);
    cache.put(1, tile(3, 4));
    expect([0, 1, 2, 3].map(index => cache.get(1, 0, index) !== null)).toEqual([
      true,
      false,
      true,
      true
    ]);
  });

  it('stays within its budget and counts right, whatever comes', () => {
    const budget = 5000;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(20), fc.nat(60), fc.boolean(), fc.nat(5))),
        puts => {
          const cache = new TileCache(budget);
          for (const [index, boxes, settled, logSeq] of puts) {
            cache.put(1, tile(index, boxes, { settled, logSeq }));
            expect(cache.bytes).toBeLessThanOrEqual(budget);
            const kept = Array.from({ length: 21 }, (_, i) =>
              cache.get(1, 0, i)
            ).filter(found => found !== null);
            expect(kept).toHaveLength(cache.size);
            const counted = kept.reduce(
              (sum, one) => sum + 200 + 23 * one.laneIndex.length,
              0
            );
            expect(cache.bytes).toBe(counted);
          }
        }
      )
    );
  });
});
