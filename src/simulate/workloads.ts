import { SeededRandom } from '../base/seeded-random';
import { GraphBuilder, type SimulatedGraph } from './graph';

const MS = 1e-3;
const KB = 1e3;
const MB = 1e6;

/** Draws durations and sizes around a middle. */
class Drawn {
  private readonly _random: SeededRandom;

  constructor(seed: number) {
    this._random = new SeededRandom(seed);
  }

  /** Between four fifths and six fifths of a middle. */
  near(middle: number): number {
    return middle * (0.8 + 0.4 * this._random.next());
  }

  /** Between two positive bounds, each order of magnitude as likely as any. */
  spread(least: number, most: number): number {
    return least * (most / least) ** this._random.next();
  }

  below(bound: number): number {
    return this._random.below(bound);
  }
}

/** A sum of many chunks, two by two. */
export function treeReduction(leaves = 1024, seed = 1): SimulatedGraph {
  const graph = new GraphBuilder();
  const drawn = new Drawn(seed);
  let level = Array.from({ length: leaves }, () =>
    graph.add('load', drawn.near(20 * MS), 4 * MB)
  );
  while (level.length > 1) {
    const next: number[] = [];
    for (let i = 0; i < level.length; i += 2) {
      next.push(
        graph.add('sum', drawn.near(5 * MS), 4 * MB, level.slice(i, i + 2))
      );
    }
    level = next;
  }
  return graph.build('tree reduction');
}

/** Rows of an array become columns: each chunk is cut, and each new one is put together from all. */
function rechunk(chunks = 32, seed = 2): SimulatedGraph {
  const graph = new GraphBuilder();
  const drawn = new Drawn(seed);
  const rows = Array.from({ length: chunks }, () =>
    graph.add('load', drawn.near(40 * MS), 16 * MB)
  );
  const cuts = rows.map(row =>
    Array.from({ length: chunks }, () =>
      graph.add('cut', drawn.near(0.5 * MS), (16 * MB) / chunks, [row])
    )
  );
  for (let column = 0; column < chunks; column++) {
    const parts = cuts.map(row => row[column]!);
    const whole = graph.add('concat', drawn.near(20 * MS), 16 * MB, parts);
    graph.add('mean', drawn.near(5 * MS), 8 * KB, [whole]);
  }
  return graph.build('rechunk');
}

/** `groupby().apply()` of a dataframe, shuffled by tasks. */
function groupbyShuffle(partitions = 48, seed = 3): SimulatedGraph {
  const graph = new GraphBuilder();
  const drawn = new Drawn(seed);
  const groups = Array.from({ length: partitions }, () => {
    const loaded = graph.add('read', drawn.near(60 * MS), 20 * MB);
    return graph.add('split', drawn.near(20 * MS), 20 * MB, [loaded]);
  });
  const parts = groups.map(group =>
    Array.from({ length: partitions }, () =>
      graph.add('getitem', 0.2 * MS, drawn.near((20 * MB) / partitions), [
        group
      ])
    )
  );
  for (let at = 0; at < partitions; at++) {
    const inputs = parts.map(group => group[at]!);
    const whole = graph.add('concat', drawn.near(25 * MS), 20 * MB, inputs);
    graph.add('apply', drawn.near(40 * MS), 100 * KB, [whole]);
  }
  return graph.build('groupby shuffle');
}

/** Each cell of each step needs itself and its neighbours of the step before. */
export function stencil(width = 64, depth = 30, seed = 4): SimulatedGraph {
  const graph = new GraphBuilder();
  const drawn = new Drawn(seed);
  let row = Array.from({ length: width }, () =>
    graph.add('begin', drawn.near(10 * MS), 2 * MB)
  );
  for (let step = 1; step < depth; step++) {
    row = row.map((_, i) =>
      graph.add(
        'step',
        drawn.near(10 * MS),
        2 * MB,
        row.slice(Math.max(0, i - 1), i + 2)
      )
    );
  }
  return graph.build('stencil');
}

/** One function whose tasks take a hundred times as long as each other, then a step on each, then a sum. */
function unevenDurations(count = 1500, seed = 5): SimulatedGraph {
  const graph = new GraphBuilder();
  const drawn = new Drawn(seed);
  const results = Array.from({ length: count }, () => {
    const read = graph.add('fit', drawn.spread(10 * MS, 1000 * MS), 200 * KB);
    return graph.add('score', drawn.near(5 * MS), 1 * KB, [read]);
  });
  graph.add('best', drawn.near(10 * MS), 1 * KB, results);
  return graph.build('durations ×100 apart');
}

/** Many results come together in one task. */
function wideFanIn(count = 4000, seed = 6): SimulatedGraph {
  const graph = new GraphBuilder();
  const drawn = new Drawn(seed);
  const inputs = Array.from({ length: count }, () =>
    graph.add('work', drawn.near(10 * MS), 50 * KB)
  );
  graph.add('gather', drawn.near(50 * MS), 1 * MB, inputs);
  return graph.build('wide fan-in');
}

/** Tasks of several functions that use up to three of those shortly before them. */
export function randomGraph(count = 10_000, seed = 7): SimulatedGraph {
  const graph = new GraphBuilder();
  const drawn = new Drawn(seed);
  const kinds = Array.from({ length: 12 }, (_, i) => ({
    name: `f${i}`,
    seconds: drawn.spread(1 * MS, 100 * MS),
    nbytes: drawn.spread(1 * KB, 8 * MB)
  }));
  for (let task = 0; task < count; task++) {
    const { name, seconds, nbytes } = kinds[drawn.below(kinds.length)]!;
    const inputs = new Set<number>();
    for (let left = drawn.below(4); left > 0 && task > 0; left--) {
      inputs.add(Math.max(0, task - 1 - drawn.below(400)));
    }
    graph.add(name, drawn.near(seconds), drawn.near(nbytes), [...inputs]);
  }
  return graph.build(`random, ${count.toLocaleString('en')} tasks`);
}

/** The workloads by which the scheduler is judged. */
export function workloads(): SimulatedGraph[] {
  return [
    treeReduction(),
    rechunk(),
    groupbyShuffle(),
    stencil(),
    unevenDurations(),
    wideFanIn(),
    randomGraph()
  ];
}
