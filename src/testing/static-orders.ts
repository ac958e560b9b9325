/**
 * A program for tests in Python: reads graphs as JSON from its input and writes their static orders as JSON.
 *
 * ```
 *   [ [null, [0], [0, 1]] ]   one graph: data, a task that needs it, a task that needs both    →   [ [0, 1, 2] ]
 * ```
 */
import { readFileSync } from 'node:fs';
import { type Key, KeyMap } from '../node/graph/key';
import { data, type Node, ref, task } from '../node/graph/nodes';
import { order } from '../node/graph/order';

type PlacedGraph = readonly (readonly number[] | null)[];

const nameAt = (place: number): Key => ['k', place];
const noop = () => null;

function numbersOf(graph: PlacedGraph): number[] {
  const nodes = new KeyMap<Node>();
  graph.forEach((needs, place) => {
    const refs = needs?.map(need => ref(nameAt(need)));
    nodes.set(nameAt(place), refs ? task(noop, ...refs) : data(0));
  });
  const numbers = order(nodes);
  return graph.map((_, place) => numbers.get(nameAt(place))!);
}

const graphs = JSON.parse(readFileSync(0, 'utf8')) as PlacedGraph[];
process.stdout.write(JSON.stringify(graphs.map(numbersOf)));
