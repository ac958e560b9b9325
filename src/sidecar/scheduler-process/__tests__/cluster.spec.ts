import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeBlock, type Block } from '../../../records/block';
import {
  CapacityState,
  ClockChange,
  RunStatus,
  StoredKind
} from '../../../records/enumerations';
import type { Seconds } from '../../../base/brand';
import type { OuterTaskId } from '../../../records/ids';
import type { LogWriter } from '../../../records/log-writer';
import type { TableName } from '../../../records/tables';
import { drawnClusterSettings } from '../../../testing/cluster-settings';
import { waitFor } from '../../../testing/wait-for';
import { WireClient } from '../../../testing/wire-client';
import { WireFleet, WireWorker } from '../../../testing/wire-worker';
import { HandshakeRefused } from '../../../wire/handshake';
import type { Message } from '../../../wire/schema';
import type { WorkerIntro } from '../../../wire/worker-link';
import { Door, type AcceptedLink } from '../../../link/door';
import { Link } from '../../../link/link';
import { Cluster } from '../cluster';
import type { ClusterState } from '../cluster-state';
import type { WorkerPlaces } from '../worker-places';
import type { WorkerSession } from '../worker-session';
import { monotonicClock } from '../../../link/monotonic';

const secret = Buffer.alloc(32, 7);
/** How long a flush waits for workers: no machine is so busy that they need it. */
const FLUSH_SECONDS = 77;

/** An observer that keeps every block it is sent. */
class KeepingObserver {
  readonly blocks: Block[] = [];
  readonly links: AcceptedLink<'source'>[] = [];
  opened: Message<'source', 'up', 'open'>['fields'] | null = null;
  ended: string | null = null;
  private _hasViewers = true;
  private _seq = 0;
  door: Door<'source'> | null = null;

  static async start(folder: string, name: string): Promise<KeepingObserver> {
    const observer = new KeepingObserver();
    observer.door = await Door.open({
      transport: 'unix',
      folder,
      name,
      secret,
      build: 'test',
      roles: ['source'],
      onLink: link => {
        observer.links.push(link);
        link.start({
          messages: batch =>
            batch.forEach(message => {
              if (message.type === 'open') {
                observer.opened = message.fields;
                link.send('resume', { haveSeq: 0 });
              } else if (message.type === 'block') {
                for (const bytes of message.blobs) {
                  const block = decodeBlock(bytes);
                  observer.blocks.push(block);
                  observer._seq = block.seq;
                }
                observer._acknowledge(link);
              } else if (message.type === 'end') {
                observer.ended = message.fields.why;
              }
            }),
          closed: () => undefined
        });
      }
    });
    return observer;
  }

  /** Somebody comes, or all leave. */
  viewed(hasViewers: boolean): void {
    this._hasViewers = hasViewers;
    this.links.forEach(link => this._acknowledge(link));
  }

  private _acknowledge(link: AcceptedLink<'source'>): void {
    link.send('ack', { seq: this._seq, hasViewers: this._hasViewers });
  }

  rows<T extends TableName>(table: T): Block<T>[] {
    return this.blocks.filter(
      (block): block is Block<T> => block.table === table
    );
  }

  count(table: TableName): number {
    return this.rows(table).reduce((sum, block) => sum + block.rows, 0);
  }
}

describe.each(['unix', 'tcp'] as const)('a cluster over %s', transport => {
  let folder: string;
  let cluster: Cluster;
  let fleet: WireFleet;
  let client: WireClient;
  let observer: KeepingObserver;
  const notes: string[] = [];
  /** The scheduler's. */
  let clock: () => number;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sw-'));
    await writeFile(join(folder, 'secret'), secret);
    observer = await KeepingObserver.start(folder, 'observer');
    notes.length = 0;
    clock = monotonicClock();
    cluster = await Cluster.start({
      settings: drawnClusterSettings({
        secretHex: secret.toString('hex'),
        transport,
        nWorkers: 2,
        observer: {
          address: observer.door!.address,
          secretFile: join(folder, 'secret')
        },
        stallSeconds: 0.4
      }),
      folder,
      clock: () => clock(),
      note: sentence => notes.push(sentence),
      fleet: options => (fleet = new WireFleet(options)),
      flushSeconds: FLUSH_SECONDS,
      quietSeconds: 0
    });
    client = await WireClient.join(cluster.address, secret);
    await waitFor('two workers', () => fleet.workers.size === 2);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await cluster.end('closed');
    client.link.destroy();
    await observer.door!.close();
    await rm(folder, { recursive: true });
  });

  const workers = (): WireWorker[] => [...fleet.workers.values()];

  /** Waits until it has been looked for a stall for twice as long as one may last: a look each quarter of that time. */
  async function twiceAStall(): Promise<void> {
    const { _stalls: stalls } = cluster as unknown as {
      _stalls: { _look(): void };
    };
    const looks = jest.spyOn(stalls, '_look');
    await waitFor('looks', () => looks.mock.calls.length >= 8);
  }

  it('runs a graph and reports small results with it', async () => {
    client.submit('a b -> c', { want: 'a c' });
    const c = await client.outcome('c');
    expect(c.status).toBe(1);
    expect(c.inline).toBe(`result of ${c.taskId}`);
    expect((await client.outcome('a')).inline).toMatch(/^result of/);
    expect(client.reports.has('b')).toBe(false);
  });

  it('tells of an error once, with its key, its text and the exception', async () => {
    client.submit('a -> b -> c', { want: 'b c', does: { a: 'raise' } });
    expect(await client.outcome('c')).toMatchObject({
      status: 2,
      cause: client.id('a')
    });
    const { fields, blobs } = await client.message('report');
    expect(fields.errors).toHaveLength(1);
    expect(fields.errors[0]).toMatchObject({
      cause: client.id('a'),
      key: 'a-1',
      type: 'ValueError',
      message: 'boom'
    });
    const payload = blobs[fields.errors[0]!.blob];
    expect(new TextDecoder().decode(payload)).toMatch(/^error of/);
  });

  it('reports a value under its aliases, now and later', async () => {
    client.submit('a', { aliases: { x: 'a' }, want: 'x' });
    const x = await client.outcome('x');
    expect(x.inline).toMatch(/^result of/);
    client.submit('', { aliases: { y: 'x' }, want: 'y' });
    expect(await client.outcome('y')).toMatchObject({
      status: 1,
      taskId: x.taskId
    });
    client.release('x');
    client.submit('x -> b');
    expect((await client.outcome('b')).status).toBe(1);
    expect(client.reports.has('a')).toBe(false);
  });

  it('has results dropped that nobody wants, and never confuses their ids', async () => {
    client.submit('a');
    const { taskId } = await client.outcome('a');
    client.release('a');
    await waitFor('the result is dropped', () =>
      workers().every(worker => worker.store.size === 0)
    );
    client.submit('b');
    expect((await client.outcome('b')).taskId).not.toBe(taskId);
    client.submit('a -> c');
    expect((await client.outcome('c')).status).toBe(2);
    const errors = client.received.flatMap(message =>
      message.type === 'report' ? message.fields.errors : []
    );
    expect(errors.at(-1)!.type).toBe('LostDependencies');
  });

  it('says of what is to be dropped whether it counted on it', async () => {
    client.submit('a b', { want: 'a b', does: { b: 'hold' } });
    const a = await client.outcome('a');
    await waitFor('b has begun', () => workers().some(w => w.held.length > 0));
    client.release('a b');
    const told = await waitFor('both are dropped', () => {
      const rows = workers().flatMap(worker =>
        worker.messages('release').flatMap(({ tables: { ids } }) =>
          Array.from(ids.taskId, (id, i) => ({
            isA: id === a.taskId,
            held: ids.held[i]
          }))
        )
      );
      return rows.length >= 2 ? rows : undefined;
    });
    expect(told).toHaveLength(2);
    expect(told).toContainEqual({ isA: true, held: 1 });
    expect(told).toContainEqual({ isA: false, held: 0 });
  });

  it('has small results dropped with what it says next, others at once', async () => {
    const spies = [
      jest.spyOn(Link.prototype, 'sendLater'),
      jest.spyOn(Link.prototype, 'send')
    ];
    // For each of the two, the tasks that workers were told to drop by it.
    const dropped = (): number[][] =>
      spies.map(({ mock }) =>
        mock.calls.flatMap(([type, , tables], i) =>
          type === 'release' && mock.contexts[i]!.role === 'worker'
            ? [...(tables as { ids: { taskId: number[] } }).ids.taskId]
            : []
        )
      );
    const {
      core,
      rows,
      workers: sessions
    } = (cluster as unknown as { _state: ClusterState })._state;
    client.submit('small large run last', {
      want: 'small large run last',
      does: { run: 'hold' }
    });
    const small = await client.outcome('small');
    const large = await client.outcome('large');
    const last = await client.outcome('last');
    client.submit('half -> rest', { want: 'half rest' });
    const half = await client.outcome('half');
    const rest = await client.outcome('rest');
    expect(rest.worker).toBe(half.worker);
    const setBytes = (taskId: number, nbytes: number): void =>
      core.tasks.setBytes(rows.ids.resolve(taskId as OuterTaskId), nbytes);
    setBytes(large.taskId, 1 << 20);
    setBytes(half.taskId, 600 << 10);
    setBytes(rest.taskId, 600 << 10);
    await waitFor('the run is there', () =>
      workers().some(w => w.held.length > 0)
    );
    const [run] = workers().flatMap(({ held }) => held);
    client.release('small');
    await waitFor('it is dropped', () => dropped()[0]!.length === 1);
    client.release('large');
    await waitFor('it is dropped', () => dropped()[1]!.length === 1);
    client.release('half rest');
    await waitFor('both are dropped', () => dropped()[1]!.length === 3);
    client.release('run');
    await waitFor('it is given up', () => dropped()[1]!.length === 4);
    // A worker that is short of memory waits for what it gets back.
    sessions.get(last.worker)!.isPaused = true;
    client.release('last');
    await waitFor('it is dropped', () => dropped()[1]!.length === 5);
    const [later, atOnce] = dropped();
    expect(later).toEqual([small.taskId]);
    expect(new Set(atOnce)).toEqual(
      new Set([large, half, rest, run!, last].map(({ taskId }) => taskId))
    );
    await waitFor('all are gone', () =>
      workers().every(({ store, held }) => store.size + held.length === 0)
    );
  });

  it('logs as many bytes released as were stored, also of tasks that it forgets then', async () => {
    client.submit('a -> b', { want: 'a b' });
    await client.outcome('b');
    client.release('a b');
    await waitFor('both are dropped', () =>
      workers().every(worker => worker.store.size === 0)
    );
    client.link.send('flush', { request: 4 });
    const { fields } = await client.message('flushed');
    await waitFor('the observer has it', () =>
      observer.blocks.some(block => block.seq === fields.seq)
    );
    const changes = observer
      .rows('stored')
      .flatMap(({ columns: { change } }) => Array.from(change));
    expect(changes.some(each => each > 0)).toBe(true);
    expect(changes.reduce((sum, each) => sum + each, 0)).toBe(0);
  });

  it('logs that a result is gone only where it counted on one', async () => {
    client.submit('a', { want: 'a' });
    const { taskId, worker: maker } = await client.outcome('a');
    const other = workers().find(worker => worker.id !== maker)!;
    // A copy that came and went, of which only the end was heard while the task was in memory.
    const say = (added: number[], removed: number[]): void =>
      other.link.send(
        'replicas',
        {},
        {
          added: { taskId: added, nbytes: added.map(() => 8) },
          removed: { taskId: removed }
        }
      );
    say([], [taskId]);
    say([taskId], []);
    say([], [taskId]);
    client.link.send('flush', { request: 4 });
    const { fields } = await client.message('flushed');
    await waitFor('the observer has it', () =>
      observer.blocks.some(block => block.seq === fields.seq)
    );
    const stored = observer
      .rows('stored')
      .flatMap(({ columns: { worker, kind, change } }) =>
        Array.from(worker, (id, i) => ({ id, kind: kind[i], by: change[i]! }))
      )
      .filter(({ id }) => id === other.id);
    expect(stored.map(({ kind }) => kind).sort()).toEqual(
      [StoredKind.Replica, StoredKind.Released].sort()
    );
    expect(stored.reduce((sum, { by }) => sum + by, 0)).toBe(0);
  });

  describe('of a task that lacks an input again and runs anew', () => {
    let worker: WireWorker;
    let first: WireWorker['held'][number];
    let second: WireWorker;

    beforeEach(async () => {
      client.submit('x -> d', { does: { d: 'hold' } });
      const runsOf = (of: WireWorker[]) =>
        of.flatMap(each => each.held.map(run => ({ worker: each, run })));
      const [found] = await waitFor('d runs', () => {
        const all = runsOf(workers());
        return all.length > 0 ? all : undefined;
      });
      ({ worker, run: first } = found!);
      worker.link.send(
        'measured',
        {},
        {
          running: {
            thread: [0],
            taskId: [first.taskId],
            runId: [first.runId],
            function: [first.functionId],
            span: [first.span],
            started: [clock()]
          }
        }
      );
      const removed = { taskId: [...first.own] };
      worker.link.send(
        'replicas',
        {},
        { added: { taskId: [], nbytes: [] }, removed }
      );
      second = (
        await waitFor('d runs anew', () =>
          runsOf(workers()).find(each => each.run.runId !== first.runId)
        )
      ).worker;
    });

    /** The code of the first run has gone on, for no thread can be stopped. */
    const firstEnds = (): void => {
      second.held.splice(0);
      // (which had its inputs)
      worker.held.push({ ...first, own: [] });
      worker.letGo();
    };

    /** Nobody wants the task any more: its worker is told in the same turn. */
    const forgotten = async (how: 'release' | 'cancel') => {
      const told = () =>
        second
          .messages('release')
          .filter(({ tables }) => tables.ids.taskId.includes(first.taskId));
      const before = told().length;
      client.link.send(how, {}, { ids: { id: [client.id('d')] } });
      await waitFor('d is forgotten', () => told().length > before);
    };

    const statusOfFirst = async () => {
      client.link.send('flush', { request: 7 });
      const { fields } = await client.message('flushed');
      await waitFor('the observer has it', () =>
        observer.blocks.some(block => block.seq === fields.seq)
      );
      const statuses = observer
        .rows('runs')
        .flatMap(({ columns }) =>
          [...columns.run].map((each, i) => [each, columns.status[i]] as const)
        );
      return new Map(statuses).get(first.runId);
    };

    it('no run is cancelled', async () => {
      worker.held.push(first);
      workers().forEach(each => each.letGo());
      expect((await client.outcome('d')).status).toBe(1);
      expect(await statusOfFirst()).toBe(RunStatus.Ok);
      expect(observer.count('running')).toBe(1);
      expect(observer.count('givenUp')).toBe(0);
    });

    it('no run is cancelled that ends when the task is done and forgotten', async () => {
      second.letGo();
      expect((await client.outcome('d')).status).toBe(1);
      await forgotten('release');
      firstEnds();
      expect(await statusOfFirst()).toBe(RunStatus.Ok);
      expect(observer.count('givenUp')).toBe(0);
    });

    it('its first run is cancelled with it', async () => {
      await forgotten('cancel');
      firstEnds();
      expect(await statusOfFirst()).toBe(RunStatus.Cancelled);
      // (while it runs, and once more with the start of its row)
      expect(observer.count('givenUp')).toBe(2);
    });
  });

  it('tells the client which workers are paused, and why, until they go on', async () => {
    const [first] = workers();
    const states = (): (string | undefined)[] =>
      client.received
        .flatMap(m => (m.type === 'cluster' ? [m.fields.workers] : []))
        .at(-1)
        ?.filter(({ id }) => id === first!.id)
        .flatMap(({ state, why }) => [state, why]) ?? [];
    first!.link.send('state', { paused: true, why: '9 of 10 MiB' });
    await waitFor('the pause', () => states()[0] === 'paused');
    expect(states()).toEqual(['paused', '9 of 10 MiB']);
    first!.link.send('state', { paused: false });
    await waitFor('its end', () => states()[0] === 'running');
    expect(states()).toEqual(['running', undefined]);
  });

  it('logs that a worker is stopped apart from that its memory is full', async () => {
    const { _state: state, _roster: roster } = cluster as unknown as {
      _state: ClusterState;
      _roster: { _standingChanged(session: WorkerSession): void };
    };
    const [session, other] = [...state.workers.values()];
    const stand = (
      worker: WorkerSession,
      standing: WorkerSession['standing']
    ): void => {
      worker.standing = standing;
      roster._standingChanged(worker);
    };
    stand(session!, 'stopped');
    stand(session!, 'well');
    const { link } = workers().find(({ id }) => id === other!.id)!;
    const full = { paused: true, why: 'it is full' };
    link.send('state', full);
    await waitFor('the pause', () => other!.isPaused);
    stand(other!, 'stopped');
    stand(other!, 'well');
    // It goes on, and says that nothing leaves its memory before anybody has looked at it.
    stand(other!, 'stopped');
    link.send('state', { ...full, stalled: true });
    await waitFor('it goes on', () => !other!.isHeldUp);
    stand(other!, 'well');
    client.link.send('flush', { request: 5 });
    const { fields } = await client.message('flushed');
    await waitFor('the observer has it', () =>
      observer.blocks.some(block => block.seq === fields.seq)
    );
    const logged = observer
      .rows('capacity')
      .flatMap(({ columns }) =>
        [...columns.worker].map((worker, i) => [worker, columns.state[i]])
      );
    const statesOf = ({ id }: WorkerSession) =>
      logged.flatMap(([worker, state]) => (worker === id ? [state] : []));
    const { Running, Stopped, Paused } = CapacityState;
    expect(statesOf(session!)).toEqual([Running, Stopped, Running]);
    expect(statesOf(other!)).toEqual([
      ...[Running, Paused],
      ...[Stopped, Paused],
      ...[Stopped, Paused]
    ]);
  });

  it('fails what waits when nothing moves, with what is full, and goes on', async () => {
    client.submit('kept', { want: 'kept' });
    await client.outcome('kept');
    for (const { link } of workers()) {
      link.send('state', { paused: true, stalled: true, why: 'it is full' });
    }
    client.submit('kept -> a -> b', { want: 'b' });
    expect(await client.outcome('b')).toMatchObject({
      status: 2,
      cause: client.id('a')
    });
    const [error] = client.received.flatMap(message =>
      message.type === 'report' ? message.fields.errors : []
    );
    expect(error!.type).toBe('StallError');
    expect(error!.message).toMatch(
      /^Nothing has moved for 0.4 s.*worker-\d: it is full.*results kept.* 1 of kept/
    );
    expect((await client.outcome('kept')).status).toBe(1);
    for (const { link } of workers()) {
      link.send('state', { paused: false });
    }
    client.submit('c');
    expect((await client.outcome('c')).status).toBe(1);
  });

  it('fails nothing while the client works or stands still, and counts from a release again', async () => {
    client.submit('kept', { want: 'kept' });
    await client.outcome('kept');
    client.waiting = false;
    for (const { link } of workers()) {
      link.send('state', { paused: true, stalled: true, why: 'it is full' });
    }
    client.submit('a');
    const asked = (): number =>
      client.received.filter(({ type }) => type === 'stalled').length;
    const sentences = (): string[] =>
      client.received.flatMap(m =>
        m.type === 'problem' ? [m.fields.sentence] : []
      );
    // Of four questions in the time that a stall may last.
    await waitFor('three times that', () => asked() >= 12);
    expect(client.reports.has('a')).toBe(false);
    expect(sentences()).toEqual([
      expect.stringMatching(/^Nothing has moved for 0.4 s.*are released\.$/)
    ]);
    client.waiting = null;
    const last = asked() + 1;
    await waitFor('one that is not answered', () => asked() === last);
    await twiceAStall();
    expect(asked()).toBe(last);
    expect(client.reports.has('a')).toBe(false);
    client.waiting = true;
    client.link.send('waiting', { waiting: true });
    client.release('kept');
    // From one question to the next a quarter of the time that a stall may last, however late the looks come.
    const before = asked();
    const released = clock();
    clock = () => released + 0.1 * (asked() - before);
    expect(await client.outcome('a')).toMatchObject({ status: 2 });
    expect(asked() - before).toBeGreaterThanOrEqual(4);
    expect(sentences()).toHaveLength(1);
  });

  it('tells of each stall that nobody waits for, once', async () => {
    client.waiting = false;
    const stalls = (): number =>
      client.received.filter(
        m => m.type === 'problem' && /are released\.$/.test(m.fields.sentence)
      ).length;
    const asked = (): number =>
      client.received.filter(({ type }) => type === 'stalled').length;
    const state = (fields: { paused: boolean; stalled: boolean }): void =>
      workers().forEach(({ link }) =>
        link.send('state', { ...fields, why: fields.paused ? 'full' : '' })
      );
    client.submit('kept', { want: 'kept' });
    await client.outcome('kept');
    for (const [i, name] of ['a', 'b'].entries()) {
      state({ paused: true, stalled: true });
      client.submit(name);
      await waitFor('the notice', () => stalls() === i + 1);
      // As often as it takes to be told.
      const before = asked();
      await waitFor('more looks', () => asked() >= before + 8);
      expect(stalls()).toBe(i + 1);
      state({ paused: false, stalled: false });
      expect((await client.outcome(name)).status).toBe(1);
    }
  });

  it('fails nothing while something runs or frees memory', async () => {
    const [first, second] = workers();
    client.submit('a b', { want: 'a b', does: { a: 'hold', b: 'hold' } });
    await waitFor(
      'both run',
      () => first!.held.length + second!.held.length === 2
    );
    first!.link.send('state', { paused: true, stalled: false, why: 'full' });
    second!.link.send('state', { paused: true, stalled: true, why: 'full' });
    client.submit('c');
    await twiceAStall();
    expect(client.reports.size).toBe(0);
    first!.link.send('state', { paused: false });
    second!.link.send('state', { paused: false });
    first!.letGo();
    second!.letGo();
    expect((await client.outcome('c')).status).toBe(1);
  });

  it('tells once that workers cannot write results', async () => {
    const [first, second] = workers();
    const told = (): string[] =>
      client.received.flatMap(m =>
        m.type === 'problem' ? [m.fields.sentence] : []
      );
    first!.link.send('event', {
      kind: 'spill-failed',
      text: 'the disk is full'
    });
    await waitFor('the notice', () => told().length > 0);
    second!.link.send('event', {
      kind: 'spill-failed',
      text: 'the disk is full'
    });
    first!.link.send('event', { kind: 'spill-resumed' });
    first!.link.send('event', {
      kind: 'spill-failed',
      text: 'the disk is full'
    });
    client.submit('a');
    await client.outcome('a');
    expect(told()).toEqual([
      expect.stringMatching(/^worker-\d: the disk is full\. Results stay/)
    ]);
  });

  it('seals less often while nobody looks, and what is open when somebody comes', async () => {
    await waitFor('the observer', () => observer.opened !== null);
    const { log } = cluster['_state'];
    const { writer } = log as unknown as { writer: LogWriter };
    // How far after the last seal the next one is due, each time that it is asked.
    const pauses = { seen: [] as number[], unseen: [] as number[] };
    const commit = log.commit.bind(log);
    log.commit = now => {
      const due = commit(now);
      pauses[writer.hasViewers ? 'seen' : 'unseen'].push(
        due === null ? 0 : due - writer['_sealedAt']
      );
      return due;
    };
    observer.viewed(false);
    await waitFor('it is told', () => !writer.hasViewers);
    client.submit('a');
    await client.outcome('a');
    await waitFor('its run', () => observer.count('runs') === 1);
    client.submit('b');
    await client.outcome('b');
    pauses.seen = [];
    observer.viewed(true);
    await waitFor('it is told', () => writer.hasViewers);
    // At once, and not when the pause is over.
    expect(pauses.seen).not.toEqual([]);
    await waitFor('its run', () => observer.count('runs') === 2);
    expect(Math.max(...pauses.unseen)).toBeGreaterThan(0.49);
  });

  it('computes again what was at a worker that is killed', async () => {
    client.submit('a');
    const first = await client.outcome('a');
    fleet.kill(first.worker);
    await waitFor('the report', () => client.history.length === 3);
    expect(client.history).toEqual(['a 1', 'a 3', 'a 1']);
    expect(client.reports.get('a')!.worker).not.toBe(first.worker);
    await waitFor('another worker', () => fleet.workers.size === 2);
    const lists = client.received.flatMap(message =>
      message.type === 'cluster'
        ? [message.fields.workers.map(({ id }) => id)]
        : []
    );
    expect(lists).toContainEqual([1 - first.worker]);
  });

  it('keeps no process alive for a worker that has gone', async () => {
    client.submit('a');
    const first = await client.outcome('a');
    const made = jest.spyOn(global, 'setTimeout');
    fleet.kill(first.worker);
    await waitFor('the report', () => client.history.length === 3);
    // So long its link may take to end.
    const isLimit = made.mock.calls.map(([, delay]) => delay === 500);
    const limits = made.mock.results
      .map(({ value }) => value as NodeJS.Timeout)
      .filter((_, i) => isLimit[i]);
    expect(limits).not.toHaveLength(0);
    expect(limits.map(timer => timer.hasRef())).not.toContain(true);
  });

  it('binds data that the client has put, and finds it', async () => {
    client.scattered('x', 0);
    expect((await client.outcome('x')).worker).toBe(0);
    const [adopt] = fleet.workers.get(0)!.messages('adopt');
    expect(adopt!.tables.items.dataId[0]).toBe(client.id('x'));
    client.submit('x -> b');
    expect((await client.outcome('b')).status).toBe(1);
    client.link.send(
      'locate',
      { request: 5 },
      { ids: { id: [client.id('x'), 999] } }
    );
    const { where } = (await client.message('located')).tables;
    expect([...where.worker]).toEqual([0, 0xffff]);
  });

  it('lets a worker go when others have its results, and logs that it takes no tasks', async () => {
    client.submit('a b c d', { want: 'a b c d' });
    const first = await client.outcome('a');
    await client.outcome('d');
    client.link.send('command', {
      request: 3,
      what: 'retire',
      workers: [first.worker]
    });
    const { fields } = await client.message('done');
    expect([fields.workers, fields.sentence]).toEqual([[first.worker], '']);
    expect(client.history.filter(said => said.endsWith(' 3'))).toEqual([]);
    const other = fleet.workers.get(1 - first.worker)!;
    expect(other.store.has(first.taskId)).toBe(true);
    client.submit('e');
    expect((await client.outcome('e')).worker).toBe(other.id);
    client.link.send('flush', { request: 4 });
    const { fields: flushed } = await client.message('flushed');
    await waitFor('the observer has it', () =>
      observer.blocks.some(block => block.seq === flushed.seq)
    );
    const capacity = observer
      .rows('capacity')
      .flatMap(({ columns }) =>
        [...columns.worker].map((worker, i) => [worker, columns.state[i]])
      );
    expect(capacity).toContainEqual([first.worker, CapacityState.Closing]);
    client.link.send('command', {
      request: 5,
      what: 'retire',
      workers: [other.id]
    });
    const refused = await waitFor('the answer', () =>
      client.received.find(m => m.type === 'done' && m.fields.request === 5)
    );
    expect(refused.fields).toMatchObject({
      workers: [],
      sentence: expect.stringContaining('No other worker') as string
    });
  });

  it('puts no other in the place of a worker that is stopped while it retires', async () => {
    client.submit('a', { does: { a: 'hold' } });
    const [worker] = await waitFor('the task', () => {
      const found = workers().filter(({ held }) => held.length > 0);
      return found.length > 0 && found;
    });
    const { _roster: roster, _state: state } = cluster as unknown as {
      _roster: { _takeOut(session: WorkerSession, why: string): void };
      _state: ClusterState;
    };
    const session = state.workers.get(worker!.id)!;
    client.link.send('command', {
      ...{ request: 3, what: 'retire', workers: [session.id] }
    });
    await waitFor('that it retires', () => session.isRetiring);
    const starts = jest.spyOn(fleet, 'start');
    cluster.gather(() => roster._takeOut(session, 'was stopped'));
    expect((await client.message('done')).fields.workers).toEqual([session.id]);
    expect(starts.mock.calls.filter(([count]) => count > 0)).toEqual([]);
    expect(fleet.has(session.id)).toBe(false);
    expect(nameOfNext()).toBe('99'); // nor takes a later one its names
  });

  it("lets anyone have the place of a program's worker for which it starts no other", async () => {
    client.link.send('reserve', { request: 3, count: 2, names: [] });
    const { fields } = await client.message('done');
    const [replaced, last] = fields.workers as [number, number];
    const outside: WireWorker[] = [];
    for (const worker of [replaced, last]) {
      outside.push(await WireWorker.join(worker, fleet.options));
    }
    await waitFor('both', () => knows(replaced) && knows(last));
    const why = 'has died';
    client.link.send('workerEnded', { worker: replaced, why });
    client.link.send('workerEnded', { worker: last, why, replaced: false });
    outside.forEach(({ link }) => link.destroy());
    await waitFor(
      'that they have gone',
      () => !knows(replaced) && !knows(last)
    );
    expect(nameOfNext()).toBe(String(last));
  });

  const knows = (worker: number): boolean =>
    (cluster as unknown as { _state: ClusterState })._state.workers.has(worker);

  /** What a worker of the cluster's own would be called that came now. */
  function nameOfNext(): string {
    const { _roster } = cluster as unknown as {
      _roster: { _places: WorkerPlaces };
    };
    const said = { worker: 99, name: '', address: '' } as WorkerIntro;
    return _roster._places.nameOfNext(said, null);
  }

  describe('while a worker sets up its plugins', () => {
    let third: WireWorker;

    async function command(
      fields: Omit<
        Message<'client', 'up', 'command'>['fields'],
        'request' | 'alone'
      >
    ): Promise<unknown> {
      const request = 10 + client.received.length;
      client.link.send('command', { request, ...fields });
      const done = await waitFor('the answer', () =>
        client.received.find(
          m => m.type === 'done' && m.fields.request === request
        )
      );
      return done.fields;
    }
    const plain = {
      workers: [],
      closes: true,
      count: 0,
      minimum: 0,
      maximum: null
    };

    beforeEach(async () => {
      const setUp = { request: 1, name: 'p', setUp: true };
      client.link.send('plugin', setUp, {}, [Uint8Array.of(1)]);
      await waitFor('the plugin', () =>
        workers().every(each => each.messages('plugin').length === 1)
      );
      await command({ ...plain, what: 'scale', count: 3 });
      third = await waitFor('the third', () => fleet.workers.get(2));
      await waitFor('its plugin', () => third.messages('plugin').length === 1);
    });

    it('the number of workers is adapted, and fewer are wanted', async () => {
      await command({ ...plain, what: 'adapt', maximum: 3 });
      await command({ ...plain, what: 'adapt' });
      await command({ ...plain, what: 'scale', count: 2 });
      // It holds nothing: none is needed less.
      await waitFor('its end', () => third.messages('close').length === 1);
      expect(client.received.map(({ type }) => type)).not.toContain('problem');
      client.submit('a');
      await client.outcome('a');
    });

    it('it has no capacity, and all of it when it has set them up', async () => {
      const capacity = (): [number, CapacityState][] =>
        observer
          .rows('capacity')
          .flatMap(({ columns }) =>
            [...columns.worker].map((worker, i): [number, CapacityState] => [
              worker,
              columns.state[i]!
            ])
          )
          .filter(([worker]) => worker === 2);
      const flushed = async (): Promise<void> => {
        client.link.send('flush', { request: 70 + client.received.length });
        const before = client.received.filter(({ type }) => type === 'flushed');
        await waitFor('the answer', () => {
          const now = client.received.filter(({ type }) => type === 'flushed');
          return now.length > before.length;
        });
      };
      await flushed();
      expect(capacity()).toEqual([]);
      const { request } = third.messages('plugin')[0]!.fields;
      third.link.send('runResult', { request, ok: true });
      await waitFor('the third in the list', () =>
        client.received.some(
          m => m.type === 'cluster' && m.fields.workers.some(w => w.id === 2)
        )
      );
      await flushed();
      // The observer is told on its own link.
      await waitFor('its capacity', () => capacity().length > 0);
      expect(capacity()).toEqual([[2, CapacityState.Running]]);
    });

    it('it retires, and gets no task when it has set them up', async () => {
      const retired = await command({
        ...plain,
        what: 'retire',
        workers: [2],
        closes: false
      });
      expect(retired).toMatchObject({ workers: [2], sentence: '' });
      const { request } = third.messages('plugin')[0]!.fields;
      third.link.send('runResult', { request, ok: true });
      await waitFor('the third in the list', () =>
        client.received.some(
          m => m.type === 'cluster' && m.fields.workers.some(w => w.id === 2)
        )
      );
      client.submit('a b c d e f g h', { want: 'a b c d e f g h' });
      await client.outcome('h');
      const assigned = third
        .messages('assign')
        .filter(({ tables }) => tables.tasks.rows > 0);
      expect(assigned).toEqual([]);
    });
  });

  it('runs functions at the workers, and says which are gone', async () => {
    client.link.send('run', { request: 9, workers: [1, 77] }, {}, [
      Buffer.from('f')
    ]);
    const answers = await waitFor('two answers', () => {
      const found = client.received.filter(
        (m): m is Message<'client', 'down', 'runResult'> =>
          m.type === 'runResult'
      );
      return found.length === 2 && found;
    });
    const byWorker = new Map(answers.map(a => [a.fields.worker, a]));
    expect(byWorker.get(77)!.fields.ok).toBe(false);
    expect(Buffer.from(byWorker.get(1)!.blobs[0]!).toString()).toBe('ran at 1');
  });

  it('writes everything into the log before it answers a flush', async () => {
    client.submit('a b -> c', { want: 'a c' });
    await client.outcome('c');
    client.link.send('flush', { request: 4 });
    const { fields } = await client.message('flushed');
    await waitFor('the observer has it', () =>
      observer.blocks.some(block => block.seq === fields.seq)
    );
    expect(observer.opened).toMatchObject({
      clusterId: 'c1',
      kind: 'embedded'
    });
    expect(observer.blocks.map(block => block.seq)).toEqual(
      observer.blocks.map((_, i) => i + 1)
    );
    expect(observer.count('nodes')).toBe(3);
    expect(observer.count('edges')).toBe(2);
    expect(observer.count('runs')).toBe(3);
    expect(observer.count('parts')).toBe(3);
    expect(observer.count('lanes')).toBe(2);
    const [runs] = observer.rows('runs');
    expect(runs!.columns.span[0]).toBe(3);
    expect(runs!.columns.waitReady[0]).toBeGreaterThanOrEqual(0);
    const spans = observer.rows('spans');
    expect(spans.flatMap(({ columns }) => [...columns.id])).toEqual([0, 3]);
  });

  it('answers a flush without a worker that is stuck, and says so', async () => {
    client.link.send('flush', { request: 6 });
    expect((await client.message('flushed')).fields.note).toBe('');
    workers()[1]!.isStuck = true;
    client.received.length = 0;
    const timers = jest.spyOn(global, 'setTimeout');
    client.link.send('flush', { request: 7 });
    // The time is over when the other one has answered.
    const { _pending: pending } = (
      cluster as unknown as { _state: ClusterState }
    )._state.requests as unknown as { _pending: Map<number, unknown> };
    const isOver = await waitFor('the flush', () =>
      timers.mock.calls.find(([, ms]) => ms === FLUSH_SECONDS * 1000)
    );
    await waitFor('the answer', () => pending.size === 1);
    isOver[0]();
    const { fields } = await client.message('flushed');
    expect(fields).toMatchObject({ request: 7, seq: expect.any(Number) });
    expect(fields.note).toMatch(/^worker-1 did not answer within 77 s: /);
  });

  it('tells its client that the observer turned it away', async () => {
    // One that is let in after the others have been ended would stay.
    await waitFor('the link', () => observer.links.length > 0);
    await writeFile(join(folder, 'secret'), Buffer.alloc(32, 9));
    for (const source of observer.links) {
      source.destroy();
    }
    const { fields } = await client.message('problem');
    expect(fields).toMatchObject({ fatal: false });
    expect(fields.sentence).toMatch(/the observer turned it away.*Restart/);
  });

  it('writes what a run raised into the log, with the run', async () => {
    client.submit('a -> b', { want: 'b', does: { a: 'raise' } });
    await client.outcome('b');
    client.link.send('flush', { request: 5 });
    const { fields } = await client.message('flushed');
    await waitFor('the observer has it', () =>
      observer.blocks.some(block => block.seq === fields.seq)
    );
    const failed = observer
      .rows('events')
      .flatMap(({ columns }) =>
        columns.text
          .toArray()
          .flatMap((text, row) =>
            columns.run[row] === 0xffffffff
              ? []
              : [{ text, run: columns.run[row], span: columns.span[row] }]
          )
      );
    const [runs] = observer.rows('runs');
    expect(runs!.columns.status[0]).toBe(1);
    expect(failed).toEqual([
      {
        text: 'Traceback …',
        run: runs!.columns.run[0],
        span: runs!.columns.span[0]
      }
    ]);
  });

  it('ends with its client: by a word, or without one', async () => {
    client.submit('a', { does: { a: 'hold' } });
    await waitFor('the task runs', () =>
      workers().some(worker => worker.held.length > 0)
    );
    client.link.destroy();
    expect(await cluster.ended).toBe('kernel-ended');
    await waitFor('the end', () => observer.ended === 'kernel-ended');
  });

  it('says goodbye to everybody when it is closed', async () => {
    const [worker] = workers();
    client.link.send('close', {});
    await client.message('closed');
    expect(await cluster.ended).toBe('closed');
    expect(worker!.messages('close')).toHaveLength(1);
    await waitFor('the end of the log', () => observer.ended === 'closed');
    await waitFor('the link is closed', () => client.isClosed);
  });

  it('turns a second client away, and workers that it did not start', async () => {
    await expect(WireClient.join(cluster.address, secret)).rejects.toThrow(
      /belongs to another client/
    );
    await expect(
      WireClient.join(cluster.address, Buffer.alloc(32, 8))
    ).rejects.toBeInstanceOf(HandshakeRefused);
  });

  it('has in its log what a worker adds to its clock, and when that changes', async () => {
    const [worker] = workers();
    // The same, the same followed a little, and a step.
    for (const offset of [3, 3, 3.002, -5] as Seconds[]) {
      const within = 0.0005 as Seconds;
      worker!.link.send('askClock', { sent: 7 as Seconds, offset, within });
    }
    await waitFor('answers', () => worker!.messages('clockIs').length === 4);
    client.link.send('flush', { request: 8 });
    await client.message('flushed');
    const texts = (): string[] =>
      observer
        .rows('events')
        .flatMap(({ columns }) => columns.text.toArray())
        .filter(text => text.includes('clock'));
    await waitFor('both events', () => texts().length >= 2);
    expect(texts()).toEqual([
      '3000.0 ms are added to its clock, which may be wrong by 0.5 ms.',
      '-5000.0 ms are added to its clock, which may be wrong by 0.5 ms.'
    ]);
    await waitFor('the rows', () => observer.count('clocks') >= 3);
    const rows = observer.rows('clocks').flatMap(({ columns, rows }) =>
      Array.from({ length: rows }, (_, i) => ({
        worker: columns.worker[i],
        offset: columns.offset[i],
        within: columns.within[i],
        why: columns.why[i]
      }))
    );
    const { id } = worker!;
    expect(rows).toEqual([
      { worker: id, offset: 3, within: 0.0005, why: ClockChange.Measured },
      { worker: id, offset: 3.002, within: 0.0005, why: ClockChange.Slewed },
      { worker: id, offset: -5, within: 0.0005, why: ClockChange.Stepped }
    ]);
  });

  it('samples memory under a label', async () => {
    const [worker] = workers();
    worker!.link.send(
      'measured',
      {},
      {
        memory: {
          t: [performance.now() / 1000],
          process: [5000],
          managed: [1000],
          spilled: [0],
          unmanagedOld: [700]
        }
      }
    );
    (['unmanaged', 'optimistic'] as const).forEach((measure, i) =>
      client.link.send('memoryRun', {
        request: 10 + i,
        run: i + 1,
        label: 'A',
        measure,
        intervalSeconds: 0.01,
        state: 'start'
      })
    );
    await waitFor('rates', () => worker!.messages('rates').length > 1);
    // The worker's answer comes behind what it has measured.
    client.link.send('flush', { request: 8 });
    await client.message('flushed');
    for (const [run, request, bytes] of [
      [1, 10, 4000],
      [2, 11, 1700]
    ] as const) {
      client.link.send('memoryRun', { request, run, state: 'stop' });
      const { tables } = await client.message(
        'memoryRunEnded',
        ({ fields }) => fields.run === run
      );
      const { samples } = tables;
      expect(samples.rows).toBeGreaterThan(1);
      expect(samples.bytes[samples.rows - 1]).toBe(bytes);
    }
  });

  it('replays the log to a new observer', async () => {
    client.submit('a');
    await client.outcome('a');
    await waitFor('runs', () => observer.count('runs') === 1);
    const address = observer.door!.address;
    await observer.door!.close();
    cluster['_observer']!['_link']!.destroy();
    observer = await KeepingObserver.start(folder, 'observer');
    expect(observer.door!.address).toBe(address);
    await waitFor('runs again', () => observer.count('runs') === 1);
    expect(observer.blocks[0]!.seq).toBe(1);
  });
});
