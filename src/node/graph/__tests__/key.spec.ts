import { inspect } from 'node:util';
import fc from 'fast-check';
import { type Key, keyId, KeyMap, KeySet, keyText } from '../key';

const text = fc.oneof(
  fc.string(),
  fc.constantFrom('a', 'a,1', '\0(s1:a', '\0"a', "('a', 1)", '')
);
const key: fc.Arbitrary<Key> = fc.oneof(
  text,
  fc.tuple(text),
  fc.tuple(
    text,
    fc.oneof(
      text,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true })
    )
  )
);
const same = (a: Key, b: Key) =>
  typeof a === 'string' || typeof b === 'string'
    ? a === b
    : a.length === b.length && a.every((part, i) => part === b[i]);

describe('§6.2: keys', () => {
  it('§6.2: ids are equal exactly if the keys are', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(keyId(a) === keyId(b)).toBe(same(a, b));
        expect(keyId(a)).toBe(
          keyId(typeof a === 'string' ? a : ([...a] as never))
        );
      }),
      { numRuns: 2000 }
    );
  });

  it.each<[Key, Key]>([
    ['a,1', ['a', 1]],
    [
      ['a', 1],
      ['a', '1']
    ],
    [['a', 'b'], ['ab']],
    [['a', 'b'], ['as1:b']],
    ["('a', 1)", ['a', 1]],
    ['\0(s1:an1,', ['a', 1]]
  ])('§6.2: %p is not %p', (a, b) => {
    expect(keyId(a)).not.toBe(keyId(b));
  });

  it('§6.2: 0 and −0, 1 and 1.0 are the same', () => {
    expect(keyId(['a', -0])).toBe(keyId(['a', 0]));
    expect(keyId(['a', 1.0])).toBe(keyId(['a', 1]));
  });

  it.each([
    [5],
    [null],
    [undefined],
    [true],
    [[]],
    [[1, 'a']],
    [['a', NaN]],
    [['a', ['b']]],
    [{}]
  ])('§6.2: %p is no key', value => {
    expect(() => keyId(value as never)).toThrow(TypeError);
  });

  it('§6.2: a map behaves as a list of pairs does, by value', () => {
    const step = fc.tuple(
      fc.constantFrom('set', 'delete', 'get'),
      key,
      fc.nat()
    );
    fc.assert(
      fc.property(fc.array(step), steps => {
        const map = new KeyMap<number>();
        const pairs: [Key, number][] = [];
        for (const [what, k, value] of steps) {
          const place = pairs.findIndex(([other]) => same(other, k));
          if (what === 'get') {
            expect(map.get(k)).toBe(pairs[place]?.[1]);
            expect(map.has(k)).toBe(place >= 0);
          } else if (what === 'delete') {
            expect(map.delete(k)).toBe(place >= 0);
            pairs.splice(place, place >= 0 ? 1 : 0);
          } else {
            map.set(k, value);
            if (place >= 0) {
              pairs[place]![1] = value;
            } else {
              pairs.push([k, value]);
            }
          }
        }
        expect([...map]).toEqual(pairs);
        expect([...map.keys()]).toEqual(pairs.map(([k]) => k));
        expect([...map.values()]).toEqual(pairs.map(([, v]) => v));
        expect(map.size).toBe(pairs.length);
        expect([...new KeySet(map.keys())]).toEqual([...map.keys()]);
      })
    );
  });

  it('shows keys as people read them', () => {
    expect(keyText('total')).toBe('total');
    expect(keyText(['block', 0, 'x'])).toBe("('block', 0, 'x')");
    expect(keyText(['alone'])).toBe("('alone',)");
  });
});

describe('maps and sets of keys', () => {
  it('print as JavaScript prints its own', () => {
    const map = new KeyMap<unknown>([
      ['a', 1],
      [['b', 0], { deep: { deeper: { deepest: 1 } } }]
    ]);
    expect(inspect(map)).toBe(
      "KeyMap(2) { 'a' => 1, [ 'b', 0 ] => { deep: { deeper: [Object] } } }"
    );
    expect(inspect({ at: { any: { depth: map } } })).toBe(
      '{ at: { any: { depth: [KeyMap] } } }'
    );
    expect(inspect(new KeySet(['a', ['Set', 1]]))).toBe(
      "KeySet(2) { 'a', [ 'Set', 1 ] }"
    );
    expect(inspect(new KeySet())).toBe('KeySet(0) {}');
  });
});
