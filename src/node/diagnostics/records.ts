/** What the profilers record. Times are seconds since the epoch. */
import type { Key } from '../graph/key';
import type { Node } from '../graph/nodes';

/**
 * A task that ran to its end, as {@link Profiler} records it. Times are seconds since the epoch.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { getThreads, Profiler, task, type TaskData } from 'spanwise';
 *
 * const profiler = new Profiler();
 * const graph = { a: task(() => 'x'.repeat(1e6).length) };
 * await profiler.run(() => getThreads(graph, 'a'));
 * const describe = ({ key, startTime, endTime, workerId }: TaskData) =>
 *   `${key}: ${(1000 * (endTime - startTime)).toFixed(0)} ms in thread ${workerId}`;
 * console.log(profiler.results.map(describe)); // → [ 'a: … ms in thread …' ]
 * ```
 */
export type TaskData = {
  /** The task's key. */
  readonly key: Key;
  /** The call, or the alias. */
  readonly task: Node;
  /** When it began, stamped where it ran. */
  readonly startTime: number;
  /** When it ended there. */
  readonly endTime: number;
  /** null for `getSync`, the slot for `getAsync`, else the thread's or the process's id; null for every alias. */
  readonly workerId: number | null;
};

/**
 * What this process and everything that it started used at one moment, as {@link ResourceProfiler} records it.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { setTimeout as sleep } from 'node:timers/promises';
 * import { ResourceProfiler, type ResourceData } from 'spanwise';
 *
 * const profiler = new ResourceProfiler({ interval: 0.05 });
 * await profiler.run(() => sleep(200));
 * const peak = (results: readonly ResourceData[]) => Math.max(...results.map(({ mem }) => mem));
 * console.log(peak(profiler.results) > 10); // → true
 * ```
 */
export type ResourceData = {
  /** When, seconds since the epoch. */
  readonly time: number;
  /** Resident memory, MB (10⁶ bytes), summed over processes; what they share is counted in each. */
  readonly mem: number;
  /** Per cent of one core since the sample before, summed over processes: four busy threads are about 400. */
  readonly cpu: number;
};

/**
 * A result, from entering the scheduler's cache to leaving it, as {@link CacheProfiler} records it. Times are seconds since the epoch.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { CacheProfiler, getSync, ref, task, type CacheData } from 'spanwise';
 *
 * const profiler = new CacheProfiler();
 * const graph = { a: task(() => new Float64Array(1000)), b: task((x: Float64Array) => x.length, ref('a')) };
 * profiler.run(() => getSync(graph, 'b'));
 * const describe = ({ key, metric, cacheTime, freeTime }: CacheData) => `${key}: ${metric} bytes, ${freeTime >= cacheTime}`;
 * console.log(profiler.results.map(describe)); // → [ 'a: 8000 bytes, true', 'b: 8 bytes, true' ]
 * ```
 */
export type CacheData = {
  /** The key of the task that made it. */
  readonly key: Key;
  /** That task. */
  readonly task: Node;
  /** What the profiler's metric said of the result. */
  readonly metric: number;
  /** When its task finished. */
  readonly cacheTime: number;
  /** When the task finished that needed it last, or the run. */
  readonly freeTime: number;
};
