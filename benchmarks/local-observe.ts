/**
 * What `observe` of the npm package costs per task: CPU of the process, without the thread that sends, which only passes blocks on.
 *
 *     python -m benchmarks local-observe [-- --tasks 20000 --rounds 15]
 */
import { getSync } from '../src/node';
import { ObservedComputations } from '../src/node/observe/observed-computations';
import { LiveLog } from '../src/node/observe/live-log';
import { RunningBoard } from '../src/node/observe/running-board';
import { extraPerTask, figuresOf, treeGraph, WARM_UP } from './extra-cost';
import { argument, handOver } from './findings';

const settings = {
  tasks: argument('--tasks', 20_000),
  rounds: argument('--rounds', 15)
};

let written = 0;
const live = new LiveLog('benchmark', {
  open: () => undefined,
  write: block => (written += block.byteLength),
  flush: () => Promise.resolve(),
  end: () => Promise.resolve()
});
const following = new ObservedComputations(
  live,
  new RunningBoard(),
  () => undefined
);

const { graph, top } = treeGraph(settings.tasks / 2);
const bare = () => void getSync(graph, top);
const watched = () => void following.run(() => getSync(graph, top));
const cost = extraPerTask(bare, watched, graph.size, settings.rounds);
const bytes = written / (settings.rounds + WARM_UP) / graph.size;
live.drop();

console.log(`a bare task of getSync                  ${cost.bare.toFixed(2)} us
observed, more per task                 ${cost.extra.toFixed(2)} us, ${bytes.toFixed(0)} bytes of the record`);

handOver(settings, figuresOf('getSync', cost), { bytesOfRecordPerTask: bytes });
