import { NONE_U32 } from '../../records/enumerations';
import { DEFAULT_SPAN } from '../../records/ids';
import { type Row, rowsToBlock } from '../../testing/rows-to-block';
import { drawBlocks } from '../../testing/run-from-text';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { answer, ask, type Asked } from './ask';

const NAMES = ['', 'load', 'fit', 'load data', 'train', 'cross'];
const LOAD = 1;
const FIT = 2;
const LOAD_DATA = 3;
const TRAIN = 4;
const CROSS = 5;

/** A log in which span 2 is within span 1. */
function logOf(...rows: readonly Row[]): LogStore {
  const log = new LogStore('progress');
  const span = (id: number, parent: number, tag: number): Row => ({
    id,
    parent,
    tag,
    opened: 0,
    closed: NaN,
    client: 0
  });
  ingestBlock(
    log,
    rowsToBlock(
      1,
      'names',
      NAMES.map((text, id) => ({ id, text }))
    )
  );
  ingestBlock(
    log,
    rowsToBlock(2, 'spans', [
      span(1, NONE_U32, LOAD_DATA),
      span(2, 1, CROSS),
      span(3, NONE_U32, TRAIN)
    ])
  );
  tell(log, ...rows);
  return log;
}

function tell(log: LogStore, ...rows: readonly Row[]): void {
  ingestBlock(
    log,
    rowsToBlock(
      log.seq + 1,
      'progress',
      rows.map(row => ({ t: 5, ...row }))
    )
  );
}

const progress = (log: LogStore, asked: Asked = {}) =>
  ask(log, 'progress', asked);
const honoured = (log: LogStore, asked: Asked = {}) =>
  answer(log, 'progress', asked).honoured;

describe('how far tasks are', () => {
  it('is by function what the source told last, in the order in which they came', () => {
    const log = logOf(
      { function: FIT, within: 3, waiting: 4 },
      { function: LOAD, within: 1, done: 3, memory: 2, waiting: 9 },
      { function: LOAD, within: 2, done: 1, failed: 1, dropped: 7 }
    );
    tell(log, { t: 6, function: LOAD, within: 1, done: 10, running: 2 });
    const load = {
      done: 11,
      running: 2,
      waiting: 0,
      failed: 1,
      dropped: 7,
      memory: 0
    };
    expect(progress(log)).toMatchObject({
      functions: [
        { function: 'fit', waiting: 4, done: 0 },
        { function: 'load', ...load }
      ],
      total: { ...load, waiting: 4 },
      hidden: 0,
      toldAt: 6
    });
    expect(honoured(log)).toEqual({ how: 'exact' });
  });

  it('is exact under a filter by spans and functions, and says how many it hides', () => {
    const log = logOf(
      { function: LOAD, within: 1, done: 1 },
      { function: LOAD, within: 2, done: 20, waiting: 1 },
      { function: FIT, within: 3, running: 300 }
    );
    const filter = { spans: { any: [{ path: ['load data'] }] } };
    expect(progress(log, { filter })).toMatchObject({
      total: { done: 21, running: 0, waiting: 1 },
      hidden: 300
    });
    const byFunction = { functions: ['fit'] };
    expect(progress(log, { filter: byFunction })).toMatchObject({
      functions: [{ function: 'fit', running: 300 }],
      hidden: 22
    });
    expect(honoured(log, { filter })).toEqual({ how: 'exact' });
    const byWorker = honoured(log, { filter: { workers: [0] } });
    expect(byWorker.how).toBe('not filtered');
  });

  it('of a span is in the tree of spans, with what is within it', () => {
    const log = logOf(
      { function: LOAD, within: 1, waiting: 1 },
      { function: FIT, within: 2, waiting: 20 },
      { function: FIT, within: 3, done: 300 }
    );
    const waiting = (ended: boolean) =>
      ask(log, 'spans', { ended }).rows.map(row => [row.tag, row.waiting]);
    expect(waiting(false)).toEqual([
      ['load data', 21],
      ['cross', 20],
      ['train', undefined]
    ]);
    expect(waiting(true)).toEqual([
      ['load data', undefined],
      ['cross', undefined],
      ['train', undefined]
    ]);
  });

  it('is final once the cluster has ended: what had not begun never will', () => {
    const log = logOf({
      function: LOAD,
      within: 1,
      done: 3,
      running: 1,
      waiting: 4,
      dropped: 10
    });
    expect(progress(log, { ended: true }).total).toMatchObject({
      done: 3,
      running: 0,
      waiting: 0,
      dropped: 15
    });
  });

  it('is as it was told last of a Dask cluster: maybe only the watching has ended, and its tasks go on', () => {
    const log = logOf({
      function: LOAD,
      within: 1,
      done: 3,
      running: 1,
      waiting: 4
    });
    log.header = { kind: 'dask' };
    const counts = { done: 3, running: 0, waiting: 5, dropped: 0 };
    expect(progress(log, { ended: true }).total).toMatchObject(counts);
  });

  it('is not known to be all of a scheduler that has ended and did not tell: it was killed, or is watched no more', () => {
    const waiting = ['dask', 'embedded', 'local'].map(kind => {
      const log = new LogStore('untold');
      for (const block of drawBlocks('0/0 aab')) {
        ingestBlock(log, block);
      }
      log.header = { kind };
      return progress(log, { ended: true }).total.waiting;
    });
    expect(waiting).toEqual([null, null, 0]);
  });

  it('is that of the runs where the source does not tell, and says so', () => {
    const log = new LogStore('drawn');
    for (const block of drawBlocks('0/0 aaXbb\n1/0 b')) {
      ingestBlock(log, block);
    }
    const { functions, total, toldAt } = progress(log);
    expect(toldAt).toBeNull();
    expect(total).toMatchObject({ waiting: null, memory: null });
    const ran = functions.reduce(
      (sum, { done, failed }) => sum + done + failed,
      0
    );
    expect(ran).toBe(log.runCount);
    expect(honoured(log).why).toContain('each time that it ran');
  });

  it('is not that of before once the source says that it is not kept up', () => {
    const log = logOf({ function: LOAD, within: 1, waiting: 4 });
    tell(log, { function: NONE_U32, within: NONE_U32 });
    expect(progress(log)).toMatchObject({
      functions: [],
      toldAt: null
    });
    tell(log, { function: LOAD, within: 1, done: 4 });
    expect(progress(log)).toMatchObject({
      total: { done: 4, waiting: 0 },
      toldAt: 5
    });
  });

  it('is of a thousand functions, and of the others together', () => {
    const log = logOf();
    const names = Array.from({ length: 1002 }, (_, i) => i + 10);
    ingestBlock(
      log,
      rowsToBlock(
        log.seq + 1,
        'names',
        names.map(id => ({ id, text: `f${id}` }))
      )
    );
    tell(log, ...names.map(id => ({ function: id, within: 1, done: 1 })), {
      function: NONE_U32,
      within: DEFAULT_SPAN,
      done: 40
    });
    const { functions, others, total } = progress(log);
    expect(functions).toHaveLength(1000);
    expect(others).toMatchObject({ functions: 3, done: 42 });
    expect(total.done).toBe(1042);
    expect(honoured(log)).toMatchObject({ how: 'approximate' });
  });
});
