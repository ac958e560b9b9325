import * as fc from 'fast-check';
import { RunStatus } from '../../records/enumerations';
import {
  boundsOf,
  DEFAULT_CLUSTER,
  simulate,
  SpanwiseCore,
  type Order
} from '..';
import { GraphBuilder } from '../graph';
import { recordedGraph } from '../recorded-graph';
import { randomGraph, stencil, treeReduction } from '../workloads';

const cluster = (workers: number, threads: number) => ({
  ...DEFAULT_CLUSTER,
  workers,
  threads
});

describe('a simulated cluster', () => {
  it('gives the same outcome for the same seed, whatever the graph', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 3 }),
        (seed, workers, threads) => {
          const graph = randomGraph(120, seed);
          const outcomes = [1, 2].map(() =>
            simulate(
              graph,
              cluster(workers, threads),
              new SpanwiseCore({ seed }, true)
            )
          );
          expect(outcomes[0]).toEqual(outcomes[1]);
          const { criticalPath, area } = boundsOf(graph, workers * threads);
          expect(outcomes[0]!.makespan).toBeGreaterThanOrEqual(
            Math.max(criticalPath, area)
          );
        }
      ),
      { numRuns: 40 }
    );
  });

  it('takes as long as its work where nothing can be done side by side', () => {
    const graph = new GraphBuilder();
    let last = graph.add('first', 0.1, 1000);
    for (let i = 0; i < 9; i++) {
      last = graph.add('next', 0.1, 1000, [last]);
    }
    const chain = graph.build('chain');
    const { makespan, bytesMoved } = simulate(
      chain,
      cluster(2, 1),
      new SpanwiseCore()
    );
    expect(boundsOf(chain, 2)).toEqual({
      criticalPath: expect.closeTo(1),
      area: expect.closeTo(0.5)
    });
    // Two messages: there, and back. All links are shipped behind the first.
    expect(makespan).toBeCloseTo(1 + 2 * DEFAULT_CLUSTER.messageSeconds);
    expect(bytesMoved).toBe(0);
  });

  it.each([
    ['stencil', stencil()],
    ['tree', treeReduction()]
  ])('runs a %s that comes in parts about as well', (_name, graph) => {
    const times = [Infinity, 700, 100].map(
      partLength =>
        simulate(graph, cluster(4, 2), new SpanwiseCore({}, false, partLength))
          .makespan
    );
    // Roots are put into line with those of their own part alone.
    for (const makespan of times.slice(1)) {
      expect(makespan).toBeLessThan(1.1 * times[0]!);
    }
  });

  it('counts what goes from worker to worker, and what they hold at most', () => {
    const graph = new GraphBuilder();
    const inputs = [0, 1].map(() => graph.add('load', 0.1, 50e6));
    graph.add('join', 0.1, 1, inputs);
    const { bytesMoved, peakBytes, makespan } = simulate(
      graph.build('join'),
      cluster(2, 1),
      new SpanwiseCore()
    );
    expect(bytesMoved).toBe(50e6);
    // At one worker both inputs and the result; at the other its own.
    expect(peakBytes).toBe(150e6 + 1);
    const transfer = 0.001 + 50e6 / DEFAULT_CLUSTER.bandwidth;
    expect(makespan).toBeCloseTo(0.2 + transfer + 0.0008);
  });

  it('says that a graph does not end', () => {
    const lazy = {
      interval: null,
      begin: (): Order[] => [],
      hear: (): Order[] => []
    };
    expect(() => simulate(stencil(2, 2), DEFAULT_CLUSTER, lazy)).toThrow(
      '2 results of stencil never come'
    );
  });
});

describe('what no schedule can beat', () => {
  it('is a path, and an area', () => {
    const graph = treeReduction(4);
    const { seconds } = graph;
    const work = seconds.reduce((sum, each) => sum + each, 0);
    const { criticalPath, area } = boundsOf(graph, 2);
    expect(area).toBeCloseTo(work / 2);
    const [a, b, c, d, e, f, g] = seconds as unknown as number[];
    expect(criticalPath).toBeCloseTo(
      Math.max(Math.max(a!, b!) + e!, Math.max(c!, d!) + f!) + g!
    );
  });
});

describe('a recorded graph', () => {
  it('has durations and sizes of the first good run of each task', () => {
    const run = (node: number, status: RunStatus, duration: number) => ({
      node,
      status,
      duration,
      nbytes: 10 * node
    });
    const graph = recordedGraph('recorded', {
      nodes: [
        { node: 4, function: 1, firstEdge: 0 },
        { node: 5, function: 2, firstEdge: 0 },
        { node: 6, function: 2, firstEdge: 1 },
        { node: 7, function: 1, firstEdge: 3 }
      ],
      edges: [{ node: 4 }, { node: 4 }, { node: 3 }, { node: 5 }, { node: 6 }],
      runs: [
        run(4, RunStatus.Failed, 9),
        run(4, RunStatus.Ok, 1),
        run(6, RunStatus.Ok, 2),
        run(4, RunStatus.Ok, 8),
        run(7, RunStatus.Ok, 3)
      ]
    });
    expect([...graph.seconds]).toEqual([1, 2, 3]);
    expect([...graph.nbytes]).toEqual([40, 60, 70]);
    expect([...graph.firstInput]).toEqual([0, 0, 1, 2]);
    // Task 5 has no run and 3 is not in the log: what used them does without.
    expect([...graph.inputs]).toEqual([0, 1]);
    expect([...graph.wanted]).toEqual([0, 0, 1]);
  });
});
