/**
 * A program for tests in Python: reads graphs as JSON from its input and writes their static orders as JSON.
 *
 * ```
 *   [ [null, [0], [0, 1]] ]   one graph: data, a task that needs it, a task that needs both    →   [ [0, 1, 2] ]
 * ```
 */
import { readFileSync } from 'node:fs';
import { staticOrder } from '../order/static-order';

type PlacedGraph = readonly (readonly number[] | null)[];

function numbersOf(graph: PlacedGraph): number[] {
  const start = new Int32Array(graph.length + 1);
  const ids: number[] = [];
  graph.forEach((needs, place) => {
    ids.push(...new Set(needs ?? []));
    start[place + 1] = ids.length;
  });
  const numbers = staticOrder({
    dependencies: { start, ids: Int32Array.from(ids) },
    data: Uint8Array.from(graph, needs => Number(needs === null)),
    nodeCount: graph.length
  });
  return [...numbers];
}

const graphs = JSON.parse(readFileSync(0, 'utf8')) as PlacedGraph[];
process.stdout.write(JSON.stringify(graphs.map(numbersOf)));
