import { compileFilter } from './filter';
import type { Slices } from './folds/context';
import { ingestBlock } from './store/ingest';
import type { BlockRows } from './store/ingest';
import { LogStore } from './store/log-store';
import { pageSeconds, Pyramid } from './tiles/pyramid';
import { makeTile } from './tiles/tile';

const BLOCKS = 24;
const ROWS = 1024;
const LANES = 4;
/** Of a run, in seconds; every 16th is a hundred times as long, so that both kinds of boxes are drawn. */
const DURATION = 4e-4;

/**
 * Takes in and draws a throw-away log, so that the first tile that somebody waits for is drawn by compiled code: a million runs then take
 * 130 ms instead of 260. Costs some 80 ms when nobody waits.
 */
export function* warmUp(): Slices<void> {
  const log = new LogStore('warm-up');
  for (let block = 0; block < BLOCKS; block++) {
    ingestBlock(log, runsBlock(block));
    yield;
  }
  const level = Math.ceil(Math.log2(log.lastStop / pageSeconds(0)));
  for (const filter of [{}, { workers: [1] }, { status: ['ok' as const] }]) {
    for (let zoom = 0; zoom < 6; zoom++) {
      const pyramid = new Pyramid(log, compileFilter(filter, log));
      yield* makeTile(log, pyramid, Math.max(0, level - zoom), 0, Infinity);
    }
  }
}

function runsBlock(block: number): BlockRows {
  const columns = {
    run: new Uint32Array(ROWS),
    node: new Uint32Array(ROWS),
    function: new Uint32Array(ROWS),
    span: new Uint16Array(ROWS),
    lane: new Uint16Array(ROWS),
    status: new Uint8Array(ROWS),
    attempt: new Uint8Array(ROWS),
    start: new Float64Array(ROWS),
    duration: new Float32Array(ROWS),
    waitReady: new Float32Array(ROWS),
    waitInputs: new Float32Array(ROWS),
    waitThread: new Float32Array(ROWS),
    cpu: new Float32Array(ROWS),
    outBytes: new Float32Array(ROWS)
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
    seq: block + 1,
    table: 'runs',
    rows: ROWS,
    columns,
    text: new Uint8Array(0)
  };
}
