/**
 * Folds are done in slices: between two of them the observer takes in rows, and may drop the oldest. Counted are the breaks; and rows go in one.
 */
import { blockOfZeros, rowsToBlock } from '../../testing/rows-to-block';
import { foldView, type ViewAnswer } from '../folds/fold-view';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import type { TableName } from '../../records/tables';
import type {
  MemoryResult,
  ProfileResult,
  SystemResult,
  TasksResult,
  TransfersResult,
  ViewResult
} from '../../wire/panel-link';
import type { BlockRows } from '../store/column-table';
import { contextOf, type Asked } from './ask';

const CHUNK = 65_536;
const NOBODY = { workers: [5] };

/** Runs of so many seconds each, one after the other. */
function logOf(count: number, seconds = 1): LogStore {
  const log = new LogStore('long', { runs: CHUNK });
  ingestBlock(log, rowsToBlock(1, 'workers', [{ worker: 0, left: NaN }]));
  ingestBlock(log, rowsToBlock(2, 'lanes', [{ lane: 0, worker: 0 }]));
  const block = blockOfZeros(3, 'runs', count);
  for (let i = 0; i < count; i++) {
    block.columns['run']![i] = i;
    block.columns['start']![i] = i * seconds;
    block.columns['duration']![i] = seconds;
  }
  ingestBlock(log, block);
  return log;
}

/** The answer, and how often the fold stopped for others. */
function sliced(
  log: LogStore,
  view: ViewResult['view'],
  asked: Asked,
  meanwhile?: () => void
): { breaks: number; answer: ViewAnswer } {
  const slices = foldView(view, contextOf(log, asked), asked.params ?? {});
  for (let breaks = 0; ; breaks++) {
    const step = slices.next();
    if (step.done === true) {
      return { breaks, answer: step.value };
    }
    meanwhile?.();
  }
}

describe('a fold in slices', () => {
  const log = logOf(20_000);

  it.each<[string, ViewResult['view'], Asked, number]>([
    ['records that nobody wants', 'records', { filter: NOBODY }, 2],
    [
      'the newest records, looked for and told',
      'records',
      { filter: NOBODY, params: { newest: true, limit: 1 } },
      4
    ],
    ['the first records', 'records', { params: { limit: 9 } }, 0],
    ['all tasks', 'tasks', {}, 2],
    ['idle time by span', 'spans', {}, 3],
    ['seconds of a worker', 'fine-metrics', { filter: { workers: [0] } }, 5],
    ['some tasks', 'tasks', { time: { from: 9000, to: 9500 } }, 0],
    ['half of the tasks', 'tasks', { time: { from: 9000, to: 18_000 } }, 1]
  ])('stops so often: %s', (_, view, asked, breaks) => {
    expect(sliced(log, view, asked).breaks).toBe(breaks);
  });

  it.each<[ViewResult['view'], Asked]>([
    ['records', { filter: NOBODY }],
    ['records', { filter: NOBODY, params: { newest: true, limit: 3 } }],
    ['records', { filter: NOBODY, time: { from: 0, to: 1e9 } }],
    ['records', { time: { from: 1e9, to: 2e9 } }],
    ['tasks', {}],
    ['tasks', { time: { from: 10, to: 1e9 } }]
  ])('goes on with %s when the oldest rows are dropped', (view, asked) => {
    // Short ones: cells of dropped rows are kept by time, and 65,536 s would be many.
    const log = logOf(CHUNK, 0.001);
    const next = blockOfZeros(4, 'runs', 1);
    next.columns['run']![0] = 100_000;
    next.columns['start']![0] = 100;
    let isDropped = false;
    const { breaks, answer } = sliced(log, view, asked, () => {
      if (!isDropped) {
        ingestBlock(log, next);
        isDropped = true;
      }
    });
    expect(breaks).toBeGreaterThan(0);
    expect(log.runs.firstRow).toBe(CHUNK);
    if (view === 'tasks') {
      const { rows } = answer.result as TasksResult;
      rows.forEach(row => expect(row).not.toBeNull());
    } else {
      expect(answer.result).toMatchObject({ run: [], next: null });
    }
  });

  it.each<[ViewResult['view'], TableName, (result: ViewResult) => number]>([
    [
      'transfers',
      'transfers',
      result => (result as TransfersResult).total.count
    ],
    ['system', 'system', result => (result as SystemResult).lines[0]!.rows],
    ['profile', 'samples', result => (result as ProfileResult).samples],
    // The newest sample that is drawn: the end of the line.
    [
      'memory',
      'memory',
      result => 1 + (result as MemoryResult).series[0]!.t.at(-1)! * 1024
    ]
  ])(
    'leaves out no row of %s when the oldest are dropped amid it, and takes none that come',
    (view, table, count) => {
      const log = new LogStore('full', { [table]: 2 * CHUNK });
      ingestBlock(log, rowsToBlock(1, 'workers', [{ worker: 0, left: NaN }]));
      ingestBlock(log, rowsToBlock(2, 'lanes', [{ lane: 0, worker: 0 }]));
      const rows = (count: number): BlockRows => {
        const block = blockOfZeros(log.seq + 1, table, count);
        block.columns['n']?.fill(1);
        block.columns['process']?.forEach((_, i, bytes) => (bytes[i] = i));
        block.columns['t']?.forEach((_, i, times) => (times[i] = i / 1024));
        return block;
      };
      ingestBlock(log, rows(2 * CHUNK));
      let isDropped = false;
      const { answer } = sliced(log, view, {}, () => {
        if (!isDropped) {
          ingestBlock(log, rows(1));
          isDropped = true;
        }
      });
      expect(log[table as 'memory'].firstRow).toBe(CHUNK);
      expect(count(answer.result)).toBe(2 * CHUNK);
    }
  );
});
