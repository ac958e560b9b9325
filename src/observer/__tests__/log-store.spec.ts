import fc from 'fast-check';
import { LogStore } from '../store/log-store';
import { ingestBlock } from '../store/ingest';
import { idOf } from '../../testing/ids';
import { rowsToBlock } from '../../testing/rows-to-block';
import type { SpanId } from '../../records/ids';
import { TABLES, type TableName } from '../../records/tables';

describe('the gaps of a log', () => {
  it('are joined with the one before, if that is of the same table and reason', () => {
    const anyGap = fc
      .record({
        table: fc.constantFrom(7, 9),
        from: fc.nat(20),
        length: fc.nat(20),
        rows: fc.nat(9),
        why: fc.constantFrom('lost', 'dropped')
      })
      .map(({ length, ...gap }) => ({ ...gap, to: gap.from + length }));
    fc.assert(
      fc.property(fc.array(anyGap, { maxLength: 12 }), gaps => {
        const log = new LogStore('log');
        const expected: (typeof gaps)[number][] = [];
        for (const gap of gaps) {
          log.addGap({ ...gap });
          const last = expected.at(-1);
          if (last?.table === gap.table && last.why === gap.why) {
            expected[expected.length - 1] = {
              ...last,
              from: Math.min(last.from, gap.from),
              to: Math.max(last.to, gap.to),
              rows: last.rows + gap.rows
            };
          } else {
            expected.push(gap);
          }
        }
        expect(log.gaps).toEqual(expected);
      })
    );
  });

  it('are ten thousand at the most, and rows of later ones count in the last', () => {
    const log = new LogStore('log');
    for (let i = 0; i < 10_003; i++) {
      log.addGap({ table: i % 2, from: i, to: i, rows: 2, why: 'lost' });
    }
    expect(log.gaps).toHaveLength(10_000);
    expect(log.gaps.at(-1)).toEqual({
      table: 1,
      from: 9999,
      to: 10_001,
      rows: 8,
      why: 'lost'
    });
  });

  it('are one for each table whose bound drops rows, and reason', () => {
    const log = new LogStore('log');
    log.noteDropped('runs', 5, 10, 'old');
    log.addGap({ table: 1, from: 2, to: 3, rows: 4, why: 'old' });
    log.noteDropped('runs', 6, 20, 'old');
    log.noteDropped('runs', 7, 30, 'other');
    log.noteDropped('parts', 8, 40, 'old');
    const { number: runs } = TABLES.runs;
    expect(log.gaps).toEqual([
      { table: runs, from: 0, to: 20, rows: 11, why: 'old' },
      { table: 1, from: 2, to: 3, rows: 4, why: 'old' },
      { table: runs, from: 0, to: 30, rows: 7, why: 'other' },
      { table: TABLES.parts.number, from: 0, to: 40, rows: 8, why: 'old' }
    ]);
  });
});

describe('what a log says is settled', () => {
  it('lies two seconds before the newest row, and before what still runs', () => {
    const log = new LogStore('log');
    log.noteTime(90, 100);
    expect(log.settledBefore(false)).toBe(98);
    expect(log.settledBefore(false, 5)).toBe(98);
    ingestBlock(
      log,
      rowsToBlock(1, 'running', [{ lane: 0, node: 3, started: 99 }])
    );
    log.noteTime(99.5, 110);
    expect(log.settledBefore(false)).toBe(99);
    expect(log.settledBefore(false, 20)).toBe(99);
  });

  it('moves back for a row that comes late, which is counted with its block', () => {
    const log = new LogStore('log');
    log.noteTime(90, 100);
    expect([log.lateRows, log.lateSeq]).toEqual([0, 0]);
    log.settledBefore(false);
    log.seq = 7;
    // Where it begins counts, and exactly there nothing was said.
    log.noteTime(98, 99);
    expect([log.lateRows, log.lateSeq]).toEqual([0, 0]);
    log.noteTime(97.5, 99);
    expect([log.lateRows, log.lateSeq]).toEqual([1, 7]);
    log.noteTime(97.75, 99);
    expect(log.lateRows).toBe(1);
    expect(log.settledBefore(false)).toBe(98);
  });

  it('is all of it when it has ended, until it goes on', () => {
    const log = new LogStore('log');
    log.noteTime(90, 100);
    expect(log.settledBefore(true)).toBe(Infinity);
    expect(log.settledBefore(false)).toBe(Infinity);
    log.seq = 4;
    log.reopen();
    expect([log.lateRows, log.lateSeq]).toEqual([1, 5]);
    expect(log.settledBefore(false)).toBe(98);
    log.reopen();
    expect(log.lateRows).toBe(1);
  });

  it('follows the extent of all rows', () => {
    const log = new LogStore('log');
    expect([log.firstStart, log.lastStop, log.now]).toEqual([
      Infinity,
      -Infinity,
      0
    ]);
    for (const [start, stop] of [
      [5, 6],
      [3, 5.5],
      [4, 8],
      [7, 7.5]
    ] as const) {
      log.noteTime(start, stop);
    }
    expect([log.firstStart, log.lastStop, log.now]).toEqual([3, 8, 8]);
  });
});

describe('a log', () => {
  it('takes the bytes of all its tables', () => {
    const log = new LogStore('log');
    expect(log.nbytes).toBe(0);
    const tables = [
      'nodes',
      'edges',
      'runs',
      'parts',
      'fine',
      'totals',
      'stacks',
      'frames',
      'samples',
      'memory',
      'stored',
      'memorySamples',
      'transfers',
      'system',
      'events'
    ] as const satisfies TableName[];
    let sum = 0;
    for (const name of tables) {
      const before = log.nbytes;
      log[name].append(rowsToBlock(1, name, [{}]));
      expect(log[name].nbytes).toBeGreaterThan(0);
      sum += log[name].nbytes;
      expect(log.nbytes - before).toBe(log[name].nbytes);
    }
    expect(log.nbytes).toBe(sum);
  });

  it('names what it knows, and what it does not by number or as other', () => {
    const log = new LogStore('log');
    log.names.set(3, 'inc');
    expect([log.name(3), log.name(4), log.name(0xffffffff)]).toEqual([
      'inc',
      '#4',
      'other'
    ]);
    for (let id = 10; log.names.size < TABLES.names.bound.rows - 1; id++) {
      log.names.set(id, '');
    }
    expect(log.name(4)).toBe('#4');
    log.names.set(5, '');
    expect([log.name(4), log.name(3)]).toEqual(['other', 'inc']);
  });

  it('gives a function its colour when it is met', () => {
    const log = new LogStore('log');
    log.names.set(3, 'inc');
    expect(log.slots.of('inc').slot).toBe(-1);
    log.held.cell(idOf<SpanId>(0), 3);
    expect(log.slots.of('inc').slot).toBeGreaterThanOrEqual(0);
  });

  it('has the key of a node from its group and its own end', () => {
    const log = new LogStore('log');
    expect(log.key(8)).toBe('#8');
    ingestBlock(log, rowsToBlock(1, 'names', [{ id: 2, text: 'load' }]));
    ingestBlock(
      log,
      rowsToBlock(2, 'nodes', [
        { node: 7, group: 2, suffix: '-1' },
        { node: 8, group: 9, suffix: '-2' }
      ])
    );
    expect([log.key(7), log.key(8), log.key(9)]).toEqual([
      'load-1',
      '#9-2',
      '#9'
    ]);
  });

  it('lists the parts of a run as they came, also among those of others', () => {
    const log = new LogStore('log');
    expect(log.partRows(1)).toEqual([]);
    const part = {
      kind: 3,
      held: 1,
      function: 5,
      span: 6,
      offset: 0.25,
      duration: 0.5,
      cpu: 0.125,
      coreWait: 0.0625
    };
    const ids = [1, 2, 1, 1];
    ingestBlock(
      log,
      rowsToBlock(
        1,
        'parts',
        ids.map((run, i) => ({ ...part, run, held: i % 2, span: 6 + i }))
      )
    );
    expect(log.partRows(1)).toEqual([0, 2, 3]);
    expect(log.partRows(2)).toEqual([1]);
    expect(log.part(3)).toEqual({ ...part, held: true, span: 9 });
    expect(log.part(2)).toEqual({ ...part, held: false, span: 8 });
  });
});
