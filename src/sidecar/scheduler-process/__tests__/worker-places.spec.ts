import type { AcceptedLink } from '../../../link/door';
import type { ClusterState } from '../cluster-state';
import { Roster, type IRosterHost } from '../roster';
import { WorkerPlaces } from '../worker-places';

const intro = (worker: number, name = ''): never =>
  ({ worker, name, address: `unix:/w${worker}`, host: '' }) as never;

/** What a worker is called, and whether it is what it was told that it would be. */
function come(
  places: WorkerPlaces,
  worker: number,
  starter: object | null,
  name = ''
): string | undefined {
  const told = places.nameOfNext(intro(worker, name), starter);
  places.joined(intro(worker, name), starter);
  const called = places.namesOf(intro(worker))[0];
  expect(called).toBe(told);
  return called;
}

describe('the place of a worker that was replaced', () => {
  it.each([
    ['first', [2, 3]],
    ['last', [3, 2]]
  ])(
    'goes to one of the same program, which joins %s',
    (_when, [own, outside]) => {
      const places = new WorkerPlaces();
      const program = {};
      come(places, 0, null);
      come(places, 1, program);
      places.left(0, true);
      places.left(1, true);
      const inOrder = [own!, outside!].sort();
      const called = inOrder.map(worker =>
        come(places, worker, worker === own ? null : program)
      );
      expect(called[inOrder.indexOf(own!)]).toBe('0');
      expect(called[inOrder.indexOf(outside!)]).toBe('1');
    }
  );

  it("stays free for its program, and is anyone's when that has gone", () => {
    const places = new WorkerPlaces();
    const [program, other] = [{}, {}];
    come(places, 0, program);
    places.left(0, true);
    expect(come(places, 1, null)).toBe('1');
    expect(come(places, 2, other)).toBe('2');
    places.starterLeft(program);
    expect(come(places, 3, other)).toBe('0');
    expect(come(places, 4, null)).toBe('4');
  });

  it("is anyone's when its program starts no other for it", () => {
    const places = new WorkerPlaces();
    const program = {};
    come(places, 0, program);
    come(places, 1, program);
    come(places, 2, null);
    places.hasNoSuccessor(0);
    places.left(0, true);
    places.left(1, true);
    places.left(2, true);
    expect(come(places, 3, null)).toBe('2');
    expect(come(places, 4, null)).toBe('0');
    expect(come(places, 5, null)).toBe('5');
    expect(come(places, 6, program)).toBe('1');
  });

  it('goes to nobody whom a user has named', () => {
    const places = new WorkerPlaces();
    come(places, 0, null);
    places.left(0, true);
    expect(come(places, 1, null, 'gpu')).toBe('gpu');
    expect(come(places, 2, null)).toBe('0');
  });
});

it('is told to one of two workers that come in one turn', () => {
  const turn: (() => void)[] = [];
  const roster = new Roster(
    {
      ...{ workers: new Map(), clock: () => 0, start: 0 },
      shared: { plugins: {} }
    } as unknown as ClusterState,
    {
      fleet: { has: () => true, starterOf: () => null },
      gather: (act: () => void) => void turn.push(act)
    } as unknown as IRosterHost,
    0,
    { enabled: true, interval: 0.01, cycle: 1, scheduler: false }
  );
  try {
    const { _places: places } = roster as unknown as { _places: WorkerPlaces };
    come(places, 0, null);
    places.left(0, true);
    const told = [1, 2].map(worker => {
      const said = {
        ...{ worker, pid: 1, threads: 1, memoryLimit: 0 },
        address: `unix:/w${worker}`
      };
      const { name } = roster.welcome(said);
      roster.came({
        intro: said,
        start: () => undefined
      } as unknown as AcceptedLink<'worker'>);
      return name;
    });
    expect(turn).toHaveLength(2); // neither has joined yet
    expect(told).toEqual(['0', '2']);
  } finally {
    roster.close();
  }
});
