import { monotonicOffset } from '../../link/monotonic';
import type { TimeRange, ResourcePlot } from '../visualize/plots';
import { resourcePlot } from '../visualize/resource-plot';
import { checkOptionNames } from '../option-names';
import { BlockProfiler } from './block-profiler';
import { epochSecondsAt } from './clock';
import type { ResourceData } from './records';
import { SamplerProcess } from './sampler-process';

/**
 * Options of {@link ResourceProfiler}.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { ResourceProfiler, type ResourceProfilerOptions } from 'spanwise';
 *
 * const often: ResourceProfilerOptions = { interval: 0.1 };
 * console.log(new ResourceProfiler(often).interval, new ResourceProfiler().interval); // → 0.1 1
 * ```
 */
export type ResourceProfilerOptions = {
  /** Seconds between samples, 1 by default. */
  readonly interval?: number;
};

/**
 * Records how much CPU and memory this process and all processes below it use, whatever they do.
 *
 * Samples are taken by a process of its own, so that they come on time while this one is busy. Entered for a block, the whole block is
 * sampled; registered, every run. `results` grow when the block, or the run, is over. The sampler ends with the block; of a registered
 * profiler it stays, idle, for the next run, until `close` or the end of this process.
 *
 * @group Diagnostics
 * @example
 * ```ts
 * import { getSync, ResourceProfiler, task } from 'spanwise';
 *
 * function spin(seconds: number) {
 *   const end = performance.now() + 1000 * seconds;
 *   while (performance.now() < end);
 * }
 * const profiler = new ResourceProfiler({ interval: 0.05 });
 * profiler.run(() => getSync({ a: task(spin, 0.4) }, 'a'));
 * // Samples come while this thread is busy: { time: 1764…, mem: 74.1, cpu: 98.5 }, in MB and per cent of one core.
 * console.log(profiler.results.some(({ cpu }) => cpu > 1)); // → true
 * ```
 */
export class ResourceProfiler extends BlockProfiler {
  /** Seconds between samples. */
  readonly interval: number;
  private _results: ResourceData[] = [];
  private _sampler: SamplerProcess | null = null;
  /** Runs in progress, while registered. */
  private _runs = 0;
  private _isCollecting = false;

  /** @throws TypeError for an unknown option, RangeError unless `interval` is a number of seconds above 0. */
  constructor(options: ResourceProfilerOptions = {}) {
    super();
    checkOptionNames('ResourceProfiler', options, { interval: true });
    const { interval = 1 } = options;
    if (!(interval > 0) || !Number.isFinite(interval)) {
      throw new RangeError(
        'ResourceProfiler: interval must be a number of seconds above 0.'
      );
    }
    this.interval = interval;
  }

  /** All samples, in the order of time. */
  get results(): readonly ResourceData[] {
    return this._results;
  }

  /** A run begins. @hidden */
  override start(): void {
    this._runs++;
    if (!this.isInBlock) {
      this._collect();
    }
  }

  /** A run is over. @hidden */
  override finish(): void {
    this._runs--;
    if (!this.isInBlock && this._runs === 0) {
      this._stop();
    }
  }

  /** Starts the sampler at once, so that the first run need not wait for it. */
  override register(): void {
    super.register();
    this._liveSampler();
  }

  override clear(): void {
    super.clear();
    this._results = [];
  }

  /** Ends the sampler; used again, the profiler starts another one. */
  close(): void {
    this._sampler?.close();
    this._sampler = null;
  }

  /** What {@link visualize} draws. */
  plot(origin: number): ResourcePlot {
    return resourcePlot(this.results, origin);
  }

  protected override blockEntered(): void {
    this._collect();
  }

  protected override blockLeft(): void {
    this._stop();
    this.close();
  }

  protected recordedRange(): TimeRange | null {
    const first = this.results[0];
    const last = this.results.at(-1);
    return first === undefined || last === undefined
      ? null
      : { start: first.time, end: last.time };
  }

  private _collect(): void {
    if (!this._isCollecting) {
      this._liveSampler().collect();
      this._isCollecting = true;
    }
  }

  /** What was sampled is kept, also when the sampler is gone: then a warning says that samples are missing. */
  private _stop(): void {
    if (!this._isCollecting) {
      return;
    }
    this._isCollecting = false;
    const { samples, problem } = this._sampler!.stop();
    // Measured once, and several times then: a process that loses its core between two readings would shift all samples.
    const offset = epochSecondsAt(0) - monotonicOffset();
    for (const { at, a, b } of samples) {
      this._results.push({ time: at + offset, mem: a / 1e6, cpu: b });
    }
    if (problem !== null) {
      this.close();
      process.emitWarning(
        `${problem.message} ResourceProfiler has ${samples.length} samples of before.`,
        'SpanwiseWarning'
      );
    }
  }

  private _liveSampler(): SamplerProcess {
    if (this._sampler?.isAlive !== true) {
      this.close();
      this._sampler = new SamplerProcess(this.interval);
    }
    return this._sampler!;
  }
}
