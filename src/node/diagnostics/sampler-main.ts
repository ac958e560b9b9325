/**
 * The sampler's program: runs in a process of its own beside the profiled one, so that samples come on time however busy that one is.
 *
 *   node sampler.mjs PID INTERVAL_SECONDS      commands on standard input, records into file descriptor 3
 *
 * Standard input is its lifeline too: when it ends, because the profiled process has closed it or is gone, so does the sampler.
 */
import { writeSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { CpuMeter, type IProcessTree } from './cpu-meter';
import {
  encodedRecord,
  monotonicSeconds,
  READY,
  SAMPLE,
  type SamplerCommand,
  STOPPED
} from './sampler-records';

const RECORDS_FD = 3;
/** The first sample follows the priming after this; long enough for steps of 10 ms to mean something. */
const FIRST_SAMPLE_SECONDS = 0.05;
/** The longest that a timer can wait; longer ones would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

class Sampler {
  private readonly _tree: IProcessTree;
  private readonly _interval: number;
  private readonly _meter = new CpuMeter();
  private _timer: NodeJS.Timeout | undefined;
  /** The sample that is being taken. */
  private _sampling = Promise.resolve();
  private _first = NaN;
  private _due = NaN;

  constructor(tree: IProcessTree, intervalSeconds: number) {
    this._tree = tree;
    this._interval = intervalSeconds;
  }

  async collect(number: number): Promise<void> {
    clearTimeout(this._timer);
    const at = monotonicSeconds();
    this._meter.prime(await this._tree.read(), at);
    write({ kind: READY, at, a: number, b: 0 });
    this._first = at + Math.min(this._interval, FIRST_SAMPLE_SECONDS);
    this._due = this._first;
    this._waitUntilDue();
  }

  /** The last sample is taken now if the one before it is half an interval ago, so that short blocks have one too. */
  async stop(number: number): Promise<void> {
    clearTimeout(this._timer);
    await this._sampling;
    clearTimeout(this._timer);
    if (monotonicSeconds() > this._due - this._interval / 2) {
      await this._sample();
    }
    this._due = NaN;
    write({ kind: STOPPED, at: monotonicSeconds(), a: number, b: 0 });
  }

  private _waitUntilDue(): void {
    const ms = 1000 * Math.max(0, this._due - monotonicSeconds());
    this._timer =
      ms > LONGEST_TIMER_MS
        ? setTimeout(() => this._waitUntilDue(), LONGEST_TIMER_MS)
        : setTimeout(() => {
            this._sampling = this._sample().then(() => this._next(), fail);
          }, ms);
  }

  /** Samples that could not be taken in time are left out; the others keep to the beat of the first. */
  private _next(): void {
    if (Number.isNaN(this._due)) {
      return;
    }
    const passed = (monotonicSeconds() - this._first) / this._interval;
    const beat = Math.max(
      Math.round((this._due - this._first) / this._interval) + 1,
      Math.floor(passed)
    );
    this._due = this._first + beat * this._interval;
    this._waitUntilDue();
  }

  private async _sample(): Promise<void> {
    const at = monotonicSeconds();
    const readings = await this._tree.read();
    const residentBytes = readings.reduce(
      (sum, reading) => sum + reading.residentBytes,
      0
    );
    write({
      kind: SAMPLE,
      at,
      a: residentBytes,
      b: this._meter.percent(readings, at)
    });
  }
}

function write(record: Parameters<typeof encodedRecord>[0]): void {
  writeSync(RECORDS_FD, encodedRecord(record));
}

/** The profiled process reads this from standard error. */
function fail(error: unknown): never {
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`
  );
  process.exit(1);
}

async function processTree(pid: number): Promise<IProcessTree> {
  if (
    process.platform === 'linux' &&
    process.env['SPANWISE_SAMPLER'] !== 'portable'
  ) {
    const { LinuxProcessTree } = await import('./process-tree-linux');
    return new LinuxProcessTree(pid, process.pid);
  }
  const { PortableProcessTree } = await import('./process-tree-portable');
  return new PortableProcessTree(pid, process.pid);
}

/** Runs before the busy processes that it watches, where the system allows that: it needs little time, but on time. */
function riseAboveOthers(): void {
  try {
    setPriority(constants.priority.PRIORITY_ABOVE_NORMAL);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // On Linux only root may do this; otherwise the sampler takes its turn like the others.
    if (code !== 'ERR_SYSTEM_ERROR' && code !== 'EACCES' && code !== 'EPERM') {
      throw error;
    }
  }
}

async function main(): Promise<void> {
  riseAboveOthers();
  // Ctrl-C reaches every process of the terminal; the profiled one decides what it means.
  process.on('SIGINT', () => undefined);
  const [pid, interval] = process.argv.slice(2).map(Number);
  const sampler = new Sampler(await processTree(pid!), interval!);
  // One command after the other: a stop waits for the sample that is being taken.
  let turn = Promise.resolve();
  const lines = createInterface({ input: process.stdin });
  lines.on('line', line => {
    const { what, number } = JSON.parse(line) as SamplerCommand;
    turn = turn.then(() => sampler[what](number)).catch(fail);
  });
  lines.on('close', () => process.exit(0));
}

main().catch(fail);
