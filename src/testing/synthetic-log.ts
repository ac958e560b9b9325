import { PartKind, RunStatus, TaskOrigin } from '../records/enumerations';
import type { BlockRows } from '../observer/store/column-table';
import { SeededRandom } from '../base/seeded-random';
import { rowsToBlock } from './rows-to-block';

type SyntheticOptions = {
  readonly runs: number;
  readonly workers: number;
  readonly threadsPerWorker: number;
  readonly functions: number;
  readonly spans: number;
  readonly meanMilliseconds: number;
  /** Share of runs with a held transfer part and a serialise part. */
  readonly partsShare: number;
  /** 0.001 if left out. */
  readonly failedShare?: number;
  /** Those that fail take no more than that; as long as others if left out. */
  readonly failedMilliseconds?: number;
  readonly seed?: number;
};

/** As many as fill 64 KiB: smaller blocks than a busy scheduler seals, so that there are many. */
const RUNS_PER_BLOCK = 1200;

/**
 * A busy cluster as a log: every thread runs one task after another, with small gaps, in random spans and functions. Blocks as a source
 * would write them, in the order of the runs' stops.
 */
export function* syntheticLog(
  options: SyntheticOptions
): Generator<BlockRows, void> {
  const random = new SeededRandom(options.seed ?? 1);
  const lanes = options.workers * options.threadsPerWorker;
  let seq = 0;
  yield* syntheticHead(options, () => ++seq);
  const free = new Float64Array(lanes);
  for (let first = 0; first < options.runs; first += RUNS_PER_BLOCK) {
    const count = Math.min(RUNS_PER_BLOCK, options.runs - first);
    const block = emptyRuns(count);
    const nodes = emptyNodes(count);
    const parts: Record<string, number>[] = [];
    for (let i = 0; i < count; i++) {
      const lane = (first + i) % lanes;
      const run = first + i;
      const duration =
        (options.meanMilliseconds / 1000) * (0.1 - Math.log(1 - random.next()));
      const start = free[lane]! + 2e-5 * random.next();
      free[lane] = start + duration;
      const fn = random.below(options.functions) + 1;
      const span = random.below(options.spans + 1);
      nodes.node[i] = run;
      nodes.group[i] = fn;
      nodes.function[i] = fn;
      nodes.span[i] = span;
      nodes.origin[i] = TaskOrigin.User;
      block.run[i] = run;
      block.node[i] = run;
      block.function[i] = fn;
      block.span[i] = span;
      block.lane[i] = lane;
      block.start[i] = start;
      block.duration[i] = duration;
      block.waitReady[i] = start / 2;
      block.waitInputs[i] = start / 4;
      block.waitThread[i] = start / 4;
      block.cpu[i] = duration * 0.9;
      const isFailed = random.chance(options.failedShare ?? 0.001);
      block.status[i] = isFailed ? RunStatus.Failed : RunStatus.Ok;
      if (isFailed) {
        const most = (options.failedMilliseconds ?? Infinity) / 1000;
        block.duration[i] = Math.min(duration, most);
      }
      if (random.chance(options.partsShare)) {
        const common = { run, held: 1, function: fn, span, from: 1 };
        parts.push(
          {
            ...common,
            kind: PartKind.Deserialize,
            offset: 0,
            duration: duration * 0.1,
            bytes: 8
          },
          {
            ...common,
            kind: PartKind.Compute,
            offset: duration * 0.1,
            duration: duration * 0.8,
            cpu: duration * 0.7
          }
        );
      }
    }
    const suffixes = suffixText(first, count);
    yield {
      seq: ++seq,
      table: 'nodes',
      rows: count,
      columns: { ...nodes, suffix: suffixes.ends },
      text: suffixes.bytes
    };
    if (parts.length > 0) {
      yield rowsToBlock(++seq, 'parts', parts);
    }
    yield {
      seq: ++seq,
      table: 'runs',
      rows: count,
      columns: block,
      text: new Uint8Array(0)
    };
  }
}

function* syntheticHead(
  options: SyntheticOptions,
  next: () => number
): Generator<BlockRows, void> {
  const names = [];
  for (let id = 1; id <= options.functions; id++) {
    names.push({ id, text: `function_${id}` });
  }
  for (let span = 1; span <= options.spans; span++) {
    names.push({ id: 10_000 + span, text: `span ${span}` });
  }
  yield rowsToBlock(next(), 'names', names);
  const spans = [];
  for (let id = 1; id <= options.spans; id++) {
    spans.push({
      id,
      parent: id >> 1,
      tag: 10_000 + id,
      opened: 0,
      closed: NaN
    });
  }
  yield rowsToBlock(next(), 'spans', spans);
  const workers = [];
  const lanes = [];
  for (let worker = 0; worker < options.workers; worker++) {
    workers.push({
      worker,
      threads: options.threadsPerWorker,
      joined: 0,
      left: NaN,
      memoryLimit: 2 ** 32,
      name: String(worker)
    });
    for (let thread = 0; thread < options.threadsPerWorker; thread++) {
      lanes.push({ lane: lanes.length, worker, thread });
    }
  }
  yield rowsToBlock(next(), 'workers', workers);
  yield rowsToBlock(next(), 'lanes', lanes);
}

function emptyRuns(count: number) {
  return {
    run: new Uint32Array(count),
    node: new Uint32Array(count),
    function: new Uint32Array(count),
    span: new Uint32Array(count),
    lane: new Uint16Array(count),
    status: new Uint8Array(count),
    attempt: new Uint8Array(count),
    start: new Float64Array(count),
    duration: new Float32Array(count),
    waitReady: new Float32Array(count),
    waitInputs: new Float32Array(count),
    waitThread: new Float32Array(count),
    cpu: new Float32Array(count),
    nbytes: new Float64Array(count),
    type: new Uint32Array(count)
  };
}

function emptyNodes(count: number) {
  return {
    node: new Uint32Array(count),
    group: new Uint32Array(count),
    function: new Uint32Array(count),
    span: new Uint32Array(count),
    origin: new Uint8Array(count),
    submitted: new Float64Array(count),
    firstEdge: new Uint32Array(count)
  };
}

function suffixText(
  first: number,
  count: number
): { ends: Uint32Array; bytes: Uint8Array } {
  const ends = new Uint32Array(count);
  let text = '';
  for (let i = 0; i < count; i++) {
    text += `-${first + i}`;
    ends[i] = text.length;
  }
  return { ends, bytes: new TextEncoder().encode(text) };
}
