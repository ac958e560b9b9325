import { bracketing } from '../../testing/translators';
import { MOST_WATCHES } from '../../wire/panel-link';
import { Feed } from '../feed';
import type { IWatch, LinkStatus, WatchSpec } from '../feed-types';
import { FakeSocket } from './fake-socket';

const SPEC: WatchSpec = {
  cluster: 'c1',
  view: 'tasks',
  filter: {},
  time: 'all',
  params: {}
};

function snapshot(id: number, seq: number, logSeq = seq) {
  return {
    id,
    seq,
    logId: 'log-1',
    logSeq,
    honoured: { how: 'exact' },
    result: { view: 'spans', rows: [], totalThreadSeconds: 0, totalTasks: seq }
  };
}

describe('Feed', () => {
  let sockets: FakeSocket[];
  let feed: Feed;
  const last = () => sockets[sockets.length - 1] as FakeSocket;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask'] });
    sockets = [];
    feed = new Feed({
      trans: bracketing,
      open: () => {
        const socket = new FakeSocket();
        sockets.push(socket);
        return socket;
      },
      random: () => 0.5
    });
    feed.reconnect();
    last().open();
  });

  afterEach(() => {
    feed.dispose();
    jest.useRealTimers();
  });

  it('opens one socket, whatever is watched', () => {
    feed.watch(SPEC, () => undefined);
    feed.watch(SPEC, () => undefined);
    expect(sockets).toHaveLength(1);
    expect(last().binaryType).toBe('arraybuffer');
    const ids = last()
      .taken()
      .map(message => [message.type, message.fields.id]);
    expect(ids).toEqual([
      ['watch', 1],
      ['watch', 2]
    ]);
  });

  it('tells of clusters and is open from then on', () => {
    const seen: LinkStatus['kind'][] = [];
    feed.statusChanged.connect((_, status) => seen.push(status.kind));
    last().answer('clusters', { clusters: [{ cluster: 'c1', name: 'a' }] });
    expect(feed.clusters.map(info => info.name)).toEqual(['a']);
    expect(seen).toEqual(['open']);
  });

  it('hands each snapshot to its watch and acknowledges it', () => {
    const answers: number[] = [];
    feed.watch(SPEC, watch => answers.push(watch.snapshot?.seq ?? -1));
    const other = jest.fn();
    feed.watch(SPEC, other);
    last().taken();
    last().answer('snapshot', snapshot(1, 1));
    last().answer('snapshot', snapshot(1, 2));
    expect(answers).toEqual([1, 2]);
    expect(other).not.toHaveBeenCalled();
    expect(last().taken()).toEqual([
      { type: 'ack', fields: { id: 1, seq: 1 } },
      { type: 'ack', fields: { id: 1, seq: 2 } }
    ]);
  });

  it('asks until an answer to the newest question has come', () => {
    const watch = feed.watch(SPEC, () => undefined);
    expect(watch.isAsking).toBe(true);
    last().answer('snapshot', snapshot(1, 1));
    expect(watch.isAsking).toBe(false);
    watch.change({ time: { last: 5 } });
    expect(watch.isAsking).toBe(true);
    last().answer('failure', { id: 1, sentence: 'Too long ago.' });
    expect(watch.isAsking).toBe(false);
    watch.change({ filter: { functions: ['inc'] } });
    // To the old filter: it was on its way.
    last().answer('snapshot', snapshot(1, 2));
    expect(watch.isAsking).toBe(true);
    last().answer('snapshot', snapshot(2, 1));
    expect(watch.isAsking).toBe(false);
    watch.change({ filter: { functions: ['inc'] } });
    expect(watch.isAsking).toBe(false);
  });

  it('numbers its questions, and takes answers to the newest alone', () => {
    const listener = jest.fn();
    const watch = feed.watch(SPEC, listener);
    watch.change({ time: { last: 5 } });
    watch.change({ params: { sort: 'start' } });
    expect(
      last()
        .taken()
        .map(({ fields }) => fields.question)
    ).toEqual([1, 2, 3]);
    last().answer('snapshot', { ...snapshot(1, 1), question: 2 });
    last().answer('failure', { id: 1, question: 1, sentence: 'Too long.' });
    expect(listener).not.toHaveBeenCalled();
    expect(watch).toMatchObject({ isAsking: true, snapshot: null });
    expect(watch.failure).toBeNull();
    expect(last().taken()).toMatchObject([{ type: 'ack', fields: { seq: 1 } }]);
    last().answer('failure', { id: 1, sentence: 'Two tiles.', tiles: true });
    expect(watch).toMatchObject({ isAsking: true, failure: 'Two tiles.' });
    last().answer('snapshot', { ...snapshot(1, 2), question: 3 });
    expect(watch).toMatchObject({ isAsking: false, failure: null });
    // The next observer is asked by the same number.
    last().drop();
    jest.advanceTimersByTime(200);
    last().open();
    expect(last().taken()).toMatchObject([
      { type: 'watch', fields: { question: 3, params: { sort: 'start' } } }
    ]);
  });

  it('takes the answers of an observer that does not number them', () => {
    const watch = feed.watch(SPEC, () => undefined);
    watch.change({ time: { last: 5 } });
    last().answer('snapshot', snapshot(1, 1));
    expect(watch).toMatchObject({ isAsking: false, snapshot: { seq: 1 } });
  });

  it('sends nothing more for a disposed watch and ignores late answers', () => {
    const listener = jest.fn();
    const watch = feed.watch(SPEC, listener);
    last().taken();
    watch.dispose();
    watch.dispose();
    expect(last().taken()).toEqual([{ type: 'unwatch', fields: { id: 1 } }]);
    last().answer('snapshot', snapshot(1, 1));
    watch.change({ time: { last: 5 } });
    watch.requestTiles(4, 0, 2);
    expect(listener).not.toHaveBeenCalled();
    expect(last().taken()).toEqual([]);
  });

  it('comes back after a break with growing pauses and resumes', () => {
    last().answer('clusters', { clusters: [] });
    feed.watch(SPEC, () => undefined);
    last().answer('snapshot', snapshot(1, 1, 77));
    last().drop();
    expect(feed.status.kind).toBe('reconnecting');
    jest.advanceTimersByTime(199);
    expect(sockets).toHaveLength(1);
    jest.advanceTimersByTime(1);
    expect(sockets).toHaveLength(2);
    last().drop();
    jest.advanceTimersByTime(399);
    expect(sockets).toHaveLength(2);
    jest.advanceTimersByTime(1);
    expect(sockets).toHaveLength(3);
    last().open();
    expect(last().taken()).toMatchObject([
      { type: 'watch', fields: { id: 1, expected: true } }
    ]);
    last().answer('clusters', { clusters: [] });
    expect(feed.status.kind).toBe('open');
  });

  it('asks for functions in common with runs that are compared, after a break too, and else for none', () => {
    feed.watch(SPEC, () => undefined);
    feed.watch({ ...SPEC, sharedFunctions: true }, () => undefined);
    const asked = () =>
      last()
        .taken()
        .map(({ fields }) => fields.sharedFunctions);
    expect(asked()).toEqual([false, true]);
    last().drop();
    jest.advanceTimersByTime(200);
    last().open();
    expect(asked()).toEqual([false, true]);
  });

  it('keeps trying, at most 15 s apart', () => {
    for (let i = 0; i < 12; i++) {
      last().drop();
      const before = sockets.length;
      jest.advanceTimersByTime(15_000);
      expect(sockets.length).toBeGreaterThan(before);
    }
  });

  it.each([
    ['closes at once', () => last().open()],
    ['refuses', () => undefined]
  ])(
    'says what may be wrong where a proxy %s each socket, and goes on trying',
    (_how, begin) => {
      const seen: LinkStatus['kind'][] = [];
      feed.statusChanged.connect((_, status) => seen.push(status.kind));
      // After 0.2, 0.4, 0.8, 1.6 and 3.2 s: six sockets, and not yet ten seconds.
      for (let i = 0; i < 6; i++) {
        begin();
        last().drop();
        expect(feed.status.kind).toBe('connecting');
        jest.runOnlyPendingTimers();
      }
      begin();
      last().drop();
      expect(feed.status).toEqual({
        kind: 'unreachable',
        sentence: expect.stringMatching(
          /^⟦The WebSocket .* does not open, is closed at once, or stays silent\. Perhaps a proxy .*, or the server has ended\. Run “spanwise doctor” .*⟧$/
        )
      });
      const before = sockets.length;
      jest.advanceTimersByTime(15_000);
      expect(sockets.length).toBeGreaterThan(before);
      begin();
      last().drop();
      jest.runOnlyPendingTimers();
      last().open();
      last().answer('clusters', { clusters: [] });
      expect(seen).toEqual(['unreachable', 'open']);
    }
  );

  it('takes three sockets that stay unanswered for a fault, and not two', () => {
    last().drop();
    jest.advanceTimersByTime(200 + 15_000);
    expect(feed.status.kind).toBe('connecting');
    jest.advanceTimersByTime(400 + 15_000);
    expect(feed.status.kind).toBe('unreachable');
  });

  it('takes three sockets that open and say nothing for a fault, too, and listens to one that speaks', () => {
    for (const [pause, silence] of [
      [200, 15_000],
      [400, 30_000]
    ] as const) {
      last().open();
      jest.advanceTimersByTime(silence);
      expect(feed.status.kind).toBe('connecting');
      jest.advanceTimersByTime(pause * 1.5);
    }
    last().open();
    jest.advanceTimersByTime(59_999);
    expect(feed.status.kind).toBe('connecting');
    jest.advanceTimersByTime(1);
    expect(feed.status.kind).toBe('unreachable');
    jest.advanceTimersByTime(800 * 1.5);
    last().open();
    last().answer('clusters', { clusters: [] });
    const before = sockets.length;
    jest.advanceTimersByTime(60_000);
    expect([feed.status.kind, sockets.length]).toEqual(['open', before]);
  });

  it('reconnects without end, and calls no server unreachable that it has reached', () => {
    last().answer('clusters', { clusters: [] });
    for (let i = 0; i < 12; i++) {
      last().drop();
      jest.advanceTimersByTime(15_000);
    }
    expect(feed.status.kind).toBe('reconnecting');
  });

  it('shows what the relay says in place of an observer, then recovers', () => {
    last().answer('state', { state: 'no-node', sentence: 'Install Node.' });
    expect(feed.status).toEqual({ kind: 'no-node', sentence: 'Install Node.' });
    last().drop();
    expect(feed.status.kind).toBe('no-node');
    jest.advanceTimersByTime(1000);
    last().open();
    last().answer('clusters', { clusters: [] });
    expect(feed.status.kind).toBe('open');
  });

  it('does not knock again when the protocol differs', () => {
    last().answer('refused', { code: 'protocol', sentence: 'Reload.' });
    expect(feed.status).toEqual({ kind: 'version', sentence: 'Reload.' });
    last().drop();
    jest.advanceTimersByTime(60_000);
    expect(sockets).toHaveLength(1);
  });

  it('says so when a message cannot be read', () => {
    last().onmessage?.({ data: new ArrayBuffer(3) } as MessageEvent);
    expect(feed.status.kind).toBe('version');
  });

  it('answers details and rejects them when the link breaks or nothing comes', async () => {
    const found = feed.detail('c1', 7);
    last().answer('detail', { request: 1, run: { run: 7 } });
    await expect(found).resolves.toEqual({ run: 7 });

    const late = feed.detail('c1', 8);
    jest.advanceTimersByTime(10_000);
    await expect(late).rejects.toThrow(
      '⟦The observer did not answer in 10 s.⟧'
    );

    last().answer('clusters', { clusters: [] });
    const broken = feed.detail('c1', 9);
    last().drop();
    await expect(broken).rejects.toThrow(
      '⟦The connection to the observer was lost.⟧'
    );
    await expect(feed.detail('c1', 10)).rejects.toThrow(
      '⟦There is no connection to the observer.⟧'
    );
  });

  it('leaves it to the observer to answer a failed watch when it can', () => {
    const failures: (string | null)[] = [];
    feed.watch(SPEC, watch => failures.push(watch.failure));
    last().answer('failure', { id: 1, sentence: 'No such cluster.' });
    last().taken();
    for (let push = 0; push < 5; push++) {
      last().answer('clusters', { clusters: [] });
    }
    expect(last().taken()).toEqual([]);
    last().answer('snapshot', snapshot(1, 1));
    expect(failures).toEqual(['No such cluster.', null]);
  });

  it('asks for what had no place among its watches once one of them ends', () => {
    const watches = Array.from({ length: MOST_WATCHES + 2 }, () =>
      feed.watch(SPEC, () => undefined)
    );
    const lacking = [MOST_WATCHES + 1, MOST_WATCHES + 2];
    lacking.forEach(id =>
      last().answer('failure', { id, sentence: 'Close some panels.' })
    );
    last().taken();
    watches[0]!.dispose();
    expect(
      last()
        .taken()
        .map(({ type, fields }) => [type, fields['id']])
    ).toEqual([['unwatch', 1], ...lacking.map(id => ['watch', id])]);
    // With a place for each, the others' failures are their own.
    watches[1]!.dispose();
    last().taken();
    watches[2]!.dispose();
    expect(last().taken()).toEqual([{ type: 'unwatch', fields: { id: 3 } }]);
  });

  describe('tiles', () => {
    const settledTile = (id: number, index: number, settled = true) => ({
      id,
      level: 4,
      index,
      settled,
      logSeq: 1,
      functions: ['inc']
    });
    const boxes = {
      laneIndex: [0],
      from: [1.5],
      to: [2.5],
      function: [0],
      kind: [0],
      strip: [0],
      cover: [255],
      run: [9],
      tasks: [1]
    };
    const asked = { id: 1, level: 4, groupSize: 0, group: -1 };
    let watch: IWatch;
    const told = jest.fn();

    beforeEach(() => {
      watch = feed.watch(SPEC, ({ failure, snapshot: shown }) => {
        if (shown !== null && failure === null) {
          told();
        }
      });
      last().answer('snapshot', snapshot(1, 1));
      last().taken();
      told.mockClear();
    });

    it('has no failure any more once a tile has come', () => {
      const sentence = 'Too many tiles wait.';
      last().answer('failure', { id: 1, sentence, tiles: true });
      expect(watch.failure).toBe('Too many tiles wait.');
      last().answer('tile', settledTile(1, 0), { boxes });
      expect(watch.failure).toBeNull();
      expect(told).toHaveBeenCalledTimes(1);
    });

    it('asks again for tiles that a watch without an answer was asked for', async () => {
      last().drop();
      jest.advanceTimersByTime(200);
      last().open();
      watch.requestTiles(4, 0, 1);
      await Promise.resolve();
      last().answer('snapshot', snapshot(1, 2));
      last().taken();
      watch.requestTiles(4, 0, 1);
      await Promise.resolve();
      expect(last().taken()).toMatchObject([{ type: 'tiles' }]);
      watch.requestTiles(4, 0, 1);
      await Promise.resolve();
      expect(last().taken()).toEqual([]);
    });

    it('keeps the failure of a question until that has an answer', () => {
      watch.change({ params: { search: 'long' } });
      last().answer('failure', {
        id: 1,
        sentence: 'Too many tiles.',
        tiles: true
      });
      expect(watch.isAsking).toBe(true);
      last().answer('failure', { id: 1, sentence: 'Select fewer spans.' });
      for (let index = 0; index < 2; index++) {
        last().answer('tile', settledTile(1, index), { boxes });
        expect(watch.failure).toBe('Select fewer spans.');
      }
      expect(told).not.toHaveBeenCalled();
      last().answer('snapshot', snapshot(1, 2));
      expect(watch.failure).toBeNull();
    });

    it('joins the requests of one turn and never asks twice', async () => {
      watch.requestTiles(4, 0, 2);
      watch.requestTiles(4, 1, 3);
      await Promise.resolve();
      expect(last().taken()).toEqual([
        { type: 'tiles', fields: { ...asked, first: 0, count: 4 } }
      ]);
      watch.requestTiles(4, 0, 4);
      await Promise.resolve();
      expect(last().taken()).toEqual([]);
    });

    it('splits long requests', async () => {
      watch.requestTiles(4, 0, 100);
      await Promise.resolve();
      expect(last().taken()).toMatchObject([
        { fields: { first: 0, count: 64 } },
        { fields: { first: 64, count: 36 } }
      ]);
    });

    it('keeps settled tiles and asks for the others after news', async () => {
      const arrived: number[] = [];
      watch.tileArrived.connect((_, tile) => arrived.push(tile.index));
      watch.requestTiles(4, 0, 2);
      await Promise.resolve();
      last().answer('tile', settledTile(1, 0), { boxes });
      last().answer('tile', settledTile(1, 1, false), { boxes });
      expect(arrived).toEqual([0, 1]);
      expect(Array.from(watch.tile(4, 0)?.from ?? [])).toEqual([1.5]);
      last().answer('snapshot', snapshot(1, 2));
      last().taken();
      watch.requestTiles(4, 0, 2);
      await Promise.resolve();
      expect(last().taken()).toEqual([
        { type: 'tiles', fields: { ...asked, first: 1, count: 1 } }
      ]);
    });

    it('asks again for settled tiles when rows came late', async () => {
      watch.requestTiles(4, 0, 1);
      await Promise.resolve();
      last().answer('tile', settledTile(1, 0), { boxes });
      const late = snapshot(1, 2);
      last().answer('snapshot', {
        ...late,
        result: { ...late.result, view: 'task-stream', lateSeq: 2 }
      });
      last().taken();
      watch.requestTiles(4, 0, 1);
      await Promise.resolve();
      expect(last().taken()).toMatchObject([{ type: 'tiles' }]);
      // It is shown until the new one is here, which is settled in its turn.
      expect(watch.tile(4, 0)).not.toBeNull();
      last().answer('tile', { ...settledTile(1, 0), logSeq: 2 }, { boxes });
      watch.requestTiles(4, 0, 1);
      await Promise.resolve();
      expect(last().taken()).toEqual([]);
    });

    it('keeps tiles of an old filter out of the new one', async () => {
      watch.requestTiles(4, 0, 1);
      await Promise.resolve();
      watch.change({ filter: { functions: ['inc'] } });
      expect(last().taken().slice(-2)).toMatchObject([
        { type: 'unwatch', fields: { id: 1 } },
        { type: 'watch', fields: { id: 2, filter: { functions: ['inc'] } } }
      ]);
      last().answer('tile', settledTile(1, 0), { boxes });
      expect(watch.tile(4, 0)).toBeNull();
      last().answer('snapshot', snapshot(2, 1));
      last().answer('tile', settledTile(2, 0), { boxes });
      expect(watch.tile(4, 0)).not.toBeNull();
      // Back to no filter: the tiles of a watch that is shown twice are shared, these were never here.
      watch.change({ filter: {} });
      expect(watch.tile(4, 0)).toBeNull();
    });

    it('keeps tiles of groups and of their lanes apart', async () => {
      const groups = { groupSize: 50, group: null };
      const second = { groupSize: 50, group: 2 };
      watch.requestTiles(4, 0, 2, groups);
      watch.requestTiles(4, 0, 1, second);
      watch.requestTiles(4, 1, 1, groups);
      await Promise.resolve();
      const grouped = { ...asked, first: 0, groupSize: 50 };
      expect(last().taken()).toEqual([
        { type: 'tiles', fields: { ...grouped, count: 2 } },
        { type: 'tiles', fields: { ...grouped, count: 1, group: 2 } }
      ]);
      const told = { groupSize: 50, group: 2 };
      last().answer('tile', { ...settledTile(1, 0), ...told }, { boxes });
      expect(watch.tile(4, 0, second)).not.toBeNull();
      expect(watch.tile(4, 0, groups)).toBeNull();
      expect(watch.tile(4, 0)).toBeNull();
      const all = { groupSize: 50, group: -1 };
      last().answer('tile', { ...settledTile(1, 0), ...all }, { boxes });
      expect(watch.tile(4, 0, groups)).not.toBeNull();
      // One is on its way, the others are here.
      watch.requestTiles(4, 0, 2, groups);
      watch.requestTiles(4, 0, 1, second);
      await Promise.resolve();
      expect(last().taken()).toEqual([]);
    });

    it('does not turn its filter into text for each tile of each frame', async () => {
      const filter = { functions: ['inc'] };
      watch.change({ filter });
      last().answer('snapshot', snapshot(2, 1));
      last().answer('tile', settledTile(2, 0), { boxes });
      const told = jest.spyOn(JSON, 'stringify');
      try {
        for (let frame = 0; frame < 60; frame++) {
          expect(watch.tile(4, 0)).not.toBeNull();
          watch.requestTiles(4, 0, 3);
          await Promise.resolve();
        }
        expect(told).not.toHaveBeenCalled();
      } finally {
        told.mockRestore();
      }
    });

    it('sends nothing of what is as it was: the log would be folded once more', () => {
      watch.change({ filter: {}, time: 'all' });
      watch.change({ params: {} });
      expect(last().taken()).toEqual([]);
      watch.change({ filter: {}, time: { last: 5 } });
      expect(last().taken()).toEqual([
        { type: 'change', fields: { id: 1, question: 2, time: { last: 5 } } }
      ]);
    });

    it('changes time and params in place', () => {
      watch.change({ time: { last: 5 }, params: { limit: 1 } });
      expect(last().taken()).toEqual([
        {
          type: 'change',
          fields: {
            id: 1,
            question: 2,
            time: { last: 5 },
            params: { limit: 1 }
          }
        }
      ]);
    });
  });
});
