/**
 * Logs of real runs, recorded by `python -m benchmarks.recorded_faults`: retries, results that were lost, workers that were killed and replaced,
 * spilling, tasks that leave their thread, and spans in spans.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ingestBlock } from '../observer/store/ingest';
import { LogStore } from '../observer/store/log-store';
import type { TableName } from '../records/tables';
import { rowsToBlock, type Row } from './rows-to-block';

export const RECORDED = [
  'retried',
  'recomputed',
  'killed',
  'spilled',
  'replaced',
  'seceded',
  'mixed'
] as const;

type Interval = readonly [from: number, to: number];

/** Columns by name; null is NaN, which JSON has not. */
type Columns = Readonly<Record<string, readonly (number | string | null)[]>>;
type RecordedFile = {
  readonly waits: readonly Interval[];
  readonly bodies: readonly (readonly [pid: number, ...Interval])[];
  readonly blocks: readonly (readonly [TableName, Columns])[];
};

/** Seconds are of the log's clock. */
export type RecordedRun = {
  readonly log: LogStore;
  readonly rows: Readonly<Partial<Record<TableName, readonly Row[]>>>;
  /** When the program waited for tasks, by stamps of its own around that. */
  readonly waits: readonly Interval[];
  /** When each task's body ran and in which process, by stamps in the task. */
  readonly bodies: RecordedFile['bodies'];
};

export function recordedRun(name: (typeof RECORDED)[number]): RecordedRun {
  const file = JSON.parse(
    readFileSync(join(__dirname, 'recorded-runs', `${name}.json`), 'utf8')
  ) as RecordedFile;
  const log = new LogStore(name);
  const rows: Partial<Record<TableName, Row[]>> = {};
  file.blocks.forEach(([table, columns], i) => {
    const block = rowsOf(columns);
    ingestBlock(log, rowsToBlock(i + 1, table, block));
    (rows[table] ??= []).push(...block);
  });
  return { log, rows, waits: file.waits, bodies: file.bodies };
}

function rowsOf(columns: Columns): Row[] {
  const names = Object.keys(columns);
  const count = columns[names[0]!]!.length;
  return Array.from({ length: count }, (_, i) =>
    Object.fromEntries(names.map(name => [name, columns[name]![i] ?? NaN]))
  );
}
