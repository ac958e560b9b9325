import { stayedWorkers } from '../stayed-workers';

const places = (
  ...workers: { joined?: number | undefined; left?: number | null }[]
): number[] =>
  stayedWorkers(workers.map((worker, place) => ({ ...worker, place }))).map(
    ({ place }) => place
  );

describe('workers that stayed', () => {
  it('are those that are there, or the last to leave', () => {
    expect(places({ left: null }, { left: 9 }, {})).toEqual([0, 2]);
    expect(places({ left: 10 }, { left: 99 }, { left: 100 })).toEqual([1, 2]);
    expect(places()).toEqual([]);
  });

  it('count once with those that came in their place', () => {
    const before = { joined: 0, left: 12 };
    const after = { joined: 12.2, left: 12.8 };
    const beside = { joined: 0, left: 12.9 };
    expect(places(before, beside, after)).toEqual([1, 2]);
    // A restart of a cluster that goes on.
    expect(places(before, { joined: 12.2, left: null })).toEqual([1]);
    // Nobody was in the place of what came last, and left at once.
    expect(places(before, { joined: 12.8, left: 12.8 })).toEqual([1]);
    // By an observer that does not tell when they came.
    expect(places({ left: 12 }, { left: 12.8 })).toEqual([0, 1]);
  });
});
