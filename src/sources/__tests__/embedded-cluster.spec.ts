import { decodeBlock, type Block } from '../../records/block';
import type { TableName } from '../../records/tables';
import { CapacityState, EmbeddedClusterLog, StoredKind } from '..';
import type { FinishedTables } from '../embedded-cluster';

const START = 100;

/** A log, and the blocks that it has sealed. */
function newLog(): {
  log: EmbeddedClusterLog;
  block<T extends TableName>(table: T): Block<T>;
} {
  const blocks: Block[] = [];
  const log = new EmbeddedClusterLog(START, ({ bytes }) =>
    blocks.push(decodeBlock(bytes))
  );
  return {
    log,
    block: <T extends TableName>(table: T) => {
      const found = blocks.find(
        (each): each is Block<T> => each.table === table
      );
      if (found === undefined) {
        throw new Error(`No block of ${table}.`);
      }
      return found;
    }
  };
}

function join(log: EmbeddedClusterLog, worker: number, threads: number): void {
  log.workerJoined(101, {
    worker,
    pid: 1,
    threads,
    memoryLimit: 0,
    name: `worker-${worker}`,
    address: 'unix:/w',
    host: 'h'
  });
}

describe('the log of an embedded cluster', () => {
  it('counts time from the start, threads as lanes, tasks as nodes', () => {
    const { log, block } = newLog();
    join(log, 0, 2);
    join(log, 5, 2);
    const inc = log.names.id('inc');
    log.node(102, inc, inc, 3, 1, Buffer.from('-1'));
    const node = log.node(102, inc, inc, 3, 1, Buffer.from('-2'));
    log.edge(0);
    const one = Float64Array.of(1, 1);
    const tables: FinishedTables = {
      runs: {
        rows: 2,
        runId: Uint32Array.of(8, 9),
        status: Uint8Array.of(0, 1),
        thread: Uint16Array.of(1, 0),
        start: Float64Array.of(104, 105),
        duration: one,
        cpu: one,
        waitInputs: Float32Array.of(0.25, 0),
        waitThread: Float32Array.of(0.5, 0),
        outBytes: one,
        firstPart: Uint32Array.of(0, 1)
      },
      parts: {
        rows: 1,
        kind: Uint8Array.of(1),
        function: Uint32Array.of(0x80000001),
        span: Uint16Array.of(3),
        offset: one,
        duration: one,
        cpu: one,
        coreWait: Float32Array.of(0),
        bytes: one,
        from: Uint16Array.of(0),
        held: Uint8Array.of(1)
      }
    };
    log.workerNames(5, 0x80000000, ['a', 'fetched']);
    const facts = {
      node: Uint32Array.of(7, node),
      functionId: Uint32Array.of(0, inc),
      span: Uint16Array.of(0, 3),
      submitted: Float64Array.of(0, 2),
      attempts: new Uint8Array(2)
    };
    // The second run's task is not known any more.
    log.finished(5, tables, Int32Array.of(1, -1), facts);
    log.seal(106);
    const runs = block('runs');
    expect(runs.rows).toBe(1);
    expect(runs.columns.lane[0]).toBe(3);
    expect(runs.columns.node[0]).toBe(1);
    expect(runs.columns.start[0]).toBe(4);
    // 4 s start − 0.75 s waits − submitted at 2 s
    expect(runs.columns.waitReady[0]).toBe(1.25);
    expect(facts.attempts[1]).toBe(1);
    expect(block('parts').columns.run[0]).toBe(8);
    expect(block('parts').columns.function[0]).toBe(log.names.id('fetched'));
    expect([...block('lanes').columns.worker]).toEqual([0, 0, 5, 5]);
    expect([...block('nodes').columns.firstEdge]).toEqual([0, 0]);
    expect([...block('edges').columns.node]).toEqual([0]);
  });

  it('gives the stacks and frames of different workers different ids', () => {
    const { log, block } = newLog();
    join(log, 0, 1);
    join(log, 1, 1);
    for (const worker of [0, 1]) {
      log.workerNames(worker, 0x80000000, ['f', 'file.py']);
      log.measured.profile(
        worker,
        {
          rows: 1,
          frame: [0],
          function: [0x80000000],
          file: [0x80000001],
          line: [3]
        },
        { rows: 1, stack: [0], parent: [0xffffffff], frame: [0] },
        {
          rows: 1,
          t: [103.7],
          thread: [0],
          span: [2],
          function: [0x80000000],
          stack: [0],
          state: [0],
          n: [4]
        }
      );
    }
    log.seal(104);
    expect([...block('frames').columns.frame]).toEqual([0, 1]);
    expect([...block('stacks').columns.stack]).toEqual([0, 1]);
    expect([...block('stacks').columns.parent]).toEqual([
      0xffffffff, 0xffffffff
    ]);
    expect([...block('samples').columns.stack]).toEqual([0, 1]);
    expect([...block('samples').columns.lane]).toEqual([0, 1]);
    expect([...block('samples').columns.second]).toEqual([3, 3]);
  });

  it('adds up what is stored and released until it writes', () => {
    const { log, block } = newLog();
    const facts = {
      node: new Uint32Array(2),
      functionId: Uint32Array.of(1, 2),
      span: Uint16Array.of(4, 4),
      submitted: new Float64Array(2),
      attempts: new Uint8Array(2)
    };
    log.stored(0, 0, facts, StoredKind.Stored, 100);
    log.stored(0, 0, facts, StoredKind.Stored, 50);
    log.stored(0, 1, facts, StoredKind.Stored, 7);
    log.stored(0, 0, facts, StoredKind.Released, -150);
    log.seal(101);
    const { columns, rows } = block('stored');
    expect(rows).toBe(3);
    expect([...columns.change]).toEqual([150, 7, -150]);
    expect([...columns.kind]).toEqual([0, 0, 1]);
  });

  it('says when workers came, paused and went', () => {
    const { log, block } = newLog();
    join(log, 0, 2);
    log.capacity(102, 0, CapacityState.Paused);
    log.workerLeft(103, 0, 'was ended by SIGKILL');
    log.workerLeft(104, 0, 'twice');
    log.seal(105);
    expect([...block('capacity').columns.state]).toEqual([0, 1, 3]);
    expect([...block('capacity').columns.threads]).toEqual([2, 2, 0]);
    expect([...block('workers').columns.left]).toEqual([NaN, 3]);
  });

  it('begins with the default span, and writes names before they are used', () => {
    const { log, block } = newLog();
    log.spans(0, [
      { id: 1, parent: 0, tag: 'load', opened: 101, closed: null, origin: 0 }
    ]);
    log.seal(102);
    expect([...block('spans').columns.id]).toEqual([0, 1]);
    expect(block('names').seq).toBeLessThan(block('spans').seq);
    expect(log.commit(103)).toBeNull();
  });
});
