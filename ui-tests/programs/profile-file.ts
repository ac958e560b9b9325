/**
 * Writes an HTML file of `visualize` with known content: `node profile-file.mjs PATH`.
 *
 * ```
 *   worker 1   load                      ten seconds, key "first" with markup in its name
 *   worker 2   ||||||||||||||||||||||||  10,000 tasks of 0.9 ms, ('sum', 0) … ('sum', 9999): told apart only from near
 * ```
 */
import { ref, task } from '../../src/node';
import { cachePlot } from '../../src/node/visualize/cache-plot';
import { resourcePlot } from '../../src/node/visualize/resource-plot';
import { taskPlot } from '../../src/node/visualize/task-plot';
import { visualize } from '../../src/node/visualize/visualize';

const FIRST_KEY = '<img src=x onerror=alert(1)></script>first';
const BEGIN = 1_700_000_000;

function load() {
  return 0;
}

function sum() {
  return 0;
}

const tasks = [
  {
    key: FIRST_KEY,
    task: task(load),
    startTime: BEGIN,
    endTime: BEGIN + 10,
    workerId: 1
  },
  ...Array.from({ length: 10_000 }, (_, index) => ({
    key: ['sum', index] as const,
    task: task(sum, ref('x'), 1),
    startTime: BEGIN + index / 1000,
    endTime: BEGIN + index / 1000 + 0.0009,
    workerId: 2
  }))
];

const held = tasks.map(({ key, task: node, endTime }) => ({
  key,
  task: node,
  metric: 1e6,
  cacheTime: endTime,
  freeTime: Math.min(BEGIN + 10, endTime + 2)
}));

const samples = Array.from({ length: 41 }, (_, index) => ({
  time: BEGIN + index / 4,
  mem: 200 + 10 * index,
  cpu: index % 2 === 0 ? 50 : 190
}));

const timeRange = { start: BEGIN, end: BEGIN + 10 };
visualize(
  [
    { timeRange, plot: (at, labelSize) => taskPlot(tasks, at, labelSize) },
    { timeRange, plot: at => resourcePlot(samples, at) },
    {
      timeRange,
      plot: (at, labelSize) => cachePlot(held, 'bytes', at, labelSize)
    }
  ],
  { filename: process.argv[2]!, title: 'Known & <b>drawn</b>' }
);
