/**
 * The Spanwise side of local_loop.py: runs a graph of no-op tasks once per line of input and answers with the time it took.
 *
 *     { "tasks": 20000, "height": 14 }     first line: the sizes of the graphs
 *     independent getSync                  → { "wallSeconds": …, "cpuSeconds": … }
 *
 * The graphs are made before, as in the other process, as `Map`s, which are to JavaScript what dicts are to Python; the time is that of the
 * call alone.
 */
import { createInterface } from 'node:readline';
import { performance } from 'node:perf_hooks';
import { getAsync, getSync, type Graph, ref, task } from '../src/node';

type Case = { readonly graph: Graph; readonly keys: string | string[] };

const noop = () => null;
const promised = () => Promise.resolve(null);

function independent(tasks: number, fn: () => unknown): Case {
  const keys = Array.from({ length: tasks }, (_, i) => `x-${i}`);
  return { graph: new Map(keys.map(key => [key, task(fn)])), keys };
}

function tree(height: number, fn: () => unknown): Case {
  const graph = new Map<string, unknown>();
  for (let level = 0; level <= height; level++) {
    for (let i = 0; i < 2 ** (height - level); i++) {
      const needs = [2 * i, 2 * i + 1].map(n => ref(`t-${level - 1}-${n}`));
      graph.set(`t-${level}-${i}`, task(fn, ...(level === 0 ? [] : needs)));
    }
  }
  return { graph, keys: `t-${height}-0` };
}

const schedulers: Record<string, (run: Case) => unknown> = {
  getSync: ({ graph, keys }) => getSync(graph, keys),
  getAsync: ({ graph, keys }) => getAsync(graph, keys)
};

async function answer(): Promise<void> {
  let cases: Record<string, Case> | null = null;
  for await (const line of createInterface({ input: process.stdin })) {
    if (cases === null) {
      const { tasks, height } = JSON.parse(line) as Record<string, number>;
      cases = {
        'independent getSync': independent(tasks!, noop),
        'independent getAsync': independent(tasks!, promised),
        'tree getSync': tree(height!, noop),
        'tree getAsync': tree(height!, promised)
      };
      continue;
    }
    const cpu = process.cpuUsage();
    const start = performance.now();
    await schedulers[line.split(' ')[1]!]!(cases[line]!);
    const wallSeconds = (performance.now() - start) / 1e3;
    const { user, system } = process.cpuUsage(cpu);
    process.stdout.write(
      `${JSON.stringify({ wallSeconds, cpuSeconds: (user + system) / 1e6 })}\n`
    );
  }
}

void answer();
