import { rowsToBlock } from '../../testing/rows-to-block';
import { drawRuns } from '../../testing/run-from-text';
import { runDetail } from '../folds/run-detail';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { makeRoomForName } from '../store/name-bound';
import { ask } from './ask';

const CHUNK = 65_536;

describe('what a log costs at most', () => {
  it('leaves no trace in the task stream of what never began', () => {
    const log = new LogStore('log', { runs: CHUNK });
    const rows = Array.from({ length: CHUNK }, () => ({
      status: 3,
      waitThread: NaN
    }));
    ingestBlock(log, rowsToBlock(1, 'runs', rows));
    ingestBlock(log, rowsToBlock(2, 'runs', rows));
    expect(log.runs.firstRow).toBe(CHUNK);
    expect(log.retired.isEmpty).toBe(true);
  });

  it('is said in gaps, one per table', () => {
    const log = new LogStore('log');
    const block = rowsToBlock(
      0,
      'nodes',
      Array.from({ length: CHUNK }, () => ({ suffix: '' }))
    );
    for (let seq = 1; seq <= 40; seq++) {
      for (let i = 0; i < CHUNK; i++) {
        const node = (seq - 1) * CHUNK + i;
        block.columns['node']![i] = node;
        block.columns['submitted']![i] = node;
      }
      ingestBlock(log, { ...block, seq });
    }
    const dropped = log.nodes.firstRow;
    expect(dropped).toBeGreaterThan(0);
    expect(log.gaps).toEqual([
      {
        table: 7,
        from: 0,
        to: dropped - 1,
        rows: dropped,
        why: 'oldest rows are dropped'
      }
    ]);
    expect(log.nodeRows.get(0)).toBe(-1);
    expect(log.nodeRows.get(dropped)).toBe(dropped);
  });

  it('forgets names that no row uses when there is no room, and says so', () => {
    const log = drawRuns('0/0  aabb', { tasks: { a: { function: 'load' } } });
    const before = [...log.names];
    const version = log.namesVersion;
    log.names.set(900, 'paused');
    for (let id = 1000; log.names.size < 200_000; id++) {
      log.names.set(id, 'f');
      log.groupNames.add(id);
    }
    const newest = { id: 900_000, text: 'newest' };
    ingestBlock(log, rowsToBlock(50, 'names', [newest]));
    expect(log.name(newest.id)).toBe('newest');
    // No row uses it now, but an event may again.
    expect(log.name(900)).toBe('paused');
    expect(log.names.size).toBe(100_001);
    expect(log.namesVersion).toBeGreaterThan(version);
    expect(log.gaps.filter(({ table }) => table === 2)).toMatchObject([
      { rows: 100_000, why: 'no row uses them any more' }
    ]);
    // All that is shown is named as before.
    expect([...log.names].slice(0, before.length)).toEqual(before);
    expect(ask(log, 'tasks').rows[0]).toMatchObject({ function: 'load' });
  });

  it('names what has no room any more "other"', () => {
    const log = new LogStore('log');
    const rows = Array.from({ length: 30 }, (_, i) => ({ node: i, group: i }));
    ingestBlock(log, rowsToBlock(1, 'nodes', rows));
    for (let id = 0; id < 20; id++) {
      log.names.set(id, 'f');
    }
    expect(makeRoomForName(log, 20)).toBe(false);
    expect(makeRoomForName(log, 20)).toBe(false);
    for (let id = 20; id < 200_000; id++) {
      log.names.set(id, 'f');
    }
    expect(log.name(200_001)).toBe('other');
    expect(new LogStore('log').name(5)).toBe('#5');
  });
});

describe('parts that come after their runs', () => {
  it('cost no more for lying among those of other runs', () => {
    const rows = Array.from({ length: 3000 }, (_, i) => ({
      run: i % 3,
      kind: 4,
      held: 1,
      function: i % 2,
      offset: i / 3000,
      duration: 1 / 3000,
      cpu: 0
    }));
    const byRun = rows.toSorted((one, other) => one.run - other.run);
    const looksAt = (parts: typeof rows): [number, ...unknown[]] => {
      const log = new LogStore('log');
      const runs = [0, 1, 2].map(run => ({ run, lane: run, duration: 1 }));
      ingestBlock(log, rowsToBlock(1, 'runs', runs));
      const part = jest.spyOn(log, 'part');
      ingestBlock(log, rowsToBlock(2, 'parts', parts));
      const looks = part.mock.calls.length;
      const result = ask(log, 'fine-metrics', { params: { entries: true } });
      return [looks, result.byFunction, result.entries];
    };
    const [looks, ...figures] = looksAt(rows);
    const [, ...same] = looksAt(byRun);
    expect(figures).toEqual(same);
    expect(looks).toBeLessThan(4 * rows.length);
  });
});

describe('the error of a run', () => {
  it('is what the event of its failure says, in short its last line', () => {
    const log = new LogStore('log');
    const text = 'Traceback …\n  in f\nValueError: boom\n';
    [
      rowsToBlock(1, 'names', [{ id: 0, text: 'task-failed' }]),
      rowsToBlock(2, 'runs', [
        { run: 7, status: 1, start: 1, duration: 1 },
        { run: 8, status: 1, start: 2, duration: 1 }
      ]),
      rowsToBlock(3, 'events', [
        { t: 2, kind: 0, run: 7, text },
        { t: 2, kind: 0, run: 0xffffffff, text: 'no run' }
      ])
    ].forEach(block => ingestBlock(log, block));
    expect(runDetail(log, 0)!.error).toBe(text);
    expect(runDetail(log, 0, true)!.error).toBe('ValueError: boom');
    expect(runDetail(log, 1)).not.toHaveProperty('error');
  });
});
