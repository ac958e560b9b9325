import type { ClusterState } from '../cluster-state';
import { StallWatch } from '../stall-watch';

/** A cluster whose workers are full while the client works on a result; one task ends well between two of them. */
class WorkingClient {
  readonly told: string[] = [];
  private _now = 0;
  private readonly _cluster = {
    core: {
      isStalled: false,
      stepsAhead: 0,
      unplacedCount: 0,
      workers: { all: [] },
      tasks: { state: [], nbytes: [], firstReplica: [] }
    },
    moves: 0,
    workers: new Map(),
    rows: { functionId: [] },
    log: { names: { text: () => '' } },
    clock: () => this._now
  };
  private readonly _watch: StallWatch;

  constructor(stallSeconds: number) {
    const host = {
      fleet: null,
      gather: (act: () => void) => act(),
      warn: (sentence: string) => this.told.push(sentence),
      note: () => undefined,
      askWhetherClientsWait: () => this._watch.clientsWait(false)
    };
    const cluster = this._cluster as unknown as ClusterState;
    this._watch = new StallWatch(cluster, host, stallSeconds, 2, 60);
    this._watch.viewed(false);
  }

  /** Nothing moves for so long; then a task ends, and work goes on for `between` seconds. */
  worksFor(seconds: number, between: number, endsWell = true): void {
    const { core } = this._cluster;
    core.isStalled = true;
    this._pass(seconds);
    core.isStalled = false;
    core.stepsAhead += endsWell ? 1 : 0;
    this._cluster.moves++;
    this._pass(between);
  }

  close(): void {
    this._watch.close();
  }

  private _pass(seconds: number): void {
    for (let i = 0; i < seconds; i++) {
      this._now++;
      jest.advanceTimersByTime(1000);
    }
  }
}

describe('a client that works for long on each result', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it.each([30, 5, 300])(
    'is told of the stalls once, and again after a minute without one (limit %d s)',
    limit => {
      const client = new WorkingClient(limit);
      for (let i = 0; i < 20; i++) {
        client.worksFor(limit + 10, 3);
      }
      expect(client.told).toHaveLength(1);
      expect(client.told[0]).toMatch(/^Nothing has moved for .* released\.$/);
      // No stall is too short to be one.
      client.worksFor(limit / 2, 70);
      expect(client.told).toHaveLength(1);
      client.worksFor(limit + 10, 3);
      client.worksFor(limit + 10, 3);
      expect(client.told).toHaveLength(2);
      client.close();
    }
  );

  it('is told nothing again of a stall in which no task has ended well', () => {
    const client = new WorkingClient(30);
    client.worksFor(40, 70, false);
    client.worksFor(40, 70);
    expect(client.told).toHaveLength(1);
    client.worksFor(40, 3);
    expect(client.told).toHaveLength(2);
    client.close();
  });
});

describe('full workers of which one is stopped', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** Two workers, of which this one is full and stopped; `given`: what was given up. */
  function stalled(ttlSeconds: number) {
    let now = 0;
    const session = {
      id: 0,
      isPaused: true,
      isHeldUp: true,
      whyPaused: 'its memory is full'
    };
    const given: string[] = [];
    const workers = new Map([[0, session]]);
    const cluster = {
      core: {
        isStalled: true,
        stepsAhead: 0,
        unplacedCount: 0,
        workers: { all: [] },
        tasks: { state: [], nbytes: [], firstReplica: [] }
      },
      moves: 0,
      workers,
      rows: { functionId: [] },
      log: { names: { text: () => '' }, event: () => undefined },
      clock: () => now,
      handle: ({ type }: { readonly type: string }) => given.push(type)
    };
    const host = {
      fleet: null,
      gather: (act: () => void) => act(),
      warn: () => undefined,
      note: () => undefined,
      askWhetherClientsWait: () => watch.clientsWait(true)
    };
    const watch = new StallWatch(
      cluster as unknown as ClusterState,
      host,
      30,
      2,
      ttlSeconds
    );
    watch.viewed(false);
    const pass = (seconds: number): void => {
      for (let i = 0; i < seconds; i++) {
        now++;
        jest.advanceTimersByTime(1000);
      }
    };
    return { session, workers, given, pass, watch };
  }

  it.each([
    ['goes on', true],
    ['is taken out', false]
  ])('are given up only after it %s', (_, goesOn) => {
    const { session, workers, given, pass, watch } = stalled(60);
    pass(59);
    expect(given).toEqual([]);
    if (goesOn) {
      session.isHeldUp = false;
    } else {
      workers.delete(0);
    }
    pass(29);
    expect(given).toEqual([]);
    pass(3);
    expect(given).toEqual(['stallGivenUp']);
    watch.close();
  });

  it('are given up although it stays, where stopped workers are never taken out', () => {
    const { given, pass, watch } = stalled(0);
    pass(29);
    expect(given).toEqual([]);
    pass(3);
    expect(given).toEqual(['stallGivenUp']);
    watch.close();
  });
});
