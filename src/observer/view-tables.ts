import type { TableName } from '../records/tables';
import type { TimeRange, ViewName } from '../wire/panel-link';
import type { LogStore } from './store/log-store';

const WORK: readonly TableName[] = [
  'clients',
  'spans',
  'workers',
  'lanes',
  'capacity',
  'nodes',
  'runs',
  'parts',
  'running',
  'givenUp'
];

/** What names spans, and whose and where something ran; and what filters look at. */
const NAMES: readonly TableName[] = ['clients', 'spans', 'workers', 'lanes'];

/**
 * The tables that each view looks at: without new rows of one of them only time changes the answer. But the Task Stream's memory of workers
 * is as new as the rest of its answer: rows of `memory` come all the time, also while no task runs. (The panel has it from the list of
 * clusters.)
 */
const TABLES_OF_VIEW: Readonly<Record<ViewName, readonly TableName[]>> = {
  spans: [...WORK, 'progress'],
  summary: [...WORK, 'progress'],
  'task-stream': [...WORK, 'gaps', 'clocks'],
  tasks: [...NAMES, 'runs', 'parts', 'events'],
  records: [...NAMES, 'runs', 'parts', 'events'],
  'fine-metrics': [...WORK, 'fine', 'meters'],
  // What ran tells what share of the samples waited for the interpreter lock, and how often a busy thread was sampled.
  profile: [...NAMES, 'samples', 'fine', 'runs', 'parts', 'running'],
  memory: [...NAMES, 'memory', 'stored', 'memoryRuns', 'memorySamples'],
  transfers: ['transfers', 'workers'],
  system: ['system', 'workers'],
  // Of a source that does not tell, what ran.
  progress: [...WORK, 'progress']
};

/** Views that tell how long tasks have been running. */
const GROWING: ReadonlySet<ViewName> = new Set([
  'spans',
  'summary',
  'task-stream',
  'fine-metrics'
]);

/**
 * Whether an answer changes while tasks run that write no row.
 *
 * @param countsTo - up to when it counts, in seconds since the cluster's start.
 */
export function changesByTime(
  view: ViewName,
  time: TimeRange,
  countsTo: number
): boolean {
  if (time !== 'all' && 'last' in time) {
    return true;
  }
  // The others tell of the whole run, whatever range is asked for.
  const isOver =
    view === 'fine-metrics' && time !== 'all' && time.to <= countsTo;
  return GROWING.has(view) && !isOver;
}

/** Stays equal as long as the view's answer does, as far as {@link changesByTime} does not say otherwise. */
export function viewVersion(log: LogStore, view: ViewName): string {
  return TABLES_OF_VIEW[view]
    .map(table => log.blocks.get(table) ?? 0)
    .join('.');
}
