import fc from 'fast-check';
import { DEFAULT_SPAN, type LaneId, type SpanId } from '../../records/ids';
import { decodeBlock } from '../../records/block';
import {
  CapacityState,
  NONE_U16,
  NONE_U32,
  RunStatus,
  SpanOrigin,
  TaskOrigin
} from '../../records/enumerations';
import { logRows } from '../../testing/log-rows';
import { LocalLog, type LocalRun } from '../local-log';

/** A log, and its rows. */
function tablesOf(start: number) {
  const { emit, tables } = logRows();
  return { log: new LocalLog(start, emit), tables };
}

/** What a log has written: names by id, keys by node, spans' tags by id. */
function written(mostNames?: number) {
  const names: string[] = [];
  const keys: string[] = [];
  const tags = new Map<number, string>();
  let spanRows = 0;
  const log = new LocalLog(
    0,
    ({ bytes }) => {
      const block = decodeBlock(bytes);
      for (let row = 0; row < block.rows; row++) {
        if (block.table === 'names') {
          names[block.columns.id[row]!] = block.columns.text.at(row);
        } else if (block.table === 'nodes') {
          const { group, suffix } = block.columns;
          keys.push(names[group[row]!]! + suffix.at(row));
        } else if (block.table === 'spans') {
          spanRows++;
          tags.set(block.columns.id[row]!, names[block.columns.tag[row]!]!);
        }
      }
    },
    mostNames
  );
  return { log, names, keys, tags, spanRows: () => spanRows };
}

describe('a local log', () => {
  it('keeps its size and its keys when names never end', () => {
    const { log, names, keys } = written(10);
    const wanted = Array.from({ length: 1000 }, (_, at) => `token${at}-1`);
    for (const key of wanted) {
      const [group, rest] = [key.slice(0, -2), '-1'];
      log.node({ group, rest, functionName: group, span: DEFAULT_SPAN }, 0);
    }
    log.seal();
    expect(keys).toEqual(wanted);
    expect(names.length).toBeLessThanOrEqual(13);
    expect(names).toContain('(others)');
  });

  it('knows the groups that it has when there is room for no more', () => {
    const { emit, tables } = logRows();
    const log = new LocalLog(0, emit, 3);
    for (const group of ['known', 'other', 'new', 'newer', 'known']) {
      log.node(
        { group, rest: '-1', functionName: group, span: DEFAULT_SPAN },
        0
      );
    }
    log.seal();
    const nodes = tables.nodes!.map(row => [row.group, row.suffix]);
    expect(nodes.at(-1)).toEqual(['known', '-1']);
    expect(nodes.at(-2)).toEqual(['', 'newer-1']);
    expect(tables.nodes!.at(-1)!.function).toBe('known');
    expect(tables.nodes!.at(-2)!.function).toBe('(others)');
  });

  it('gives each span an id of its own, however many there are', () => {
    const { log, tags, spanRows } = written();
    const COUNT = 70_000;
    let first = -1;
    for (let at = 1; at <= COUNT; at++) {
      const id = log.span(DEFAULT_SPAN, `span ${at % 7}`, at);
      log.spanClosed(id, DEFAULT_SPAN, `span ${at % 7}`, at, at + 1);
      if (id !== at && first < 0) {
        first = at;
      }
    }
    expect(first).toBe(-1);
    log.seal();
    // The default one, and each as it opened and closed.
    expect(spanRows()).toBe(1 + 2 * COUNT);
    expect([1, COUNT].map(id => tags.get(id))).toEqual(['span 1', 'span 0']);
  });

  it('has every fact in its own column, by its own clock', () => {
    const { log, tables } = tablesOf(100);
    log.header({ kind: 'local' });
    const span = log.span(DEFAULT_SPAN, 'outer', 101);
    const inner = log.span(span, 'inner', 102);
    log.spanClosed(inner, span, 'inner', 102, 107);
    const worker = { worker: 3, pid: 40, threads: 5, joined: 101.5 };
    log.worker({ ...worker, name: 'n', host: 'h' });
    log.worker({ ...worker, name: 'n', host: 'h' }, 109, 'ended');
    log.capacity(3, 4, 103);
    expect([log.lane(3, 0), log.lane(3, 6)]).toEqual([0, 1]);
    const inc = log.nameId('inc');
    log.node({ group: 'a', rest: '-1', functionName: 'inc', span }, 104);
    log.edge(8);
    log.edge(9);
    const node = log.node(
      { group: '', rest: 'x', functionName: 'add', span: DEFAULT_SPAN },
      105
    );
    expect(node).toBe(1);
    log.running(1 as LaneId, node, inc, inner, 106);
    log.runningNothing(1 as LaneId);
    log.failed(17, inner, 108, 'a trace');
    expect(log.seal()).toBeGreaterThan(0);
    expect(tables.header).toEqual([{ t: 0, json: '{"kind":"local"}' }]);
    const spanRow = {
      client: 0,
      closed: NaN,
      origin: SpanOrigin.User,
      uuid: '',
      reused: 0,
      code: ''
    };
    expect(tables.spans).toEqual([
      {
        ...spanRow,
        id: 0,
        parent: 0,
        tag: 'default',
        opened: 0,
        origin: SpanOrigin.Default
      },
      { ...spanRow, id: 1, parent: 0, tag: 'outer', opened: 1 },
      { ...spanRow, id: 2, parent: 1, tag: 'inner', opened: 2 },
      { ...spanRow, id: 2, parent: 1, tag: 'inner', opened: 2, closed: 7 }
    ]);
    const workerRow = {
      ...worker,
      memoryLimit: 0,
      joined: 1.5,
      left: NaN,
      name: 'n',
      address: '',
      host: 'h',
      why: ''
    };
    expect(tables.workers).toEqual([
      workerRow,
      { ...workerRow, left: 9, why: 'ended' }
    ]);
    expect(tables.capacity).toEqual([
      { t: 3, worker: 3, threads: 4, state: CapacityState.Running }
    ]);
    expect(tables.lanes).toEqual([
      { lane: 0, worker: 3, thread: 0, ident: NaN, since: NaN },
      { lane: 1, worker: 3, thread: 6, ident: NaN, since: NaN }
    ]);
    expect(tables.nodes).toEqual([
      {
        node: 0,
        group: 'a',
        function: 'inc',
        span: 1,
        origin: TaskOrigin.User,
        submitted: 4,
        firstEdge: 0,
        suffix: '-1'
      },
      {
        node: 1,
        group: '',
        function: 'add',
        span: 0,
        origin: TaskOrigin.Default,
        submitted: 5,
        firstEdge: 2,
        suffix: 'x'
      }
    ]);
    expect(tables.edges).toEqual([{ node: 8 }, { node: 9 }]);
    expect(tables.running).toEqual([
      { lane: 1, node: 1, function: 'inc', span: 2, started: 6 },
      { lane: 1, node: NONE_U32, function: 'default', span: 0, started: 0 }
    ]);
    expect(tables.events).toEqual([
      {
        t: 8,
        kind: 'task-failed',
        worker: NONE_U16,
        span: 2,
        run: 17,
        text: 'a trace'
      }
    ]);
  });

  it('splits the time from submission to start where the last input was there', () => {
    // In 1/8 s, which f32 columns hold exactly.
    const time = fc.nat(80).map(eighths => 100 + eighths / 8);
    const anyRun: fc.Arbitrary<LocalRun> = fc.record({
      node: fc.nat(9),
      functionId: fc.constant(0),
      span: fc.nat(3).map(id => id as SpanId),
      lane: fc.nat(3).map(id => id as LaneId),
      status: fc.constantFrom(RunStatus.Ok, RunStatus.Failed),
      start: time,
      stop: time,
      submitted: time,
      ready: time,
      cpu: fc.constantFrom(NaN, 0.25),
      nbytes: fc.constantFrom(NaN, 28)
    });
    fc.assert(
      fc.property(fc.array(anyRun, { minLength: 1 }), drawn => {
        const runs = drawn.map(run => ({
          ...run,
          submitted: Math.min(run.submitted, run.start)
        }));
        const { log, tables } = tablesOf(100);
        expect(runs.map(run => log.run(run))).toEqual(runs.map((_, i) => i));
        log.seal();
        expect(tables.runs).toEqual(
          runs.map(({ functionId: _, stop, submitted, ready, ...run }, i) => {
            const last = Math.max(Math.min(ready, run.start), submitted);
            return {
              ...run,
              run: i,
              function: 'default',
              attempt: 1,
              start: run.start - 100,
              duration: stop < run.start ? 0 : stop - run.start,
              waitReady: last - submitted,
              waitInputs: 0,
              waitThread: run.start - last
            };
          })
        );
      })
    );
  });

  it('has stacks of the first errors, and a line of the later ones', () => {
    const { log, tables } = tablesOf(0);
    const text = `${'x'.repeat(5000)}\n  at here\n${'y'.repeat(300)}\n`;
    for (let i = 0; i < 2001; i++) {
      log.failed(i, DEFAULT_SPAN, i, text);
    }
    log.seal();
    const texts = tables.events!.map(row => row.text);
    const half = 1500;
    const cut = `${text.slice(0, half)} … ${text.slice(-half)}`;
    expect(new Set(texts.slice(0, 2000))).toEqual(new Set([cut]));
    expect(texts[2000]).toBe(`${'y'.repeat(100)} … ${'y'.repeat(100)}`);
  });

  it('is due 50 ms after its first row', () => {
    const { log, tables } = tablesOf(0);
    expect(log.commit(3)).toBe(3.05);
    expect(log.commit(3.05)).toBeNull();
    expect(tables.spans).toHaveLength(1);
  });
});
