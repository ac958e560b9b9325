import * as fc from 'fast-check';
import { ByteRing } from '../byte-ring';
import { Int32List } from '../int-list';
import { Int32Queue } from '../int-queue';
import { Queue } from '../queue';
import { SeededRandom } from '../seeded-random';
import { EMPTY_LIST, ValueLists } from '../value-lists';

describe.each([
  ['Int32Queue', () => new Int32Queue()],
  ['Queue', () => new Queue<number>()]
])('%s', (_, made) => {
  it('gives first what came first', () => {
    // Numbers to push; a negative one says: take one out.
    const tape = fc.array(fc.integer({ min: -3, max: 5 }), {
      maxLength: 300,
      size: 'max'
    });
    fc.assert(
      fc.property(tape, numbers => {
        const queue = made();
        const model: number[] = [];
        for (const number of numbers) {
          if (number >= 0) {
            queue.push(number);
            model.push(number);
          } else if (model.length > 0) {
            expect(queue.shift()).toBe(model.shift());
          }
          expect(queue.length).toBe(model.length);
        }
        queue.clear();
        expect(queue.length).toBe(0);
        queue.push(7);
        expect(queue.shift()).toBe(7);
      })
    );
  });
});

describe('Queue', () => {
  it('has nothing to give when it is empty, and lets go of what it gave', () => {
    const queue = new Queue<object>();
    expect(queue.shift()).toBeUndefined();
    queue.push({});
    queue.shift();
    expect(queue.shift()).toBeUndefined();
    expect(Object.values(queue).flat()).not.toContainEqual({});
  });

  it('keeps no more places than four times what it holds, after any burst', () => {
    // How many come, and how many then go.
    const bursts = fc.array(fc.tuple(fc.nat(200), fc.nat(200)), {
      maxLength: 20
    });
    fc.assert(
      fc.property(bursts, steps => {
        const queue = new Queue<number>();
        const model: number[] = [];
        let next = 0;
        for (const [come, go] of steps) {
          for (let i = 0; i < come; i++) {
            queue.push(next);
            model.push(next++);
          }
          for (let i = 0; i < go; i++) {
            expect(queue.shift()).toBe(model.shift());
          }
          expect([...queue.values()]).toEqual(model);
          const places = Object.values(queue).find(Array.isArray)!.length;
          expect(places).toBeLessThanOrEqual(Math.max(16, 4 * model.length));
        }
      })
    );
  });

  it('shows what it holds, the oldest first', () => {
    // Numbers to push; a negative one says: take one out. More come than go, so that it grows while its oldest lies amid the array.
    const tape = fc.array(fc.integer({ min: -3, max: 5 }), { maxLength: 200 });
    fc.assert(
      fc.property(tape, numbers => {
        const queue = new Queue<number>();
        const model: number[] = [];
        for (const number of numbers) {
          if (number >= 0) {
            queue.push(number);
            model.push(number);
          } else {
            expect(queue.shift()).toBe(model.shift());
          }
          expect([...queue.values()]).toEqual(model);
          expect(queue.first()).toBe(model[0]);
        }
      })
    );
  });
});

describe('Int32List', () => {
  it('keeps what was pushed', () => {
    const list = new Int32List(1);
    for (let i = 0; i < 100; i++) {
      list.push(i);
    }
    list.set(3, -3);
    list.truncate(5);
    expect([...list.toArray()]).toEqual([0, 1, 2, -3, 4]);
    list.clear();
    expect(list.toArray()).toHaveLength(0);
  });

  it('is copied without signs and as bytes, as long as it is', () => {
    const list = new Int32List();
    [1, -1, 255, 7].forEach(item => list.push(item));
    list.truncate(3);
    expect(list.toUint32Array()).toEqual(
      Uint32Array.from([1, 0xffffffff, 255])
    );
    list.set(1, 0);
    expect(list.toUint8Array()).toEqual(Uint8Array.from([1, 0, 255]));
  });
});

describe('ValueLists', () => {
  it('keeps many sets in one pool and reuses their nodes', () => {
    const step = fc.tuple(fc.boolean(), fc.nat({ max: 4 }), fc.nat({ max: 9 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), steps => {
        const lists = new ValueLists();
        const heads = new Array<number>(5).fill(EMPTY_LIST);
        const model = heads.map(() => new Set<number>());
        for (const [isAdd, list, value] of steps) {
          const head = heads[list]!;
          if (!isAdd) {
            heads[list] = lists.remove(head, value);
            model[list]!.delete(value);
          } else if (!lists.has(head, value)) {
            heads[list] = lists.add(head, value);
            model[list]!.add(value);
          }
        }
        heads.forEach((head, list) =>
          expect(new Set(lists.toArray(head))).toEqual(model[list])
        );
        const size = model.reduce((sum, set) => sum + set.size, 0);
        expect(lists.size).toBe(size);
      })
    );
  });
});

describe('ByteRing', () => {
  it('keeps the newest entries within its bound, and says what it dropped', () => {
    const sizesOf = fc.array(fc.nat({ max: 50 }), {
      maxLength: 200,
      size: 'max'
    });
    fc.assert(
      fc.property(sizesOf, sizes => {
        const dropped: number[] = [];
        const ring = new ByteRing<string>(100, entry =>
          dropped.push(entry.seq)
        );
        sizes.forEach((nbytes, i) => ring.push(i + 1, nbytes, `v${i + 1}`));
        const kept = ring.after(0);
        const seqs = kept.map(entry => entry.seq);
        expect([...dropped, ...seqs]).toEqual(sizes.map((_, i) => i + 1));
        expect(kept.every(({ seq, value }) => value === `v${seq}`)).toBe(true);
        const nbytes = kept.reduce((sum, entry) => sum + entry.nbytes, 0);
        expect(ring.nbytes).toBe(nbytes);
        expect(nbytes <= 100 || kept.length === 1).toBe(true);
        const middle = sizes.length >> 1;
        expect(ring.after(middle).map(entry => entry.seq)).toEqual(
          seqs.filter(seq => seq > middle)
        );
      })
    );
  });
});

describe('SeededRandom', () => {
  it('repeats itself for a seed and spreads over its range', () => {
    const draw = (seed: number): number[] => {
      const random = new SeededRandom(seed);
      return Array.from({ length: 1000 }, () => random.below(10));
    };
    expect(draw(5)).toEqual(draw(5));
    expect(draw(5)).not.toEqual(draw(6));
    for (let value = 0; value < 10; value++) {
      const share = draw(7).filter(each => each === value).length;
      expect(share).toBeGreaterThan(60);
      expect(share).toBeLessThan(140);
    }
  });
});
