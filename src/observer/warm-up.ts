import { PartKind } from '../records/enumerations';
import type { Filter } from '../wire/panel-link';
import { compileFilter } from './filter';
import type { Slices } from './folds/context';
import { ingestBlock } from './store/ingest';
import type { BlockRows } from './store/column-table';
import { LogStore } from './store/log-store';
import { pageSeconds, Pyramid } from './tiles/pyramid';
import { makeTile } from './tiles/tile';

const BLOCKS = 24;
const ROWS = 1024;
const LANES = 4;
/** Seconds of a run; every 16th is a hundred times as long, so that both kinds of boxes are drawn. */
const DURATION = 4e-4;

/**
 * One for each way that tiles are drawn. Compiled code that meets a branch for the first time is discarded and compiled again while the
 * user waits: without the last of these filters, the first tile by function or span took half as long again.
 */
export const WARM_UP_FILTERS: readonly Filter[] = [
  {},
  { workers: [1] },
  { status: ['ok'] },
  { notFunctions: ['warm-up'] }
];

/**
 * Takes in and draws a throw-away log, so that compiled code draws the first tile that a user waits for: a million runs then take
 * 130 ms instead of 260. Costs some 140 ms while no user waits.
 */
export function* warmUp(): Slices<void> {
  const log = new LogStore('warm-up');
  for (const block of warmUpBlocks()) {
    ingestBlock(log, block);
    yield;
  }
  const level = Math.ceil(Math.log2(log.lastStop / pageSeconds(0)));
  for (const filter of WARM_UP_FILTERS) {
    for (let zoom = 0; zoom < 6; zoom++) {
      const pyramid = new Pyramid(log, compileFilter(filter, log));
      yield* makeTile(log, pyramid, Math.max(0, level - zoom), 0, Infinity);
    }
  }
}

export function* warmUpBlocks(): Generator<BlockRows, void> {
  for (let block = 0; block < BLOCKS; block++) {
    yield partsBlock(block);
    yield runsBlock(block);
  }
}

/** One of every 16 runs waits for a transfer, and one is fused of two tasks. */
function partsBlock(block: number): BlockRows {
  const rows = (ROWS / 16) * 3;
  const columns = {
    run: new Uint32Array(rows),
    kind: new Uint8Array(rows),
    held: new Uint8Array(rows).fill(1),
    function: new Uint32Array(rows),
    span: new Uint32Array(rows),
    from: new Uint16Array(rows),
    offset: new Float32Array(rows),
    duration: new Float32Array(rows).fill(DURATION / 3),
    cpu: new Float32Array(rows),
    coreWait: new Float32Array(rows),
    bytes: new Float32Array(rows)
  };
  for (let i = 0; i < rows; i++) {
    const isTransfer = i % 3 === 0;
    const run = block * ROWS + Math.floor(i / 3) * 16 + (isTransfer ? 4 : 12);
    columns.run[i] = run;
    columns.kind[i] = isTransfer ? PartKind.Transfer : PartKind.Compute;
    // The last part is of the run's own function.
    columns.function[i] = (run + (i % 3 === 1 ? 1 : 0)) % 7;
    columns.offset[i] = ((i % 3) * DURATION) / 3;
  }
  return {
    seq: 2 * block + 1,
    table: 'parts',
    rows,
    columns,
    text: new Uint8Array(0)
  };
}

function runsBlock(block: number): BlockRows {
  const columns = {
    run: new Uint32Array(ROWS),
    node: new Uint32Array(ROWS),
    function: new Uint32Array(ROWS),
    span: new Uint32Array(ROWS),
    lane: new Uint16Array(ROWS),
    status: new Uint8Array(ROWS),
    attempt: new Uint8Array(ROWS),
    start: new Float64Array(ROWS),
    duration: new Float32Array(ROWS),
    waitReady: new Float32Array(ROWS),
    waitInputs: new Float32Array(ROWS),
    waitThread: new Float32Array(ROWS),
    cpu: new Float32Array(ROWS),
    nbytes: new Float64Array(ROWS),
    type: new Uint32Array(ROWS)
  };
  for (let i = 0; i < ROWS; i++) {
    const run = block * ROWS + i;
    columns.run[i] = run;
    columns.node[i] = run;
    columns.function[i] = run % 7;
    columns.lane[i] = run % LANES;
    columns.start[i] = Math.floor(run / LANES) * DURATION;
    columns.duration[i] = run % 16 === 0 ? DURATION * 100 : DURATION * 0.9;
    columns.cpu[i] = DURATION / 2;
  }
  return {
    seq: 2 * block + 2,
    table: 'runs',
    rows: ROWS,
    columns,
    text: new Uint8Array(0)
  };
}
