import fc from 'fast-check';
import { MOST_TILES, TileRequests, type TileRequest } from '../tile-requests';

/** An index that ends with 7 is the one before it, of a group of lanes. */
const tile = (index: number, watch = 1): TileRequest => ({
  watch,
  level: 3,
  index: index % 10 === 7 ? index - 1 : index,
  groupSize: index % 10 === 7 ? 50 : 0,
  group: index % 10 === 7 ? 2 : -1
});
const keyOf = ({ watch, level, index, group }: TileRequest): string =>
  `${watch}/${level}/${index}/${group}`;

describe('the tiles that a page waits for', () => {
  it('are made once, the newest first, and not for a watch that has gone', () => {
    const requests = new TileRequests();
    for (const request of [tile(1), tile(2), tile(1, 2), tile(3), tile(1)]) {
      expect(requests.add(request)).toBeUndefined();
    }
    expect(requests.size).toBe(4);
    requests.forget(2);
    expect([
      requests.take(),
      requests.take(),
      requests.take(),
      requests.take()
    ]).toEqual([tile(1), tile(3), tile(2), undefined]);
  });

  it('are as a list would have them that is searched each time', () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.tuple(fc.constant('add'), fc.nat(1500), fc.nat(2))
      },
      {
        weight: 2,
        arbitrary: fc.tuple(fc.constant('take'), fc.nat(0), fc.nat(0))
      },
      {
        weight: 1,
        arbitrary: fc.tuple(fc.constant('forget'), fc.nat(0), fc.nat(2))
      }
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.boolean(),
        (steps, isMany) => {
          const requests = new TileRequests();
          let list: TileRequest[] = [];
          for (const [what, index, watch] of steps) {
            if (what === 'take') {
              const newest = list.pop();
              expect(requests.take()).toEqual(newest);
            } else if (what === 'forget') {
              requests.forget(watch);
              list = list.filter(each => each.watch !== watch);
            } else {
              for (let i = 0; i < (isMany ? 300 : 1); i++) {
                const request = tile(index + i, watch);
                const given = requests.add(request);
                list = list.filter(each => keyOf(each) !== keyOf(request));
                list.push(request);
                const oldest =
                  list.length > MOST_TILES ? list.shift() : undefined;
                expect(given).toEqual(oldest);
              }
            }
            expect(requests.size).toBe(list.length);
          }
        }
      ),
      { numRuns: 60 }
    );
  });
});
