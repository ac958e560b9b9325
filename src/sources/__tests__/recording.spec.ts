import { arrayOf } from '../../base/typed-arrays';
import { DEFAULT_SPAN, type OuterTaskId } from '../../records/ids';
import { denseIds, idOf, spanIds } from '../../testing/ids';
import { decodeBlock } from '../../records/block';
import { EmbeddedClusterLog } from '../embedded-cluster';

const JOINED = {
  worker: 0,
  pid: 1,
  threads: 1,
  memoryLimit: 0,
  name: 'worker-0',
  address: 'unix:/w',
  host: 'h'
};

const noParts = {
  rows: 0,
  kind: new Uint8Array(0),
  function: new Uint32Array(0),
  span: spanIds(),
  offset: new Float64Array(0),
  duration: new Float64Array(0),
  cpu: new Float64Array(0),
  coreWait: new Float32Array(0),
  bytes: new Float64Array(0),
  from: new Uint16Array(0),
  held: new Uint8Array(0)
};

const oneRun = {
  rows: 1,
  taskId: arrayOf(Uint32Array, [idOf<OuterTaskId>(0)]),
  runId: Uint32Array.of(1),
  status: Uint8Array.of(0),
  thread: Uint16Array.of(0),
  start: Float64Array.of(10.5),
  duration: Float64Array.of(0.1),
  cpu: Float64Array.of(0.1),
  waitInputs: Float32Array.of(0),
  waitThread: Float32Array.of(0),
  nbytes: Float64Array.of(28),
  inlineStart: new Uint32Array(1),
  inlineLength: new Uint32Array(1),
  firstPart: Uint32Array.of(0),
  type: Uint32Array.of(0)
};

/** Two tasks, one of which ran. @returns the ids of their nodes, and rows by table. */
function logged(isRecording: boolean): {
  nodes: number[];
  rows: Record<string, number>;
} {
  const rows: Record<string, number> = {};
  const log = new EmbeddedClusterLog(
    10,
    ({ bytes }) => {
      const block = decodeBlock(bytes);
      rows[block.table] = (rows[block.table] ?? 0) + block.rows;
    },
    isRecording
  );
  log.workerJoined(10, JOINED);
  const name = log.names.id('inc');
  const nodes = [1, 2].map(() =>
    log.node(10.1, name, name, DEFAULT_SPAN, 0, new Uint8Array(1))
  );
  log.edge(nodes[0]!);
  log.finished(0, { runs: oneRun, parts: noParts }, denseIds(0), {
    node: Uint32Array.of(0),
    functionId: Uint32Array.of(name),
    span: spanIds(0),
    unfinishedSince: Float64Array.of(0.1),
    attempts: Uint8Array.of(0)
  });
  log.seal(11);
  return { nodes, rows };
}

test('a log that records has a row per task, edge and run', () => {
  const { nodes, rows } = logged(true);
  expect(nodes).toEqual([0, 1]);
  expect(rows).toMatchObject({ nodes: 2, edges: 1, runs: 1, workers: 1 });
});

test('a log that does not record gives the same ids and knows the cluster only', () => {
  const { nodes, rows } = logged(false);
  expect(nodes).toEqual([0, 1]);
  expect(rows).toMatchObject({ workers: 1, lanes: 1 });
  expect(rows).not.toHaveProperty('nodes');
  expect(rows).not.toHaveProperty('edges');
  expect(rows).not.toHaveProperty('runs');
});
