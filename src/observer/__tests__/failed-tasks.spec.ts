/** Runs that failed, and of how many tasks they are. */
import { NONE_U32, RunStatus } from '../../records/enumerations';
import { rowsToBlock } from '../../testing/rows-to-block';
import { ingestBlock } from '../store/ingest';
import { LogStore } from '../store/log-store';
import { ask } from './ask';

/** Task 1 fails four times, task 2 twice and runs then, task 3 runs at once; task 4 is still to fail. */
const STATUSES = [
  [1, RunStatus.Failed],
  [2, RunStatus.Failed],
  [1, RunStatus.Failed],
  [3, RunStatus.Ok],
  [2, RunStatus.Failed],
  [1, RunStatus.Failed],
  [2, RunStatus.Ok],
  [1, RunStatus.Failed],
  [4, RunStatus.Failed]
] as const;

function logOf(count: number): LogStore {
  const log = new LogStore('tried again');
  STATUSES.slice(0, count).forEach(([node, status], run) =>
    ingestBlock(
      log,
      rowsToBlock(run + 1, 'runs', [
        { run, node, status, start: run, duration: 0.5 }
      ])
    )
  );
  return log;
}

const figures = (count: number) => {
  const log = logOf(count);
  const [span] = ask(log, 'spans').rows;
  const { kinds } = ask(log, 'task-stream', { ended: true });
  return {
    spans: [span!.failed, span!.failedTasks],
    stream: [kinds.failed, kinds.failedTasks]
  };
};

it('tells how many tasks failed runs are of', () => {
  expect(figures(8)).toEqual({ spans: [6, 2], stream: [6, 2] });
  expect(figures(9)).toEqual({ spans: [7, 3], stream: [7, 3] });
});

it('counts those of a range of time in the Task Stream', () => {
  const { kinds } = ask(logOf(9), 'task-stream', {
    time: { from: 0.9, to: 2.1 },
    ended: true
  });
  expect([kinds.failed, kinds.failedTasks]).toEqual([2, 2]);
});

it('tells nothing of them where none has failed', () => {
  const log = new LogStore('well');
  ingestBlock(
    log,
    rowsToBlock(1, 'runs', [{ run: 0, node: 3, start: 0, duration: 1 }])
  );
  expect(ask(log, 'spans').rows[0]).not.toHaveProperty('failedTasks');
  expect(ask(log, 'task-stream', { ended: true }).kinds).not.toHaveProperty(
    'failedTasks'
  );
});

describe('tasks that fail without a failed run', () => {
  const failuresOf = (statuses: readonly RunStatus[]) => {
    const log = new LogStore('killed');
    ingestBlock(log, rowsToBlock(1, 'names', [{ id: 0, text: 'task-failed' }]));
    statuses.forEach((status, run) =>
      ingestBlock(
        log,
        rowsToBlock(run + 2, 'runs', [
          { run, node: 1, status, start: run, duration: 0.5 }
        ])
      )
    );
    const event = { kind: 0, run: NONE_U32, text: '["a", "KilledWorker"]' };
    ingestBlock(log, rowsToBlock(9, 'events', [event]));
    const [span] = ask(log, 'spans').rows;
    const { failed, failedTasks, failedUnrun } = span!;
    const { kinds } = ask(log, 'task-stream', { ended: true });
    return { failed, failedTasks, failedUnrun, inStream: kinds.failed };
  };

  it('are told from failed runs', () => {
    const { Lost, Failed } = RunStatus;
    expect(failuresOf([Lost, Lost, Lost, Lost])).toEqual({
      failed: 1,
      failedTasks: undefined,
      failedUnrun: 1,
      inStream: 0
    });
    // One that was tried again and ended its workers then.
    expect(failuresOf([Failed, Lost, Lost])).toEqual({
      failed: 2,
      failedTasks: 1,
      failedUnrun: 1,
      inStream: 1
    });
  });
});
