/**
 * The singular value decomposition of a matrix that is tall and skinny, over blocks, in two threads, under all three profilers.
 *
 *     node tall-skinny-svd.js [FILE.html]
 *
 * ```
 *   A0 ─ qr ─ Q0 ────────────────────┐
 *            └ R0 ┐                  dot ─ U0     U = Q · U of the small matrix
 *   A1 ─ qr ─ Q1 ─│──────────────┐   │
 *            └ R1 ┤              dot │ ─── U1
 *                 stack ─ qr ─ Q rows┘
 *                           └ R ─ svd ─ s, V      the only step that needs all blocks, and it is small
 * ```
 *
 * The picture shows it: blocks side by side in both threads, then one step that waits for all of them while the cache is fullest, then the
 * products, which let the blocks go.
 */
import {
  CacheProfiler,
  getThreads,
  module,
  Profiler,
  ref,
  ResourceProfiler,
  task,
  visualize,
  type Key
} from 'spanwise';
import type * as blocks from './matrix-blocks.js';

const BLOCKS = 8;
const ROWS = 600;
const COLUMNS = 24;

/** The functions run in other threads, which import them from the module. */
const there = <Name extends keyof typeof blocks>(name: Name) =>
  module<(typeof blocks)[Name]>(
    new URL('./matrix-blocks.js', import.meta.url),
    name
  );

const graph = new Map<Key, unknown>();
const each = Array.from({ length: BLOCKS }, (_, index) => index);
for (const index of each) {
  const own = (name: string) => [name, index] as const;
  graph.set(own('block'), task(there('randomBlock'), ROWS, COLUMNS, index + 1));
  graph.set(own('qr'), task(there('qr'), ref(own('block'))));
  graph.set(own('r'), task(there('takeR'), ref(own('qr'))));
  graph.set(own('q'), task(there('takeQ'), ref(own('qr'))));
  // U of this block: Q of the block, times Q of the stacked rows that belong to it, times U of the small matrix.
  graph.set(
    own('inner'),
    task(
      there('rowsOf'),
      task(there('takeQ'), ref('small-qr')),
      index * COLUMNS,
      (index + 1) * COLUMNS
    )
  );
  graph.set(
    own('u'),
    task(
      there('dot'),
      ref(own('q')),
      task(
        there('dot'),
        ref(own('inner')),
        task(there('takeU'), ref('small-svd'))
      )
    )
  );
  graph.set(
    own('error'),
    task(
      there('reconstructionError'),
      ref(own('block')),
      ref(own('u')),
      ref('small-svd')
    )
  );
}
graph.set(
  'stacked',
  task(
    there('stack'),
    each.map(index => ref(['r', index]))
  )
);
graph.set('small-qr', task(there('qr'), ref('stacked')));
graph.set(
  'small-svd',
  task(there('svd'), task(there('takeR'), ref('small-qr')))
);

const profiler = new Profiler();
const resources = new ResourceProfiler({ interval: 0.05 });
const cache = new CacheProfiler();

const errors: readonly Key[] = each.map(index => ['error', index]);
const [small, differences] = await resources.run(() =>
  profiler.run(() =>
    cache.run(() =>
      getThreads<[blocks.Svd, number[]]>(graph, ['small-svd', [...errors]], {
        numWorkers: 2
      })
    )
  )
);

console.log(
  `largest singular values: ${small.singularValues
    .slice(0, 3)
    .map(value => value.toFixed(2))
    .join(', ')}`
);
console.log(`largest error: ${Math.max(...differences).toExponential(0)}`);
console.log(
  `${profiler.results.length} tasks, ${resources.results.length} samples, ${cache.results.length} results`
);
const filename = process.argv[2] ?? 'tall-skinny-svd.html';
const title = 'SVD over blocks';
visualize([profiler, resources, cache], { filename, title });
console.log(`picture: ${filename}`);
