import * as fc from 'fast-check';
import { DEFAULT_CLUSTER, simulate, SpanwiseCore } from '..';
import { TaskState } from '../../scheduler';
import { GraphBuilder, type SimulatedGraph } from '../graph';
import { randomGraph, stencil } from '../workloads';

const SHORT = 50e-6;

/** Loads, all of which come first in the order, and a step on each. */
function loadsAndSteps(count: number, seconds: number): SimulatedGraph {
  const graph = new GraphBuilder();
  const loads = Array.from({ length: count }, () =>
    graph.add('load', seconds, 8)
  );
  const steps = loads.map(load => graph.add('step', SHORT, 8, [load]));
  // (with few inputs each, so that the loads are dealt to workers)
  for (let i = 1; i < count; i++) {
    graph.add('pair', SHORT, 8, [steps[i - 1]!, steps[i]!]);
  }
  return graph.build('loads and steps');
}

/** A scheduler that notes which tasks were sent to a worker before one that was queued for it and comes first. */
class Watched extends SpanwiseCore {
  readonly passed: string[] = [];

  constructor() {
    super();
    const { scheduler } = this;
    const handle = scheduler.handle.bind(scheduler);
    scheduler.handle = event => {
      const before = scheduler.runsBegun;
      handle(event);
      if (scheduler.runsBegun > before) {
        this._compare(before);
      }
    };
  }

  /** Among tasks that have all inputs at their worker, or are shipped. */
  private _compare(before: number): void {
    const { tasks, workers } = this.scheduler;
    const first = new Map<number, number>();
    const last = new Map<number, number>();
    for (let task = 0; task < tasks.capacity; task++) {
      const at = tasks.worker[task]!;
      if (tasks.isRoot(task)) {
        continue;
      }
      if (
        tasks.state[task] === TaskState.Queued &&
        this._holdsInputs(task, at)
      ) {
        const rank = tasks.rank[task]!;
        first.set(at, Math.min(first.get(at) ?? Infinity, rank));
      } else if (
        tasks.state[task] === TaskState.Processing &&
        tasks.runId[task]! > before &&
        tasks.lackingOf(task) === 0
      ) {
        last.set(at, Math.max(last.get(at) ?? 0, tasks.rank[task]!));
      }
    }
    for (const { id } of workers.all) {
      const [sent, queued] = [last.get(id), first.get(id)];
      if (sent !== undefined && queued !== undefined && sent > queued) {
        this.passed.push(`${sent} before ${queued} at ${id}`);
      }
    }
  }

  private _holdsInputs(task: number, worker: number): boolean {
    const { tasks } = this.scheduler;
    return [...tasks.inputsOf(task)].every(input =>
      tasks.holdersOf(input).includes(worker)
    );
  }
}

const graphs: Record<string, (seed: number) => SimulatedGraph> = {
  random: seed => randomGraph(150, seed),
  stencil: seed => stencil(12, 6, seed),
  'loads and steps': seed =>
    loadsAndSteps(4 + seed, [SHORT, 0.001, 0.02][seed % 3]!)
};

describe('of tasks with inputs that wait for a worker', () => {
  it('none is sent there before one that comes first', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(graphs)),
        fc.nat(60),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 2 }),
        (graph, seed, workers, threads) => {
          const core = new Watched();
          const cluster = { ...DEFAULT_CLUSTER, workers, threads };
          simulate(graphs[graph]!(seed), cluster, core);
          expect(core.passed).toEqual([]);
        }
      ),
      { numRuns: 150 }
    );
  });
});
