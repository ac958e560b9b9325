import { TABLES, type TableName } from '../../records/tables';
import { DEFAULT_PAGES } from './id-index';

/** What an observer may keep of all logs together, unless it is told otherwise. */
export const DEFAULT_BUDGET_BYTES = 2 ** 30;
/** What one log takes whose tables are all full, at the bounds of `records/tables.ts`, indices and totals included. */
const FULL_LOG_BYTES = 0.6 * 2 ** 30;
/** Rows have numbers of 32 bits. */
const MOST_TIMES = 500;

/** Tables with rows for each task, or for each stretch of time. */
const GROWING = [
  'nodes',
  'edges',
  'runs',
  'parts',
  'fine',
  'meters',
  'totals',
  'stacks',
  'frames',
  'samples',
  'memory',
  'stored',
  'memorySamples',
  'transfers',
  'system',
  'events'
] as const satisfies readonly TableName[];
type GrowingTable = (typeof GROWING)[number];

/** Rows that a log's tables keep; the bounds of the record log where nothing is said. */
export type StoreBounds = { readonly [T in GrowingTable]?: number } & {
  /** Pages of 4,096 ids of each index. */
  readonly pages?: number;
  /** Spans with a row of their own. */
  readonly spans?: number;
};

/**
 * The bounds of a log's tables: those of the record log, and more of them for what the budget is above the default.
 *
 *     budget   1 GiB   1.6 GiB   4 GiB
 *     runs     2 M     4 M       12 M
 */
export function boundsFor(budgetBytes: number): StoreBounds {
  const more = Math.max(0, budgetBytes - DEFAULT_BUDGET_BYTES);
  const times = Math.min(MOST_TIMES, 1 + more / FULL_LOG_BYTES);
  const rows = GROWING.map(
    name => [name, Math.floor(TABLES[name].bound.rows * times)] as const
  );
  return {
    ...(Object.fromEntries(rows) as Record<GrowingTable, number>),
    pages: Math.ceil(DEFAULT_PAGES * times)
  };
}
