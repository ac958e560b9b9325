import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { rowsToBlock } from '../../../testing/rows-to-block';
import { drawBlocks } from '../../../testing/run-from-text';
import type {
  FineMetricsResult,
  SpansResult,
  TaskStreamResult,
  TasksResult
} from '../../../wire/panel-link';
import { FrameEncoder } from '../../../wire/frame';
import { PROTOCOL } from '../../../wire/handshake-messages';
import { connectOptions } from '../../../link/addresses';
import { ObserverFixture } from './observer-fixture';

const drawing = `
  0/0  aaaabb
  0/1  ..cccc
`;
const blocks = drawBlocks(drawing, {
  tasks: { a: { span: 'x', function: 'load' }, b: { span: 'y' } }
});
const half = blocks.length - 1;

/** As `clusters` says: the only cluster's link is lost. */
const isReconnecting = (fields: {
  readonly clusters: readonly Readonly<Record<string, unknown>>[];
}) => fields.clusters[0]?.['state'] === 'reconnecting';

describe('the observer', () => {
  let fixture: ObserverFixture;
  beforeEach(async () => {
    fixture = await ObserverFixture.start();
  });
  afterEach(() => fixture.close());

  it('answers a watch at once, and again when rows come in', async () => {
    const source = await fixture.source();
    expect(await source.open()).toBe(0);
    await source.send(blocks.slice(0, half));
    const panel = await fixture.panel();
    panel.link.send('watch', { id: 1, cluster: 'c1', view: 'fine-metrics' });
    const first = await panel.next('snapshot');
    expect(first.fields).toMatchObject({
      id: 1,
      seq: 1,
      logId: 'log of c1',
      logSeq: half,
      honoured: { how: 'exact' }
    });
    panel.link.send('ack', { id: 1, seq: 1 });
    await source.send(blocks.slice(half));
    const second = await panel.next('snapshot', ({ seq }) => seq === 2);
    const result = second.fields.result as unknown as FineMetricsResult;
    expect(result.totalNanoseconds).toBe(10e9);
    expect(result.byFunction).toMatchObject([
      { function: 'inc', executions: 2, total: 6 },
      { function: 'load', executions: 1, total: 4 }
    ]);
  });

  it('sends nothing more until two answers are acknowledged, then the newest', async () => {
    const source = await fixture.source();
    await source.open();
    const panel = await fixture.panel();
    panel.link.send('watch', {
      id: 7,
      cluster: 'c1',
      view: 'tasks',
      maxHz: 60
    });
    await panel.next('snapshot', ({ seq }) => seq === 1);
    await source.send(blocks);
    await panel.next('snapshot', ({ seq }) => seq === 2);
    const more = drawBlocks('0/0 aaaa').find(({ table }) => table === 'runs')!;
    for (let i = 1; i <= 3; i++) {
      more.columns['run']![0] = 100 + i;
      await source.send([{ ...more, seq: blocks.length + i }]);
    }
    // Something that is answered after everything before it was looked at.
    panel.link.send('watch', { id: 8, cluster: 'c1', view: 'tasks', maxHz: 0 });
    await panel.next('snapshot', ({ id }) => id === 8);
    expect(panel.snapshots(7)).toHaveLength(2);
    panel.link.send('ack', { id: 7, seq: 2 });
    const third = await panel.next(
      'snapshot',
      ({ id, seq }) => id === 7 && seq === 3
    );
    expect((third.fields.result as unknown as TasksResult).total).toBe(6);
  });

  it('answers a query after the block that it names', async () => {
    const source = await fixture.source();
    await source.open();
    const panel = await fixture.panel();
    panel.link.send('watch', {
      id: 1,
      cluster: 'c1',
      view: 'summary',
      maxHz: 0,
      afterSeq: blocks.length
    });
    await source.send(blocks.slice(0, half));
    expect(panel.snapshots(1)).toEqual([]);
    await source.send(blocks.slice(half));
    const answer = await panel.next('snapshot');
    expect(answer.fields.logSeq).toBe(blocks.length);
    expect(answer.fields.result).toMatchObject({ totalNanoseconds: 10e9 });
  });

  it('waits for a cluster of which the asker knows, and for no other', async () => {
    const panel = await fixture.panel();
    const query = { cluster: 'c1', view: 'summary', maxHz: 0 } as const;
    panel.link.send('watch', { ...query, id: 1, afterSeq: blocks.length });
    panel.link.send('watch', { ...query, id: 2, afterSeq: blocks.length });
    panel.link.send('unwatch', { id: 2 });
    panel.link.send('watch', { ...query, id: 3 });
    const failure = await panel.next('failure');
    expect(failure.fields).toMatchObject({
      id: 3,
      sentence: expect.stringContaining('No cluster c1 is known here')
    });
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const answer = await panel.next('snapshot');
    expect(answer.fields).toMatchObject({ id: 1, logSeq: blocks.length });
    panel.link.send('watch', { ...query, id: 4 });
    await panel.next('snapshot', ({ id }) => id === 4);
    expect(panel.snapshots(2)).toEqual([]);
  });

  it('answers any number of queries on one link', async () => {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const panel = await fixture.panel();
    for (let id = 1; id <= 300; id++) {
      panel.link.send('watch', { id, cluster: 'c1', view: 'tasks', maxHz: 0 });
      await panel.next('snapshot', fields => fields.id === id);
    }
    expect(panel.inbox.all.some(({ type }) => type === 'failure')).toBe(false);
  });

  it('says when a filter of a view cannot be honoured', async () => {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const panel = await fixture.panel();
    panel.link.send('watch', {
      id: 1,
      cluster: 'c1',
      view: 'memory',
      filter: { functions: ['load'] }
    });
    expect((await panel.next('snapshot')).fields.honoured).toMatchObject({
      how: 'not filtered'
    });
  });

  it('answers under another filter, and draws tiles under it', async () => {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const panel = await fixture.panel();
    panel.link.send('watch', { id: 2, cluster: 'c1', view: 'task-stream' });
    const first = await panel.next('snapshot');
    const all = first.fields.result as unknown as TaskStreamResult;
    expect(all).toMatchObject({ from: 0, to: 6, tasks: 3, hidden: 0 });
    // Another filter is another watch: answers to the old one must not be taken for the new one's.
    panel.link.send('unwatch', { id: 2 });
    panel.link.send('watch', {
      id: 3,
      cluster: 'c1',
      view: 'task-stream',
      filter: { spans: { any: [{ path: ['x'] }] } }
    });
    const second = await panel.next('snapshot', ({ id }) => id === 3);
    expect(second.fields.result).toMatchObject({ tasks: 1, hidden: 2 });
    // Level 17: cells of 131 ms, one tile for the whole run.
    panel.link.send('tiles', { id: 3, level: 17, first: 0, count: 1 });
    const tile = await panel.next('tile');
    expect(tile.fields.functions).toEqual(['load']);
    expect(tile.tables.boxes.rows).toBe(1);
    expect(tile.tables.boxes.to[0]).toBeCloseTo(4e6 / 2 ** 17, 3);
  });

  it('tells a run whole', async () => {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const panel = await fixture.panel();
    panel.link.send('detail', { request: 5, cluster: 'c1', run: 0 });
    const detail = await panel.next('detail');
    expect(detail.fields).toMatchObject({
      request: 5,
      run: { key: 'load-a', function: 'load', span: ['x'], duration: 4 }
    });
    panel.link.send('detail', { request: 6, cluster: 'c1', run: 999 });
    const none = await panel.next('detail', ({ request }) => request === 6);
    expect(none.fields.run).toBeNull();
  });

  it('tells a run that is too long for one message in short', async () => {
    const long = drawBlocks('0/0 a', {
      tasks: {
        a: {
          parts: Array.from({ length: 2000 }, () => ({
            kind: 4,
            offset: 0,
            duration: 0,
            function: 'f'.repeat(1000)
          }))
        }
      }
    });
    const source = await fixture.source();
    await source.open();
    await source.send(long);
    const panel = await fixture.panel();
    panel.link.send('detail', { request: 5, cluster: 'c1', run: 0 });
    const { run } = (await panel.next('detail')).fields;
    expect(run?.parts).toHaveLength(4);
    expect(fixture.notes.join()).toContain('A detail could not be sent');
  });

  it('says which workers are paused and what fills them, until they go on', async () => {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const panel = await fixture.panel();
    const next = blocks.length + 1;
    const step = (seq: number, state: number, kind: number, text: string) => [
      rowsToBlock(seq, 'capacity', [{ t: 11, worker: 0, threads: 2, state }]),
      rowsToBlock(seq + 1, 'events', [
        { t: 11, kind, worker: 0, run: 0xffffffff, text }
      ])
    ];
    await source.send([
      rowsToBlock(next, 'names', [
        { id: 900, text: 'paused' },
        { id: 901, text: 'resumed' }
      ]),
      ...step(next + 1, 1, 900, '9 of 10 MiB')
    ]);
    const isTold = (state: string, why: string | undefined) =>
      panel.next('clusters', ({ clusters }) => {
        const [worker] = clusters[0]?.workers ?? [];
        return worker?.state === state && worker.why === why;
      });
    await isTold('paused', '9 of 10 MiB');
    await source.send(step(next + 3, 0, 901, ''));
    const told = panel.inbox.all.length;
    await panel.inbox.wait(
      (message): message is typeof message =>
        message.type === 'clusters' &&
        !JSON.stringify(message.fields).includes('9 of 10'),
      told
    );
  });

  it('is reconnecting while its scheduler does not answer', async () => {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const panel = await fixture.panel();
    const next = blocks.length + 1;
    const event = (seq: number, t: number, kind: number, text: string) =>
      rowsToBlock(seq, 'events', [
        { t, kind, worker: 0xffff, run: 0xffffffff, text }
      ]);
    const isTold = (state: string, why: RegExp, dropped: RegExp) =>
      panel.next(
        'clusters',
        ({ clusters: [info] }) =>
          info?.state === state &&
          why.test(info.why ?? '') &&
          dropped.test(info.dropped ?? '')
      );
    await source.send([
      rowsToBlock(next, 'names', [
        { id: 900, text: 'unreachable' },
        { id: 901, text: 'reached' }
      ]),
      event(
        next + 1,
        11,
        900,
        JSON.stringify({ because: 'nobody listens', until: 1811 })
      )
    ]);
    await isTold(
      'reconnecting',
      /^Reconnecting: the scheduler has not answered since [\d:]+ \(nobody listens\)\. Figures are from 11\.0\ss; it is tried again until [\d:]+\.$/u,
      /^$/u
    );
    const badly = { because: 'it says 3', until: 1811, hasAnswered: true };
    await source.send([event(next + 2, 11, 900, JSON.stringify(badly))]);
    await isTold(
      'reconnecting',
      /^Reconnecting: the scheduler has answered nothing of use since [\d:]+ \(it says 3\)\. /u,
      /^$/u
    );
    await source.send([
      event(next + 3, 15, 901, ''),
      rowsToBlock(next + 4, 'gaps', [
        { table: 8, from: 11, to: 14, rows: 0, why: 'nobody watched' },
        { table: 13, from: 15, to: 15, rows: 9, why: 'more sums than are kept' }
      ])
    ]);
    await isTold(
      'running',
      /^$/u,
      /^9 changes of fine .* from 15\.0\ss on .* What ran while nobody watched is missing: between 11\.0\ss and 14\.0\ss\.$/u
    );
    // What a scheduler publishes under this name.
    await source.send([event(next + 5, 16, 900, 'null')]);
    await source.send([event(next + 6, 16, 900, '{')]);
    await isTold('running', /^$/u, /^9 changes/u);
  });

  it('tells watches of a log that another one has replaced', async () => {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const panel = await fixture.panel();
    panel.link.send('watch', { id: 1, cluster: 'c1', view: 'tasks' });
    await panel.next('snapshot');
    const anew = await fixture.source();
    expect(await anew.open('c1', 'another log')).toBe(0);
    expect((await panel.next('failure')).fields).toEqual({
      id: 1,
      question: 0,
      sentence: 'first-look has begun a new history.',
      tiles: false
    });
    // The old log's link is none of the new one's business.
    source.link.destroy();
    // The watch goes over to the new one.
    await anew.send(blocks);
    await panel.next(
      'snapshot',
      ({ id, logId, result }) =>
        id === 1 &&
        logId === 'another log' &&
        (result as unknown as TasksResult).total === 3
    );
  });

  it('resumes a source where it was, and knows when it is gone for good', async () => {
    const patient = await ObserverFixture.start({
      lostAfterMilliseconds: 3_600_000
    });
    const now = Date.now;
    const clock = jest.spyOn(Date, 'now');
    try {
      const panel = await patient.panel();
      const source = await patient.source();
      await source.open();
      await source.send(blocks.slice(0, half));
      source.link.destroy();
      await panel.next('clusters', isReconnecting);
      let told = panel.inbox.all.length;
      const again = await patient.source();
      expect(await again.open()).toBe(half);
      await again.send(blocks);
      panel.link.send('watch', { id: 1, cluster: 'c1', view: 'spans' });
      const answer = await panel.next('snapshot');
      const result = answer.fields.result as unknown as SpansResult;
      expect(result.totalThreadSeconds).toBe(10);
      await panel.next('clusters', fields => !isReconnecting(fields), told);
      told = panel.inbox.all.length;
      again.link.destroy();
      await panel.next('clusters', isReconnecting, told);
      // An hour later.
      clock.mockImplementation(() => now() + 3_600_000);
      const ended = await panel.next(
        'clusters',
        ({ clusters }) => clusters[0]?.['state'] === 'ended'
      );
      expect(ended.fields.clusters[0]?.['why']).toMatch(
        /^The scheduler stopped at \d\d:\d\d:\d\d\. Its tasks are lost, the history is kept\.$/
      );
      // The history still answers.
      panel.link.send('watch', { id: 3, cluster: 'c1', view: 'tasks' });
      const history = await panel.next('snapshot', ({ id }) => id === 3);
      expect(history.fields.result).toMatchObject({ total: 3 });
    } finally {
      try {
        await patient.close();
      } finally {
        clock.mockRestore();
      }
    }
  });

  it('says at once that a source ended whose process was killed', async () => {
    // Without looking at the process it would say so after an hour.
    const patient = await ObserverFixture.start({
      lostAfterMilliseconds: 3_600_000
    });
    const program = spawn('sleep', ['600']);
    try {
      const panel = await patient.panel();
      const source = await patient.source();
      await source.open('c1', 'log', program.pid);
      await source.send(blocks);
      await panel.next('clusters', ({ clusters }) => clusters.length === 1);
      // (of one that a busy machine has not ended by then, the observer says for a moment that it waits)
      const exited = once(program, 'exit');
      program.kill('SIGKILL');
      await exited;
      source.link.destroy();
      const { fields } = await panel.next(
        'clusters',
        ({ clusters }) => clusters[0]?.['state'] === 'ended'
      );
      expect(fields.clusters[0]?.['why']).toMatch(/^The scheduler stopped at/);
      expect(JSON.stringify(panel.inbox.all)).not.toContain('reconnecting');
    } finally {
      program.kill('SIGKILL');
      await patient.close();
    }
  });

  it('lets a viewer that knew a cluster wait until its source is back', async () => {
    const panel = await fixture.panel();
    panel.link.send('watch', {
      id: 1,
      cluster: 'c1',
      view: 'tasks',
      expected: true
    });
    panel.link.send('watch', { id: 2, cluster: 'c1', view: 'tasks' });
    // Answered in this order: the first is not refused.
    await panel.next('failure', ({ id }) => id === 2);
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    await panel.next('snapshot', ({ id }) => id === 1);
    const refused = panel.inbox.all.filter(({ type }) => type === 'failure');
    expect(refused).toHaveLength(1);
  });

  it('says why a cluster ended when its source says so', async () => {
    const panel = await fixture.panel();
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    source.link.send('end', { why: 'closed', at: 6 });
    source.link.close();
    const ended = await panel.next(
      'clusters',
      ({ clusters }) => clusters[0]?.['state'] === 'ended'
    );
    expect(ended.fields.clusters[0]?.['why']).toMatch(
      /^Ended at .*: the client was closed\. The history is kept\.$/
    );
    expect(ended.fields.clusters[0]).not.toHaveProperty('unwatched');
  });

  it('says of a cluster that is watched no more that it may go on', async () => {
    const panel = await fixture.panel();
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    const told = 'the cluster was let go and went on';
    source.link.send('end', { why: 'closed', at: 6, told, unwatched: true });
    source.link.close();
    const ended = await panel.next(
      'clusters',
      ({ clusters }) => clusters[0]?.['state'] === 'ended'
    );
    expect(ended.fields.clusters[0]).toMatchObject({
      unwatched: true,
      why: expect.stringMatching(
        /^Not watched since .*: the cluster was let go/
      )
    });
  });

  it('leaves broken blocks out and goes on', async () => {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks.slice(0, half));
    source.link.send('block', {}, {}, [new Uint8Array(40).fill(9)]);
    await source.send(blocks.slice(half));
    const panel = await fixture.panel();
    panel.link.send('watch', { id: 1, cluster: 'c1', view: 'tasks' });
    expect((await panel.next('snapshot')).fields.result).toMatchObject({
      total: 3
    });
    expect(fixture.notes.join()).toContain('a block was left out');
    await panel.next('clusters', ({ clusters }) =>
      String(clusters[0]?.['dropped']).startsWith(
        'Some measurements before 4.00\u00a0s are missing'
      )
    );
    await source.send([
      rowsToBlock(blocks.length + 1, 'gaps', [
        { table: 9, from: 0, to: 7, rows: 1200, why: 'replay ring' }
      ])
    ]);
    await panel.next('clusters', ({ clusters }) =>
      String(clusters[0]?.['dropped']).startsWith(
        '1,200 task runs before 7.00\u00a0s are missing'
      )
    );
  });

  it('keeps clusters apart and says when one is unknown', async () => {
    const one = await fixture.source();
    await one.open('c1');
    await one.send(blocks);
    const two = await fixture.source();
    await two.open('c2');
    const panel = await fixture.panel();
    panel.link.send('watch', { id: 1, cluster: 'c2', view: 'tasks' });
    expect((await panel.next('snapshot')).fields.result).toMatchObject({
      total: 0
    });
    panel.link.send('watch', { id: 2, cluster: 'c3', view: 'tasks' });
    expect((await panel.next('failure')).fields).toMatchObject({
      id: 2,
      sentence: expect.stringContaining('c3')
    });
    panel.link.send('tiles', { id: 9, level: 3, first: 0, count: 1 });
    await panel.next('failure', ({ id }) => id === 9);
  });

  it.each([
    [PROTOCOL + 1, 'JupyterLab'],
    [PROTOCOL - 1, 'the notebook']
  ])('lists a cluster of protocol %i with what to do', async (other, where) => {
    const panel = await fixture.panel();
    const socket = connect(connectOptions(fixture.observer.address));
    const hello = new FrameEncoder('source', 'up').encode('hello', {
      protocol: other,
      build: '<img src=x onerror=alert(1)>',
      role: 'source',
      nonce: new Uint8Array(16)
    });
    hello.chunks.forEach(chunk => socket.write(chunk));
    socket.on('error', () => undefined);
    const { fields } = await panel.next(
      'clusters',
      ({ clusters }) => clusters.length > 0
    );
    expect(fields.clusters).toMatchObject([
      {
        cluster: 'refused',
        state: 'reconnecting',
        why:
          `A cluster cannot be shown: its Spanwise speaks protocol ${other}, the one beside JupyterLab ${PROTOCOL}. ` +
          `Run "pip install --upgrade spanwise" in the environment of ${where} and restart it.`
      }
    ]);
    panel.link.send('watch', { id: 1, cluster: 'refused', view: 'tasks' });
    expect((await panel.next('failure')).fields.sentence).toContain('upgrade');
    socket.destroy();
  });
});

describe('the observer’s memory', () => {
  it.each([
    [undefined, 2_000_000],
    [2 ** 28, 2_000_000],
    [4 * 2 ** 30, 12_000_000]
  ])('of %p bytes lets a cluster keep %d runs', async (budgetBytes, most) => {
    const fixture = await ObserverFixture.start(
      budgetBytes === undefined ? {} : { budgetBytes }
    );
    try {
      const source = await fixture.source();
      await source.open('c1');
      const { store } = fixture.observer.clusters.get('c1')!.cluster;
      expect(store.runs.bound).toBe(most);
      expect(store.parts.bound).toBe(most);
      expect(store.nodes.bound).toBe(most);
    } finally {
      await fixture.close();
    }
  });

  it('is looked at after 16 MiB of blocks, however few they are', async () => {
    const fixture = await ObserverFixture.start({ budgetBytes: 1000 });
    try {
      const panel = await fixture.panel();
      const ended = await fixture.source();
      await ended.open('ended');
      await ended.send(blocks);
      ended.link.send('end', { why: 'closed', at: 6 });
      await panel.next('clusters', ({ clusters }) =>
        clusters.some(info => info['state'] === 'ended')
      );
      const source = await fixture.source();
      await source.open('large');
      // 4 bytes a row.
      const rows = 2 ** 20;
      const columns = { node: new Uint32Array(rows) };
      const text = new Uint8Array(0);
      for (let seq = 1; seq <= 5; seq++) {
        await source.send([{ seq, table: 'edges', rows, columns, text }]);
      }
      const said = await panel.next('clusters', ({ clusters }) =>
        clusters.some(info => String(info['dropped']).includes('dropped'))
      );
      expect(said.fields.clusters).toMatchObject([{ cluster: 'ended' }, {}]);
    } finally {
      await fixture.close();
    }
  });

  it('drops the history that ended first, and says so', async () => {
    const fixture = await ObserverFixture.start({ budgetBytes: 1000 });
    try {
      const panel = await fixture.panel();
      for (const cluster of ['old', 'new']) {
        const source = await fixture.source();
        await source.open(cluster);
        await source.send(blocks);
        source.link.send('end', { why: 'closed', at: 6 });
        source.link.close();
      }
      const said = await panel.next('clusters', ({ clusters }) =>
        clusters.some(info => String(info['dropped']).includes('dropped'))
      );
      expect(said.fields.clusters).toMatchObject([{ cluster: 'old' }, {}]);
      panel.link.send('watch', { id: 1, cluster: 'old', view: 'tasks' });
      expect((await panel.next('failure')).fields.sentence).toContain(
        'was dropped'
      );
      // Its scheduler only slept: it is listed once.
      const source = await fixture.source();
      expect(await source.open('old')).toBe(0);
      const listed = await panel.next('clusters', ({ clusters }) =>
        clusters.some(info => info['state'] === 'starting')
      );
      expect(listed.fields.clusters.map(info => info['cluster'])).toEqual([
        'new',
        'old'
      ]);
    } finally {
      await fixture.close();
    }
  });
});

/** Longer than it takes to see that a viewer who says nothing is a page. */
const LONG_SILENCE_MS = 5_000;
/** Sockets and folds go on. */
const ALL_BUT_TIMEOUTS = [
  'Date',
  'clearImmediate',
  'clearInterval',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'setInterval'
] as const;

it('warms up once, for the first page, and not for a program that nobody watches', async () => {
  let begun = 0;
  const fixture = await ObserverFixture.start({
    *warmUp() {
      begun++;
      yield;
    }
  });
  try {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    expect(begun).toBe(0);
    for (const id of [1, 2]) {
      const panel = await fixture.panel();
      panel.link.send('watch', { id, cluster: 'c1', view: 'tasks' });
      await panel.next('snapshot');
      expect(begun).toBe(1);
    }
  } finally {
    await fixture.close();
  }
});

it('warms up for a page that has no panel yet, and not for a program that asks', async () => {
  let begun = 0;
  let warm = (): void => undefined;
  const isWarm = new Promise<void>(resolve => (warm = resolve));
  const fixture = await ObserverFixture.start({
    *warmUp() {
      begun++;
      warm();
      yield;
    }
  });
  try {
    const source = await fixture.source();
    await source.open();
    await source.send(blocks);
    jest.useFakeTimers({ doNotFake: [...ALL_BUT_TIMEOUTS] });
    const program = await fixture.panel();
    for (const id of [1, 2, 3]) {
      program.link.send('watch', {
        id,
        cluster: 'c1',
        view: 'tasks',
        maxHz: 0
      });
      await program.next('snapshot', fields => fields.id === id);
      // It may be silent for as long as it likes.
      jest.advanceTimersByTime(LONG_SILENCE_MS);
    }
    expect(begun).toBe(0);
    const page = await fixture.panel();
    await page.next('clusters');
    jest.advanceTimersByTime(LONG_SILENCE_MS);
    await isWarm;
    expect(begun).toBe(1);
  } finally {
    jest.useRealTimers();
    await fixture.close();
  }
});
