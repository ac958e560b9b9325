/** Which lanes are of no thread, as every answer that names lanes says it. */
import { OVERLAPPING_FROM } from '../../records/beside-lanes';
import { rowsToBlock } from '../../testing/rows-to-block';
import { runDetail } from '../folds/run-detail';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

const THREADS = 2;
/** A worker of two threads, with a run on each of its lanes. */
const places = [0, 1, 2, 3, OVERLAPPING_FROM + 4];

function logOf(kind: string, capabilities: object): LogStore {
  const log = new LogStore('beside');
  const header = JSON.stringify({ kind, capabilities });
  const blocks = [
    rowsToBlock(1, 'header', [{ t: 0, json: header }]),
    rowsToBlock(2, 'workers', [
      { worker: 0, name: 'w0', threads: THREADS, joined: 0, left: NaN }
    ]),
    rowsToBlock(
      3,
      'lanes',
      places.map((thread, lane) => ({
        lane,
        worker: 0,
        thread,
        ident: NaN,
        since: NaN
      }))
    ),
    rowsToBlock(
      4,
      'runs',
      places.map((_, lane) => ({ run: lane, lane, start: 0, duration: 1 }))
    )
  ];
  blocks.forEach(block => ingestBlock(log, block));
  return log;
}

it.each([
  [
    'of our workers, what is numbered after the threads',
    logOf('embedded', {}),
    [
      ['seceded', 1],
      ['seceded', 2],
      ['seceded', OVERLAPPING_FROM + 3]
    ]
  ],
  [
    // Another thread takes the place of one that was given away: which of the lanes have seceded is not known.
    'of a Dask cluster, none',
    logOf('dask', {}),
    [undefined, undefined, undefined]
  ],
  [
    // It may hear of a lane before it hears of the thread.
    'of an observation in Python, none',
    logOf('local', {}),
    [undefined, undefined, undefined]
  ],
  [
    'of an observation in Node, what overlaps',
    logOf('local', { overlapping: true }),
    [undefined, undefined, ['overlapping', 5]]
  ]
])('lanes that are of no thread are, %s', (_, log, beside) => {
  const expected = [undefined, undefined, ...beside];
  const { lanes } = ask(log, 'task-stream');
  expect(lanes.map(lane => lane.beside)).toEqual(expected);
  expect(places.map((_, run) => runDetail(log, run)!.beside)).toEqual(expected);
  const { rows } = ask(log, 'tasks', {
    params: { sort: 'thread', descending: false, offset: 0, limit: 10 }
  });
  expect(rows.map(row => row.beside)).toEqual(expected);
  const records = ask(log, 'records', { params: { limit: 10, newest: false } });
  expect(records.lane.map(lane => records.lanes[lane]!.beside)).toEqual(
    expected
  );
});
