/** A cluster that ends while tasks run says so, whoever told of the end. */
import { RunStatus } from '../../../records/enumerations';
import type { TableName } from '../../../records/tables';
import { type Row, rowsToBlock } from '../../../testing/rows-to-block';
import { ObservedCluster, type OpenFields } from '../observed-cluster';
import { encoded } from './observer-fixture';

const opening = {
  clusterId: 'c',
  logId: 'l',
  name: 'n',
  kind: 'embedded',
  wallEpoch: 1000,
  clockAhead: 0,
  pid: process.pid
} as OpenFields;

function clusterOf(tables: readonly [TableName, readonly Row[]][]) {
  const cluster = new ObservedCluster(opening);
  cluster.take(
    tables.map(([table, rows], i) => encoded(rowsToBlock(i, table, rows)))
  );
  return cluster;
}

const lanes: [TableName, readonly Row[]] = [
  'lanes',
  [
    { lane: 0, worker: 0 },
    { lane: 1, worker: 0, thread: 1 }
  ]
];
const run = (run: number, node: number, over: Row) => ({
  run,
  node,
  start: 50,
  duration: 10,
  status: RunStatus.Lost,
  ...over
});
const going: [TableName, readonly Row[]] = [
  'running',
  [0, 1].map(lane => ({ lane, node: lane, function: 0, span: 0, started: 50 }))
];

describe('a cluster that ends while tasks run', () => {
  it('says of how many, as its workers were told to have lost them', () => {
    const runs = (...rows: readonly Row[]) => {
      const cluster = clusterOf([lanes, ['runs', rows]]);
      cluster.end('kernel-ended', 60);
      return cluster.info().why;
    };
    expect(runs(run(1, 1, {}), run(2, 2, {}))).toMatch(
      /^Ended at \d\d:\d\d:\d\d, broken off while 2 tasks ran: .* has ended\. The history is kept\.$/
    );
    // One was lost before with a worker, and ran again.
    const again = run(2, 1, { start: 61, status: RunStatus.Ok, duration: 1 });
    expect(runs(run(1, 1, {}), again, run(3, 3, {}))).toMatch(
      /while 1 task ran: /
    );
    expect(runs(run(1, 1, {}), again)).not.toContain('broken off');
    expect(runs(run(1, 1, { duration: 0.5 }))).toContain('broken off');
    expect(runs(run(1, 1, { start: 1 }))).not.toContain('broken off');
    expect(runs(run(1, 1, { status: RunStatus.Ok }))).not.toContain(
      'broken off'
    );
  });

  it('says so of what was told as running, if nobody told more', () => {
    const cluster = clusterOf([lanes, going]);
    cluster.end('stopped', 60);
    expect(cluster.info().why).toMatch(/while 2 tasks ran: /);
    expect(cluster.info().running).toBe(0);
    // Also if its rows come last.
    const late = clusterOf([lanes]);
    late.end('stopped', 60);
    expect(late.info().why).not.toContain('broken off');
    late.take([encoded(rowsToBlock(1, ...going))]);
    expect(late.info().why).toMatch(/while 2 tasks ran: /);
    // Its log goes on: they may have ended well.
    cluster.reopened(opening);
    cluster.end('stopped', 90);
    expect(cluster.info().why).not.toContain('broken off');
  });
});
