import { TABLES, type TableName } from '../../records/tables';
import type { BlockRows } from './column-table';

/** No log lasts 30 years: a time beyond that is broken, and would stretch every axis and every walk over time. */
const MOST_SECONDS = 1e9;

/** Times that every row has. */
const TIMES: Partial<Record<TableName, readonly string[]>> = {
  header: ['t'],
  spans: ['opened'],
  workers: ['joined'],
  clients: ['joined'],
  capacity: ['t'],
  runs: ['start'],
  running: ['started'],
  fine: ['second'],
  samples: ['second'],
  memory: ['t'],
  stored: ['t'],
  memoryRuns: ['interval', 'start'],
  memorySamples: ['t'],
  transfers: ['start'],
  system: ['t', 'seconds'],
  clocks: ['t', 'offset', 'within'],
  events: ['t'],
  gaps: ['from', 'to'],
  givenUp: ['started', 't'],
  waiting: ['t'],
  unplaced: ['t'],
  progress: ['t']
};
/** Times and durations; NaN: not known, or not over yet. */
const TIMES_OR_NAN: Partial<Record<TableName, readonly string[]>> = {
  spans: ['closed'],
  workers: ['left'],
  lanes: ['since'],
  clients: ['left'],
  nodes: ['submitted'],
  runs: ['duration', 'waitReady', 'waitInputs', 'waitThread', 'cpu'],
  parts: ['offset', 'duration', 'cpu', 'coreWait'],
  meters: ['cpu'],
  memoryRuns: ['stopped'],
  transfers: ['duration']
};
/**
 * Sizes and sums; NaN: not known. They are added up, and an infinite one would stay in the sum for good. Numbers of threads are as large as
 * addresses, and must be numbers too.
 */
const AMOUNTS: Partial<Record<TableName, readonly string[]>> = {
  workers: ['memoryLimit'],
  lanes: ['ident'],
  runs: ['nbytes'],
  parts: ['bytes'],
  fine: ['value'],
  meters: ['value'],
  totals: ['value'],
  memory: ['process', 'managed', 'spilled', 'unmanagedOld'],
  stored: ['change'],
  memorySamples: ['bytes'],
  transfers: ['bytes'],
  system: [
    'cpu',
    'memory',
    'netRead',
    'netWrite',
    'diskRead',
    'diskWrite',
    'hostDiskRead',
    'hostDiskWrite',
    'loopInterval'
  ],
  clocks: ['drift']
};
/** 2^80: more bytes or nanoseconds than there can be, and few enough that sums stay finite. */
const MOST_AMOUNT = 2 ** 80;

/** A block can be read, but its values are impossible. */
export class ImplausibleBlock extends Error {
  override readonly name = 'ImplausibleBlock';
}

/** Why a block is impossible, or undefined. Asked before anything of the block is taken in. */
export function implausible(block: BlockRows): string | undefined {
  return (
    beyond(block, TIMES[block.table], MOST_SECONDS, false) ??
    beyond(block, TIMES_OR_NAN[block.table], MOST_SECONDS, true) ??
    beyond(block, AMOUNTS[block.table], MOST_AMOUNT, true)
  );
}

function beyond(
  block: BlockRows,
  names: readonly string[] | undefined,
  most: number,
  isNanFine: boolean
): string | undefined {
  for (const name of names ?? []) {
    const column = block.columns[name]!;
    for (let i = 0; i < block.rows; i++) {
      const value = column[i]!;
      // Written so that NaN is beyond.
      if (
        !(value <= most && value >= -most) &&
        !(isNanFine && Number.isNaN(value))
      ) {
        return `row ${i} of table ${block.table} (${TABLES[block.table].number}) says ${name} = ${value}`;
      }
    }
  }
  return undefined;
}
