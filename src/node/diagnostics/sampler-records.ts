/**
 * What the sampler writes into the file that it shares with the profiled process. A file, because it can be read while that process is busy
 * in one long call: records of four float64 each.
 *
 * ```
 *   kind     at              a               b
 *   SAMPLE   clock, seconds  resident bytes  % of one core
 *   READY    clock, seconds  command number  0         counters are primed, samples follow
 *   STOPPED  clock, seconds  command number  0         no more samples until the next command
 * ```
 *
 * The clock is the system's monotonic one (`process.hrtime`), the same in all processes.
 */
export const RECORD_BYTES = 32;

export const SAMPLE = 1;
export const READY = 2;
export const STOPPED = 3;

export type SamplerRecord = {
  readonly kind: number;
  readonly at: number;
  readonly a: number;
  readonly b: number;
};

export function encodedRecord({ kind, at, a, b }: SamplerRecord): Uint8Array {
  return new Uint8Array(Float64Array.of(kind, at, a, b).buffer);
}

/** @returns the whole records in `bytes`; a record that is only half there is left for later */
export function decodedRecords(bytes: Uint8Array): SamplerRecord[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isLittle = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
  const records: SamplerRecord[] = [];
  for (
    let offset = 0;
    offset + RECORD_BYTES <= bytes.byteLength;
    offset += RECORD_BYTES
  ) {
    const field = (index: number) =>
      view.getFloat64(offset + 8 * index, isLittle);
    records.push({ kind: field(0), at: field(1), a: field(2), b: field(3) });
  }
  return records;
}

/** Commands, one per line on the sampler's standard input; its end ends the sampler. */
export type SamplerCommand = {
  readonly what: 'collect' | 'stop';
  /** Comes back in READY and STOPPED. */
  readonly number: number;
};

/** Seconds of the clock in the records. */
export function monotonicSeconds(): number {
  return Number(process.hrtime.bigint()) / 1e9;
}
