import { PartKind, RunStatus } from '../../records/enumerations';
import type { LaneIndex } from '../../records/ids';
import { TABLES } from '../../records/tables';
import {
  blockOfZeros,
  rowsToBlock,
  type Row
} from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { makeRoomForName } from '../store/name-bound';

const CHUNK = 65_536;

describe('runs beyond the bound', () => {
  it('leave their cells, how many they were and until when, and nothing else', () => {
    const log = new LogStore('log', { runs: CHUNK });
    const block = blockOfZeros(1, 'runs', CHUNK);
    const c = block.columns;
    for (let i = 0; i < CHUNK; i++) {
      c['run']![i] = i;
      c['function']![i] = 3;
      c['lane']![i] = 7;
      c['start']![i] = i / 1000;
    }
    // One of some length, one of unknown length, one that never began, one that is said again at once.
    c['duration']![10] = 400;
    c['duration']![11] = NaN;
    c['status']![12] = RunStatus.Missing;
    c['waitThread']![12] = NaN;
    // One that was given back after it began.
    c['status']![13] = RunStatus.Missing;
    c['duration']![13] = 2;
    c['run']![21] = 20;
    c['status']![30] = RunStatus.Failed;
    c['status']![31] = RunStatus.Lost;
    c['status']![32] = RunStatus.Cancelled;
    ingestBlock(log, block);
    expect([log.droppedRuns, log.retired.isEmpty]).toEqual([0, true]);
    const next = blockOfZeros(2, 'runs', 1);
    next.columns['run']![0] = 100_000;
    next.columns['start']![0] = 1000;
    ingestBlock(log, next);
    expect(log.runs.firstRow).toBe(CHUNK);
    expect(log.droppedRuns).toBe(CHUNK - 1);
    expect(log.droppedBefore).toBeCloseTo(400.01, 9);
    let runs = 0;
    let busy = 0;
    let failed = 0;
    for (let number = 0; number < 300; number++) {
      const page = log.retired.page(0 as LaneIndex, number);
      runs += page?.runs.reduce((sum, each) => sum + each) ?? 0;
      busy += page?.busy.reduce((sum, each) => sum + each) ?? 0;
      failed += page?.failed?.reduce((sum, each) => sum + each) ?? 0;
    }
    expect(runs).toBe(CHUNK - 2);
    expect(failed).toBe(2);
    expect(busy / 1e6).toBeCloseTo(402, 3);
    expect(new Set(log.retired.functions())).toEqual(new Set([3]));
    expect(log.gaps).toEqual([
      {
        table: TABLES.runs.number,
        from: 0,
        to: log.droppedBefore,
        rows: CHUNK - 1,
        why: 'oldest runs are kept only as totals'
      }
    ]);
    // The indices of rows that are gone are gone too, as far as their pages hold no others.
    expect([log.runRows.get(5), log.runRows.get(100_000)]).toEqual([-1, CHUNK]);
    expect([...log.runZones.zones(-1, 999)]).toHaveLength(0);
    expect([...log.runZones.zones(999, 2000)]).toHaveLength(1);
    // A zone that holds a row which is kept stays whole.
    expect(log.runClasses.of(0).count(-1, 999)).toBeLessThanOrEqual(256);
  });
});

describe('a run whose row was dropped', () => {
  it('counts again if it is said again, and takes no part', () => {
    const log = new LogStore('log', { runs: CHUNK });
    const block = blockOfZeros(1, 'runs', CHUNK);
    block.columns['run']!.forEach((_, i, runs) => (runs[i] = i));
    ingestBlock(log, block);
    // It keeps the numbers beside it, though their rows go.
    ingestBlock(log, rowsToBlock(2, 'runs', [{ run: 4 }]));
    expect([log.runs.firstRow, log.runCount]).toEqual([CHUNK, CHUNK]);
    ingestBlock(log, rowsToBlock(3, 'runs', [{ run: 3 }]));
    expect(log.runCount).toBe(CHUNK + 1);
    const part = { kind: PartKind.Transfer, duration: 1 };
    ingestBlock(log, rowsToBlock(4, 'parts', [{ ...part, run: 6 }]));
    expect(log.parts.chunkOf(0)!.columns.runRow[0]).toBe(0);
  });
});

describe('parts beyond the bound', () => {
  it('are told, and found no more', () => {
    const log = new LogStore('log', { parts: CHUNK });
    ingestBlock(log, rowsToBlock(1, 'memory', [{ t: 9 }]));
    const runs = [0, 1].map(run => ({ run: 70_000 * run, duration: 1 }));
    ingestBlock(log, rowsToBlock(2, 'runs', runs));
    const block = blockOfZeros(3, 'parts', CHUNK);
    block.columns['kind']!.fill(PartKind.Compute);
    block.columns['held']!.fill(1);
    block.columns['function']!.fill(8);
    block.columns['run']![5] = 70_000;
    ingestBlock(log, block);
    expect(log.fusedRuns.get(0)).toBe(CHUNK - 1);
    expect(log.partRows(70_000)).toEqual([5]);
    expect(log.partClasses.of(0).isEmpty).toBe(false);
    const last = blockOfZeros(4, 'parts', 1);
    last.columns['run']![0] = 70_000;
    ingestBlock(log, last);
    expect(log.parts.firstRow).toBe(CHUNK);
    expect([log.lastParts.get(0), log.lastParts.get(70_000)]).toEqual([
      -1,
      CHUNK
    ]);
    expect(log.fusedRuns.get(0)).toBe(-1);
    expect(log.partClasses.of(0).count(-1, 9)).toBe(1);
    // A run of which some parts are left has those.
    expect(log.partRows(70_000)).toEqual([CHUNK]);
    expect(log.gaps).toEqual([
      {
        table: TABLES.parts.number,
        from: 0,
        to: 9,
        rows: CHUNK,
        why: 'oldest parts are kept only as totals'
      }
    ]);
  });
});

describe('rows without a time beyond the bound', () => {
  it('are told as gone until now', () => {
    const log = new LogStore('log');
    ingestBlock(log, rowsToBlock(1, 'memory', [{ t: 9 }]));
    for (let seq = 2; seq <= 5; seq++) {
      ingestBlock(log, blockOfZeros(seq, 'totals', CHUNK));
    }
    expect(log.totals.firstRow).toBe(CHUNK);
    expect(log.gaps).toMatchObject([
      { table: TABLES.totals.number, to: 9, rows: CHUNK }
    ]);
  });
});

describe('a name of a group', () => {
  const USED = 500;
  const UNUSED = 600;

  /** Logs in which one row of one table uses the name. */
  const users: readonly (readonly [string, LogStore])[] = (
    [
      ['nodes', 'group'],
      ['nodes', 'function'],
      ['runs', 'function'],
      ['parts', 'function'],
      ['samples', 'function'],
      ['stored', 'function'],
      ['fine', 'context'],
      ['fine', 'function'],
      ['fine', 'activity'],
      ['fine', 'unit'],
      ['totals', 'context'],
      ['totals', 'function'],
      ['totals', 'activity'],
      ['totals', 'unit'],
      ['frames', 'function'],
      ['frames', 'file'],
      ['events', 'kind'],
      ['running', 'function']
    ] as const
  ).map(([table, column]) => {
    const log = new LogStore('log');
    const row: Row = { [column]: USED };
    ingestBlock(log, rowsToBlock(1, table, [row]));
    return [`${table}.${column}`, log];
  });

  it.each([
    ...users,
    [
      'totals that forget nothing',
      (() => {
        const log = new LogStore('log');
        log.held.cell(0 as never, USED);
        return log;
      })()
    ],
    [
      'background work',
      (() => {
        const log = new LogStore('log');
        log.background.cell(0 as never, USED);
        return log;
      })()
    ],
    [
      'cells of runs that were dropped',
      (() => {
        const log = new LogStore('log');
        log.retired.add(0 as LaneIndex, USED, 1, 1);
        return log;
      })()
    ],
    ...[0, 1, 2, 3].map(place => {
      const log = new LogStore('log');
      const [context, activity, unit, fn] = [1, 2, 3, 4].map((id, i) =>
        i === place ? USED : id
      ) as [number, number, number, number];
      log.fineSums.add(context, activity, unit, 0 as never, fn, 1);
      return [`sums of rows that were dropped, ${place}`, log] as const;
    })
  ] as const)('stays while it is used: %s', (_, log) => {
    for (const name of [UNUSED, USED, UNUSED + 1]) {
      log.names.set(name, 'name');
      log.groupNames.add(name);
    }
    log.groupNames.add(UNUSED);
    const version = log.namesVersion;
    expect(makeRoomForName(log, 4)).toBe(true);
    expect([log.names.size, log.namesVersion]).toEqual([3, version]);
    expect(makeRoomForName(log, 3)).toBe(true);
    expect([...log.names.keys()]).toEqual([USED]);
    expect([...log.groupNames].filter(name => name >= UNUSED)).toEqual([]);
    expect(log.namesVersion).toBe(version + 1);
    expect(log.gaps).toMatchObject([
      { table: TABLES.names.number, rows: 2, why: 'no row uses them any more' }
    ]);
  });

  it('goes as the oldest first, until half of the room is free', () => {
    const log = new LogStore('log');
    for (let id = 1; id <= 10; id++) {
      log.names.set(id, `name ${id}`);
      log.groupNames.add(id);
    }
    expect(makeRoomForName(log, 10)).toBe(true);
    expect([...log.names.keys()]).toEqual([6, 7, 8, 9, 10]);
  });

  it('is looked for in a log of a single run', () => {
    const log = new LogStore('log');
    ingestBlock(log, rowsToBlock(1, 'runs', [{ function: 1 }]));
    log.names.set(2, 'unused');
    log.groupNames.add(2);
    expect(makeRoomForName(log, 1)).toBe(true);
    log.names.set(3, 'unused');
    log.groupNames.add(3);
    expect(makeRoomForName(log, 1)).toBe(true);
    expect(log.names.size).toBe(0);
  });

  it('is not looked for again until something has run', () => {
    const log = new LogStore('log');
    ingestBlock(log, rowsToBlock(1, 'nodes', [{ group: 1 }]));
    log.names.set(1, 'used');
    expect(makeRoomForName(log, 1)).toBe(false);
    expect([log.namesVersion, log.gaps]).toEqual([0, []]);
    // It would find this one.
    log.names.set(2, 'unused');
    log.groupNames.add(2);
    expect(makeRoomForName(log, 2)).toBe(false);
    ingestBlock(log, rowsToBlock(2, 'runs', [{ function: 1 }]));
    expect(makeRoomForName(log, 2)).toBe(true);
    expect([...log.names.keys()]).toEqual([1]);
    expect(makeRoomForName(log, 1)).toBe(false);
    // There is room, and none is needed.
    expect(makeRoomForName(log, 2)).toBe(true);
  });
});
