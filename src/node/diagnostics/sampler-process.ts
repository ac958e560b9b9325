/**
 * The profiled process's end of the sampler. Everything here returns at once or waits, with a limit, without the event loop: a profiled run
 * may be one long synchronous call, and its records are wanted when that call is over.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programFile } from '../program-files';
import { isMissing } from './missing-file';
import {
  decodedRecords,
  READY,
  RECORD_BYTES,
  SAMPLE,
  type SamplerCommand,
  type SamplerRecord,
  STOPPED
} from './sampler-records';

/** How long an answer of a process that lives may take. Node starts in 0.05 s, on a busy machine in far more. */
const LIMIT_SECONDS = 60;

/**
 * The sampler of a {@link ResourceProfiler} could not be started, has ended, or does not answer. It is thrown when the profiler is entered;
 * later a warning says so, and the run goes on.
 *
 * @group Errors
 * @example
 * ```ts
 * import { ResourceProfiler, SamplerError } from 'spanwise';
 *
 * function profiled<T>(body: () => T): T {
 *   try {
 *     return new ResourceProfiler().run(body);
 *   } catch (error) {
 *     if (error instanceof SamplerError) {
 *       console.warn(`Not profiled: ${error.message}`);
 *       return body();
 *     }
 *     throw error;
 *   }
 * }
 * console.log(profiled(() => 6 * 7)); // → 42
 * ```
 */
export class SamplerError extends Error {
  /** The class's name. */
  override readonly name = 'SamplerError';
}

export class SamplerProcess {
  private readonly _child: ChildProcess;
  private readonly _file: number;
  private readonly _folder: string;
  private _offset = 0;
  private _commands = 0;
  private _isClosed = false;
  private readonly _samples: SamplerRecord[] = [];

  /** @throws SamplerError if no process can be started. */
  constructor(intervalSeconds: number) {
    this._folder = mkdtempSync(join(tmpdir(), 'spanwise-sampler-'));
    const path = join(this._folder, 'records');
    this._file = openSync(path, 'wx+', 0o600);
    try {
      this._child = startSampler(intervalSeconds, this._file);
    } catch (error) {
      closeSync(this._file);
      this._removeFolder();
      throw new SamplerError(
        `The process that samples CPU and memory could not be started (${(error as Error).message}).`,
        { cause: error }
      );
    }
    // The next request reports it, since it finds nobody there.
    this._child.on('error', () => this._forget());
    // Without descriptors left there is no pipe to it.
    this._child.stdin?.on('error', () => this._forget());
    if (this._child.pid === undefined) {
      this.close();
      throw new SamplerError(`${process.execPath} could not be started.`);
    }
    // It must not keep the program alive; its lifeline ends with the program.
    this._child.unref();
    (this._child.stdin as unknown as { unref(): void }).unref();
    if (process.platform !== 'win32') {
      // Both ends have it open; without a name it is gone with them, whatever happens.
      this._removeFolder();
    }
  }

  get isAlive(): boolean {
    return !this._isClosed && isRunning(this._child.pid!);
  }

  /** @returns when CPU counters are primed and samples are being taken. @throws SamplerError */
  collect(): void {
    this._samples.length = 0;
    this._await(this._send('collect'), READY);
  }

  /** @returns the samples since `collect`, however that ended. */
  stop(): { samples: readonly SamplerRecord[]; problem: SamplerError | null } {
    let problem: SamplerError | null = null;
    try {
      this._await(this._send('stop'), STOPPED);
    } catch (error) {
      if (!(error instanceof SamplerError)) {
        throw error;
      }
      problem = error;
    }
    return { samples: this._samples.splice(0), problem };
  }

  /** Twice is safe. */
  close(): void {
    if (!this._isClosed) {
      this._isClosed = true;
      this._child.stdin?.end();
      closeSync(this._file);
      this._removeFolder();
    }
  }

  private _forget(): void {
    this._child.stdin?.destroy();
  }

  private _send(what: SamplerCommand['what']): number {
    const number = ++this._commands;
    if (this.isAlive) {
      // Goes into the pipe at once, without the event loop.
      this._child.stdin!.write(`${JSON.stringify({ what, number })}\n`);
    }
    return number;
  }

  /** Waits until the record `kind` of command `number` is in the file, and keeps the samples on the way. */
  private _await(number: number, kind: number): void {
    const end = performance.now() + 1000 * LIMIT_SECONDS;
    for (;;) {
      // Asked before reading, so that records written before the end are still read.
      const isAlive = this.isAlive;
      let isAnswered = false;
      // Samples behind the answer too: they are not read again.
      for (const record of this._newRecords()) {
        if (record.kind === SAMPLE) {
          this._samples.push(record);
        } else if (record.kind === kind && record.a === number) {
          isAnswered = true;
        }
      }
      if (isAnswered) {
        return;
      }
      if (!isAlive) {
        throw new SamplerError(
          'The process that samples CPU and memory has ended.'
        );
      }
      if (performance.now() > end) {
        throw new SamplerError(
          `The process that samples CPU and memory has not answered for ${LIMIT_SECONDS} s.`
        );
      }
      sleep(1);
    }
  }

  private _newRecords(): SamplerRecord[] {
    if (this._isClosed) {
      return [];
    }
    const whole =
      Math.floor(fstatSync(this._file).size / RECORD_BYTES) * RECORD_BYTES;
    const bytes = new Uint8Array(whole - this._offset);
    const read = readSync(this._file, bytes, 0, bytes.length, this._offset);
    this._offset += read;
    return decodedRecords(bytes.subarray(0, read));
  }

  private _removeFolder(): void {
    rmSync(this._folder, { recursive: true, force: true });
  }
}

function startSampler(intervalSeconds: number, file: number): ChildProcess {
  // Options for this process (inspector, loaders) are not meant for the sampler.
  const env = { ...process.env };
  delete env['NODE_OPTIONS'];
  return spawn(
    process.execPath,
    [programFile('sampler.mjs'), String(process.pid), String(intervalSeconds)],
    {
      stdio: ['pipe', 'ignore', 'inherit', file],
      env,
      windowsHide: true
    }
  );
}

/** A process that has ended stays known to the system until the event loop has heard of it; on Linux it can be asked whether it is one. */
function isRunning(pid: number): boolean {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      return !/^.*\) [ZX] /s.test(stat);
    } catch (error) {
      if (isMissing(error)) {
        return false;
      }
      throw error;
    }
  }
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if (isMissing(error)) {
      return false;
    }
    throw error;
  }
}

function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
