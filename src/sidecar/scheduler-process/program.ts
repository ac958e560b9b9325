/**
 * The scheduler as a program: `node spanwise.cjs scheduler --folder DIR`. Reads its settings, a line of JSON on
 * standard input, prints one line when its door is open, and ends when its client says so or its standard input ends: its parent holds
 * the other end.
 */
import { BUILD } from '../build';
import { join } from 'node:path';
import { BoundedLog } from '../bounded-log';
import { Lifeline } from '../lifeline';
import { removeOwnFolder } from '../own-folder';
import { Cluster } from './cluster';
import { removeClusterFile, writeClusterFile } from './cluster-file';
import { monotonicClock } from '../../link/monotonic';
import { checkClusterSettings } from '../../wire/cluster-settings';

/** The log that the client opens, the scheduler's socket, what guests join with, and what killed workers leave behind (docs/contracts.md §8). */
const OURS =
  /^(scheduler\.(log|sock)|cluster\.json|secret|worker-\d+\.sock|spill-\d+)$/;

/** Runs until the cluster has ended; the exit code. */
export async function runScheduler(args: readonly string[]): Promise<number> {
  const folder = args[args.indexOf('--folder') + 1];
  if (!args.includes('--folder') || folder === undefined) {
    return failed('scheduler needs --folder DIR.');
  }
  const lifeline = new Lifeline(process.stdin);
  new BoundedLog(join(folder, 'scheduler.log'));
  let cluster: Cluster;
  try {
    const settings = checkClusterSettings(await lifeline.settings);
    cluster = await Cluster.start({
      settings,
      folder,
      clock: monotonicClock(),
      note
    });
    await writeClusterFile(folder, settings, cluster.address).catch(
      (error: Error) =>
        note(`Other programs cannot join this cluster: ${error.message}`)
    );
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
  process.stderr.write(`Spanwise scheduler, build ${BUILD}\n`);
  process.stdout.write(
    `${JSON.stringify({ ready: { address: cluster.address } })}\n`
  );
  void lifeline.ended.then(() => cluster.ownerLeft());
  const hasFailed = (await cluster.ended) === 'scheduler-lost';
  if (hasFailed) {
    await removeClusterFile(folder);
    return 1;
  }
  // The client removes it too, but may be dead. After a failure the log is still needed.
  await removeOwnFolder(folder, OURS);
  return 0;
}

function note(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

function failed(sentence: string): number {
  process.stdout.write(`${JSON.stringify({ failed: sentence })}\n`);
  return 1;
}
