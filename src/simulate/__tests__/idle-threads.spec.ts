import { DEFAULT_CLUSTER, simulate, SpanwiseCore } from '..';
import { SeededRandom } from '../../base/seeded-random';
import { GraphBuilder, type SimulatedGraph } from '../graph';

const SHORT = 20e-6;
/** Workers say so often what they have measured; then idle ones may be given something. */
const TOLD_SECONDS = 0.2;
const REACTION_SECONDS = 0.1;

/** The longest for which a worker has had nothing to do while more than two tasks for each thread waited at another. */
function longestIdle(graph: SimulatedGraph, threads: number): number {
  const core = new SpanwiseCore();
  const { scheduler } = core;
  const since = new Map<number, number>();
  let longest = 0;
  const look = (at: number): void => {
    const workers = scheduler.workers.all;
    for (const worker of workers) {
      const idles = worker.runnableCount + worker.fetchingCount === 0;
      const others = workers.filter(
        other =>
          other !== worker &&
          other.processingCount + other.queuedCount > 3 * threads
      );
      if (idles && others.length > 0) {
        since.set(worker.id, since.get(worker.id) ?? at);
        longest = Math.max(longest, at - since.get(worker.id)!);
      } else {
        since.delete(worker.id);
      }
    }
  };
  const handle = scheduler.handle.bind(scheduler);
  scheduler.handle = event => {
    // (until now it was as it is before this event)
    look(event.at);
    handle(event);
    look(event.at);
  };
  simulate(graph, { ...DEFAULT_CLUSTER, workers: 2, threads }, core);
  return longest;
}

const graphs: [string, (random: SeededRandom) => SimulatedGraph][] = [
  [
    'short ones that become long',
    random => {
      const graph = new GraphBuilder();
      const short = 100 + random.below(200);
      for (let task = 0; task < 2 * short; task++) {
        graph.add('f', task < short ? SHORT : random.pick([SHORT, 1]), 8);
      }
      return graph.build('f');
    }
  ],
  [
    'some that take ten thousand times as long',
    random => {
      const graph = new GraphBuilder();
      for (let task = 0; task < 400; task++) {
        graph.add('f', random.chance(0.02) ? 1 : SHORT, 8);
      }
      return graph.build('f');
    }
  ],
  [
    'some that others use',
    random => {
      const graph = new GraphBuilder();
      for (let task = 0; task < 200; task++) {
        const seconds = random.chance(0.02) ? 1 : SHORT;
        graph.add('use', seconds, 8, [graph.add('load', SHORT, 1000)]);
      }
      return graph.build('use');
    }
  ],
  [
    'any',
    random => {
      const graph = new GraphBuilder();
      for (let task = 0; task < 200; task++) {
        graph.add('f', 10 ** (6 * random.next() - 6), 8);
      }
      return graph.build('f');
    }
  ]
];

describe('a worker that is idle', () => {
  it.each(graphs)('soon has a task of another one, of %s', (_name, draw) => {
    for (let seed = 0; seed < 12; seed++) {
      for (const threads of [1, 2]) {
        const graph = draw(new SeededRandom(seed));
        expect(longestIdle(graph, threads)).toBeLessThan(
          TOLD_SECONDS + REACTION_SECONDS
        );
      }
    }
  });
});
