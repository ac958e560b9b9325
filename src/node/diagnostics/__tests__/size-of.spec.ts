import * as fc from 'fast-check';
import { sizeOf } from '../size-of';

describe('sizeOf', () => {
  it('is exact for what holds bytes', () => {
    expect(sizeOf(new Float64Array(1000))).toBe(8000);
    expect(sizeOf(new Uint8Array(64).subarray(8, 16))).toBe(8);
    expect(sizeOf(new ArrayBuffer(77))).toBe(77);
    expect(sizeOf(new SharedArrayBuffer(77))).toBe(77);
    expect(sizeOf(Buffer.alloc(5))).toBe(5);
  });

  it('sees typed arrays inside objects, arrays, maps and class instances', () => {
    class Matrix {
      readonly rows = Array.from({ length: 10 }, () => new Float64Array(100));
    }
    const size = sizeOf(new Matrix());
    expect(size).toBeGreaterThanOrEqual(8000);
    expect(size).toBeLessThan(8500);
    const map = new Map([['block', new Float64Array(1000)]]);
    expect(sizeOf(map)).toBeGreaterThanOrEqual(8000);
    expect(sizeOf({ block: new Float64Array(1000) })).toBeLessThan(8200);
  });

  it('knows texts of one and of two bytes per letter', () => {
    const narrow = sizeOf('a'.repeat(10_000));
    expect(narrow).toBeGreaterThan(9_999);
    expect(sizeOf('é'.repeat(10_000))).toBe(narrow);
    expect(sizeOf('日'.repeat(10_000))).toBe(2 * narrow - 16);
  });

  it('counts numbers that lie outside of a field, and not those within an array of numbers', () => {
    const whole = sizeOf({ x: 1, y: 2 });
    expect(sizeOf({ x: 0.5, y: 2 ** 40 })).toBe(whole + 32);
    expect(sizeOf([1, 2, 3])).toBe(sizeOf([0.5, 1.5, 2.5]));
    expect(sizeOf([0.5, 'a'])).toBe(sizeOf([1, 'a']) + 16);
    expect(sizeOf(new Map([['a', 0.5]]))).toBe(
      sizeOf(new Map([['a', 1]])) + 16
    );
  });

  it('is near to what V8 takes for rows of numbers', () => {
    // 80 bytes a row: a place of the array, three words, two fields, two numbers of two words each.
    const rows = Array.from({ length: 1000 }, (_, at) => ({
      x: at + 0.5,
      y: at + 0.25
    }));
    expect(sizeOf(rows) / 80_000).toBeCloseTo(1, 2);
  });

  it('counts what is met twice once, and ends on cycles', () => {
    const shared = new Float64Array(1000);
    expect(sizeOf([shared, shared])).toBeLessThan(8100);
    const ring: unknown[] = [];
    ring.push(ring);
    expect(sizeOf(ring)).toBeGreaterThan(0);
  });

  it('looks at no more of a long array than at a few dozen samples', () => {
    let looks = 0;
    // Reading an element that an array does not have asks its prototype.
    const counted = new Proxy(Array.prototype, {
      get: (target, name, receiver) =>
        typeof name === 'string' && /^\d+$/.test(name)
          ? (looks++, { x: 1.5 })
          : Reflect.get(target, name, receiver)
    });
    const rows: unknown[] = new Array(1_000_000);
    Object.setPrototypeOf(rows, counted);
    const size = sizeOf(rows);
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThanOrEqual(64);
    // A slot of the array, a header and one field each.
    expect(size / rows.length).toBeGreaterThan(24);
    expect(size / rows.length).toBeLessThan(64);
    expect(sizeOf(Array.from({ length: 1e6 }, () => 0.5))).toBe(8e6 + 16);
  });

  it('follows long chains without running out of stack', () => {
    let chain: unknown = null;
    for (let link = 0; link < 100_000; link++) {
      chain = { next: chain };
    }
    expect(sizeOf(chain)).toBeGreaterThan(0);
  });

  it('gives a number of bytes for whatever a task may return', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withBoxedValues: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
          withObjectString: true,
          withSet: true,
          withTypedArray: true,
          withSparseArray: true
        }),
        value => {
          const size = sizeOf(value);
          expect(Number.isFinite(size)).toBe(true);
          expect(size).toBeGreaterThanOrEqual(0);
        }
      )
    );
    expect(sizeOf(() => 1)).toBeGreaterThan(0);
    expect(sizeOf(Symbol('x'))).toBeGreaterThan(0);
  });

  it('runs no code of the value: neither getters nor the handlers of proxies', () => {
    const fail = () => {
      throw new Error('not asked for');
    };
    const lazy = Object.defineProperty({ a: 1 }, 'b', {
      get: fail,
      enumerable: true
    });
    expect(sizeOf(lazy)).toBe(sizeOf({ a: 1, b: undefined }));
    const handler = {
      get: fail,
      ownKeys: fail,
      has: fail,
      getPrototypeOf: fail
    };
    expect(sizeOf(new Proxy({}, handler))).toBe(16);
    expect(sizeOf([new Proxy({}, handler)])).toBe(16 + 8 + 16);
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(sizeOf(proxy)).toBe(16);
  });
});
