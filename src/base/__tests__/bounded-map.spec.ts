import * as fc from 'fast-check';
import { BoundedMap } from '../bounded-map';

type Costly = { readonly cost: number };

describe('BoundedMap', () => {
  it('drops what was used longest ago, and looking is no use', () => {
    const map = new BoundedMap<string, Costly>(3);
    for (const key of ['a', 'b', 'c']) {
      map.set(key, { cost: 1 });
    }
    map.get('a');
    map.peek('b');
    map.set('d', { cost: 1 });
    expect(
      ['a', 'b', 'c', 'd'].map(key => map.peek(key) !== undefined)
    ).toEqual([true, false, true, true]);
  });

  it('keeps the newest even if it alone costs too much', () => {
    const map = new BoundedMap<string, Costly>(10, ({ cost }) => cost);
    map.set('small', { cost: 3 });
    map.set('large', { cost: 11 });
    expect([map.size, map.cost, map.peek('large')]).toEqual([
      1,
      11,
      { cost: 11 }
    ]);
  });

  it('does not look for the oldest entry from the start each time', () => {
    const map = new BoundedMap<number, Costly>(1000);
    const walks = jest.spyOn(Map.prototype, 'keys');
    for (let key = 0; key < 5000; key++) {
      map.set(key, { cost: 1 });
    }
    const begun = walks.mock.calls.length;
    walks.mockRestore();
    expect(begun).toBe(1);
    expect(map.peek(3999)).toBeUndefined();
    expect(map.peek(4000)).toBeDefined();
  });

  it('lets go of a walk that stands still while entries are put in', () => {
    const map = new BoundedMap<number, Costly>(2);
    const walks = jest.spyOn(Map.prototype, 'keys');
    const begun = [0, 1, 2, 3].map(key => {
      map.set(key, { cost: 1 });
      return walks.mock.calls.length;
    });
    // (uses put entries in, too)
    [2, 3, 2, 3].forEach(key => map.get(key));
    map.set(4, { cost: 1 });
    begun.push(walks.mock.calls.length);
    walks.mockRestore();
    expect(begun).toEqual([0, 0, 1, 1, 2]);
    expect(map.peek(2)).toBeUndefined();
  });

  it('does what a list in the order of use does, whatever comes', () => {
    const key = fc.nat(6);
    const step = fc.oneof(
      fc.record({ do: fc.constant('set' as const), key, cost: fc.nat(9) }),
      fc.record({
        do: fc.constantFrom('get' as const, 'peek' as const, 'delete' as const),
        key,
        cost: fc.constant(0)
      }),
      fc.record({
        do: fc.constantFrom('clear' as const, 'bound' as const),
        key: fc.constant(0),
        cost: fc.nat(30)
      })
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        let most = 20;
        let list: { key: number; cost: number }[] = [];
        const map = new BoundedMap<number, Costly>(most, ({ cost }) => cost);
        const sum = () => list.reduce((all, { cost }) => all + cost, 0);
        for (const { do: what, key: at, cost } of steps) {
          const had = list.find(each => each.key === at);
          const others = list.filter(each => each !== had);
          if (what === 'set') {
            map.set(at, { cost });
            list = [...others, { key: at, cost }];
          } else if (what === 'get' || what === 'peek') {
            expect(map[what](at)?.cost).toBe(had?.cost);
            list =
              what === 'get' && had !== undefined ? [...others, had] : list;
          } else if (what === 'delete') {
            map.delete(at);
            list = others;
          } else if (what === 'clear') {
            map.clear();
            list = [];
          } else {
            map.holdAtMost(cost);
            most = cost;
          }
          while (sum() > most && list.length > 1) {
            list.shift();
          }
          expect([...map.values()].map(value => value.cost)).toEqual(
            list.map(each => each.cost)
          );
          expect([map.size, map.cost]).toEqual([list.length, sum()]);
        }
      })
    );
  });
});
