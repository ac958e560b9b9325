/** What the system counts for the scheduler's own process, as workers tell it of theirs (`spanwise/measure/system.py`). In the scheduler process. */
import { readdirSync, readFileSync, existsSync, statSync } from 'node:fs';
import { NONE_U32 } from '../../records/enumerations';
import type { SystemUse } from './worker-session';

/** Between rows while there are tasks, and else. */
const BUSY_SECONDS = 0.5;
/**
 * Workers without work look at multiples of this of the machine's clock (RESTING_MEMORY_SECONDS of `spanwise/worker/watch.py`). A row that
 * comes just behind theirs leaves with them, and the observer does not wake for it alone.
 */
const RESTING_SECONDS = 2;
const BEHIND_SECONDS = 0.02;
/** Less than this since the last row says too little of how fast anything went. */
const LEAST_SECONDS = 0.05;
const SECTOR_BYTES = 512;
const BLOCKS = '/sys/block';

type Bytes = readonly [read: number, written: number];
type Devices = ReadonlyMap<string, Bytes>;
const NOT_TOLD: Bytes = [NaN, NaN];

/** What is counted from a beginning on. */
type Counts = {
  readonly t: number;
  /** Seconds. */
  readonly cpu: number;
  readonly disk: Devices;
  readonly net: ReadonlyMap<string, Bytes>;
  readonly hostDisk: ReadonlyMap<string, Bytes>;
};

/** Looks by a timer of its own: no turn of the scheduler waits for files. */
export class OwnSystem {
  private _before: Counts;
  private _timer: NodeJS.Timeout | undefined;

  /**
   * @param _isBusy - whether there are tasks to be done.
   * @param _take - gets each row.
   */
  constructor(
    private readonly _clock: () => number,
    private readonly _isBusy: () => boolean,
    private readonly _take: (row: SystemUse) => void
  ) {
    this._before = counted(_clock());
    this._goOn();
  }

  close(): void {
    clearTimeout(this._timer);
  }

  /** A row up to now, unless there has just been one. */
  look(): void {
    const before = this._before;
    const after = counted(this._clock());
    const seconds = after.t - before.t;
    if (seconds < LEAST_SECONDS) {
      return;
    }
    this._before = after;
    const [diskRead, diskWrite] = rates(before.disk, after.disk, seconds);
    const [netRead, netWrite] = rates(before.net, after.net, seconds);
    const [hostDiskRead, hostDiskWrite] = rates(
      before.hostDisk,
      after.hostDisk,
      seconds
    );
    this._take({
      t: after.t,
      seconds,
      cpu: (100 * (after.cpu - before.cpu)) / seconds,
      memory: process.memoryUsage.rss(),
      fds: openDescriptors(),
      netRead,
      netWrite,
      diskRead,
      diskWrite,
      hostDiskRead,
      hostDiskWrite
    });
  }

  private _goOn(): void {
    const seconds = this._isBusy()
      ? BUSY_SECONDS
      : restingSeconds(Number(process.hrtime.bigint()) * 1e-9);
    this._timer = setTimeout(() => {
      this.look();
      this._goOn();
    }, seconds * 1000).unref();
  }
}

/** Seconds from `now` until the next row of a scheduler without tasks; by the monotonic clock, which on Linux is that of Python's `perf_counter`. */
export function restingSeconds(now: number): number {
  // (a timer may be a little early)
  const last = Math.floor((now - BEHIND_SECONDS / 2) / RESTING_SECONDS);
  return (last + 1) * RESTING_SECONDS + BEHIND_SECONDS - now;
}

function counted(t: number): Counts {
  const { user, system } = process.cpuUsage();
  const io = new Map(
    linesOf('/proc/self/io').map(line => {
      const [name, value] = line.split(':');
      return [name, Number(value ?? NaN)] as const;
    })
  );
  return {
    t,
    cpu: (user + system) * 1e-6,
    disk: new Map([
      ['', [io.get('read_bytes') ?? NaN, io.get('write_bytes') ?? NaN]]
    ]),
    net: tableOf('/proc/net/dev', ofInterface),
    hostDisk: tableOf('/proc/diskstats', ofDisk)
  };
}

/** Bytes a second of all devices that were there both times; a count that fell began anew. */
function rates(before: Devices, after: Devices, seconds: number): Bytes {
  let [read, written, known] = [0, 0, 0];
  for (const [name, now] of after) {
    const then = before.get(name);
    if (then !== undefined) {
      read += Math.max(now[0] - then[0], 0);
      written += Math.max(now[1] - then[1], 0);
      known++;
    }
  }
  return known === 0 ? NOT_TOLD : [read / seconds, written / seconds];
}

/** Open descriptors of this process; none: not told. */
function openDescriptors(): number {
  try {
    // Since Linux 6.2 it is the folder's size; before that it has to be listed, by one descriptor more.
    return (
      statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length - 1
    );
  } catch {
    return NONE_U32; // not Linux
  }
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'latin1').split('\n');
  } catch {
    return []; // not Linux
  }
}

function tableOf(
  file: string,
  read: (line: string) => readonly [name: string, bytes: Bytes] | null
): Devices {
  return new Map(
    linesOf(file)
      .map(read)
      .filter(row => row !== null)
  );
}

/** `name: received, 7 others, sent, …` */
function ofInterface(line: string): readonly [string, Bytes] | null {
  const [name, rest] = line.split(':');
  const fields = rest?.trim().split(/\s+/);
  return fields === undefined
    ? null
    : [name!.trim(), [Number(fields[0]), Number(fields[8])]];
}

/** Whole disks: neither their partitions nor what lies on others, whose bytes are theirs. */
let disks: ReadonlySet<string> | null = null;

/** `major minor name reads merged sectors ms writes merged sectors …` */
function ofDisk(line: string): readonly [string, Bytes] | null {
  disks ??= new Set(
    existsSync(BLOCKS)
      ? readdirSync(BLOCKS).filter(name =>
          existsSync(`${BLOCKS}/${name}/device`)
        )
      : []
  );
  const fields = line.trim().split(/\s+/);
  const name = fields[2] ?? '';
  return disks.has(name)
    ? [
        name,
        [fields[5], fields[9]].map(
          n => Number(n) * SECTOR_BYTES
        ) as unknown as Bytes
      ]
    : null;
}
