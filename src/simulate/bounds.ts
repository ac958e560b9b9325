import type { SimulatedGraph } from './graph';

/** What no schedule can beat, in seconds; transfers and messages cost nothing in them. */
type Bounds = {
  /** The longest chain of tasks that wait for each other. */
  readonly criticalPath: number;
  /** All work, spread evenly over all threads. */
  readonly area: number;
};

export function boundsOf(graph: SimulatedGraph, threads: number): Bounds {
  const { seconds, firstInput, inputs } = graph;
  const ends = new Float64Array(seconds.length);
  let criticalPath = 0;
  let work = 0;
  for (let task = 0; task < seconds.length; task++) {
    let begin = 0;
    for (let k = firstInput[task]!; k < firstInput[task + 1]!; k++) {
      begin = Math.max(begin, ends[inputs[k]!]!);
    }
    ends[task] = begin + seconds[task]!;
    criticalPath = Math.max(criticalPath, ends[task]!);
    work += seconds[task]!;
  }
  return { criticalPath, area: work / threads };
}
