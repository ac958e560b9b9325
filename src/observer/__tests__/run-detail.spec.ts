import { NONE_U32, PartKind, RunStatus } from '../../records/enumerations';
import { rowsToBlock, type Row } from '../../testing/rows-to-block';
import { errorOf, runDetail } from '../folds/run-detail';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';

const RUN = { run: 3, lane: 9, start: 1, duration: 8, waitReady: NaN };

function logWith(run: Row, parts: readonly Row[] = []): LogStore {
  const log = new LogStore('log');
  [rowsToBlock(1, 'parts', parts), rowsToBlock(2, 'runs', [run])].forEach(
    block => ingestBlock(log, block)
  );
  return log;
}

describe('the detail of a run', () => {
  it('names by numbers what the log does not describe, and says what is not known', () => {
    const log = logWith(
      { ...RUN, node: 5, function: 6, status: 99, cpu: NaN, nbytes: NaN },
      [{ run: 3, kind: 77, function: 8, cpu: NaN, bytes: NaN }]
    );
    expect(runDetail(log, 0)).toEqual({
      run: 3,
      key: '#5',
      function: '#6',
      span: ['default'],
      origin: 'default',
      worker: '65535',
      thread: 9,
      laneIndex: 0,
      status: 'ok',
      attempt: 0,
      start: 1,
      duration: 8,
      cpu: null,
      waitReady: null,
      waitInputs: 0,
      waitThread: 0,
      nbytes: null,
      parts: [
        {
          kind: '',
          held: false,
          function: '#8',
          span: ['default'],
          offset: 0,
          duration: 0,
          cpu: null,
          bytes: null
        }
      ]
    });
    expect(runDetail(log, 1 << 20)).toBeNull();
  });

  it('says of a lost run how its worker ended, and what its process had last', () => {
    const log = new LogStore('log');
    const memory = { t: 1, worker: 2, process: 600 };
    [
      rowsToBlock(1, 'names', [{ id: 1, text: 'worker-lost' }]),
      rowsToBlock(2, 'workers', [
        { worker: 2, name: 'w', left: 9, why: 'was ended', memoryLimit: 700 },
        { worker: 3, name: 'v', left: 8, why: 'closed', memoryLimit: 0 },
        { worker: 4, name: 'u', left: NaN }
      ]),
      rowsToBlock(
        3,
        'lanes',
        [2, 3, 4].map(worker => ({ lane: worker, worker, thread: 0 }))
      ),
      rowsToBlock(4, 'memory', [
        memory,
        { ...memory, t: 2, process: 650 },
        { ...memory, t: 3, worker: 4 }
      ]),
      rowsToBlock(5, 'events', [{ kind: 1, worker: 2, run: NONE_U32 }]),
      rowsToBlock(
        6,
        'runs',
        [2, 3, 4].map(lane => ({
          ...RUN,
          run: lane,
          lane,
          status: RunStatus.Lost
        }))
      )
    ].forEach(block => ingestBlock(log, block));
    const ends = [0, 1, 2].map(row => runDetail(log, row)!.lost);
    expect(ends).toEqual([
      {
        worker: 2,
        name: 'w',
        t: 9,
        why: 'was ended',
        process: 650,
        memoryLimit: 700
      },
      {
        worker: 3,
        name: 'v',
        t: 8,
        why: 'closed',
        process: null,
        memoryLimit: 0,
        inOrder: true
      },
      // The worker is there as far as is known.
      undefined
    ]);
    expect(runDetail(log, 0, true)).not.toHaveProperty('lost');
  });

  it.each([
    ['before', 1],
    ['after', 4]
  ])('says since when nobody wanted it, told %s its end', (_, seq) => {
    const log = new LogStore('log');
    const run = { ...RUN, status: RunStatus.Cancelled };
    const blocks = [
      rowsToBlock(2, 'runs', [
        run,
        { ...run, run: 4, start: 20 },
        // It was done before anybody was told that nobody wants it.
        { ...run, run: 5, lane: 8, status: RunStatus.Ok }
      ]),
      rowsToBlock(seq, 'givenUp', [
        { lane: 9, started: 1, t: 3.5 },
        { lane: 8, started: 1, t: 3.5 }
      ])
    ].sort((a, b) => a.seq - b.seq);
    blocks.forEach(block => ingestBlock(log, block));
    const told = [0, 1, 2].map(row => runDetail(log, row)!.cancelled);
    expect(told).toEqual([3.5, undefined, undefined]);
    expect(runDetail(log, 0, true)!.cancelled).toBe(3.5);
  });

  it('has what it measured itself, added up, in the order of the first of each', () => {
    const log = logWith(RUN);
    const meter = (label: number, unit: number, value: number, run = 3) => ({
      run,
      label,
      unit,
      value,
      cpu: NaN
    });
    [
      rowsToBlock(
        3,
        'names',
        ['download', 'decode', 'seconds', 'rows'].map((text, id) => ({
          id,
          text
        }))
      ),
      rowsToBlock(4, 'meters', [
        meter(0, 2, 1.5),
        meter(3, 3, 7),
        meter(1, 2, 9, 4),
        meter(1, 2, 2),
        meter(0, 2, 0.25)
      ])
    ].forEach(block => ingestBlock(log, block));
    expect(runDetail(log, 0)!.measured).toEqual([
      { label: 'download', unit: 'seconds', value: 1.75 },
      { label: 'rows', unit: 'rows', value: 7 },
      { label: 'decode', unit: 'seconds', value: 2 }
    ]);
    // Rows of the table twin are short.
    expect(runDetail(log, 0, true)).not.toHaveProperty('measured');
  });

  it('has its longest parts, in the order in which they ran', () => {
    // 1, 8, 15, … of 2,101 unlike durations.
    const parts = Array.from({ length: 2101 }, (_, i) => ({
      run: 3,
      kind: PartKind.Transfer,
      offset: i,
      duration: 1 + ((i * 7) % 2101)
    }));
    const log = logWith(RUN, parts);
    const longest = (count: number): number[] =>
      parts
        .filter(({ duration }) => duration > 2101 - count)
        .map(({ offset }) => offset);
    const shown = (inShort: boolean): number[] =>
      runDetail(log, 0, inShort)!.parts.map(({ offset }) => offset);
    expect(shown(false)).toEqual(longest(2000));
    expect(shown(true)).toEqual(longest(4));
    expect(runDetail(log, 0)!.partsLeftOut).toBe(101);
    expect(runDetail(log, 0, true)!.partsLeftOut).toBe(2097);
    const four = logWith(RUN, parts.slice(0, 4).reverse());
    expect(runDetail(four, 0, true)!.parts.map(part => part.offset)).toEqual([
      3, 2, 1, 0
    ]);
    expect(runDetail(four, 0, true)).not.toHaveProperty('partsLeftOut');
  });

  it('has the error of a run that failed, the last line of it in short', () => {
    const log = logWith({ ...RUN, status: RunStatus.Failed });
    expect(errorOf(log, 3, false)).toBeUndefined();
    const line = `ValueError: ${'x'.repeat(300)}`;
    const text = `Traceback\n  in f\n${line}\n\n`;
    [
      rowsToBlock(3, 'names', [{ id: 0, text: 'task-failed' }]),
      rowsToBlock(4, 'events', [
        { kind: 0, run: NONE_U32, text: 'another' },
        { kind: 0, run: 3, text }
      ])
    ].forEach(block => ingestBlock(log, block));
    expect(runDetail(log, 0)!.error).toBe(text);
    expect(runDetail(log, 0, true)!.error).toBe(line.slice(0, 200));
    // One that did well later has none; one that raised when nobody waited for it any more has it.
    const cancelled = { ...RUN, status: RunStatus.Cancelled };
    ingestBlock(log, rowsToBlock(5, 'runs', [RUN, cancelled]));
    expect(runDetail(log, 1)).not.toHaveProperty('error');
    expect(runDetail(log, 2)!.error).toBe(text);
    // As if the log's bound had been met.
    Object.defineProperty(log.events, 'firstRow', { value: 2 });
    expect(errorOf(log, 3, false)).toBeUndefined();
  });
});
