import type { TableName } from '../records/tables';
import type { ViewName } from '../wire/panel-link';
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
  'running'
];

/** The tables that each view looks at: a watch is answered again only when one of them has new rows. */
const TABLES_OF_VIEW: Readonly<Record<ViewName, readonly TableName[]>> = {
  spans: WORK,
  summary: WORK,
  'task-stream': [...WORK, 'gaps', 'clocks'],
  tasks: ['runs', 'parts', 'events'],
  records: ['runs', 'parts', 'events'],
  'fine-metrics': [...WORK, 'fine', 'meters'],
  profile: ['samples', 'spans', 'clients'],
  memory: ['memory', 'stored', 'memoryRuns', 'memorySamples', 'workers'],
  transfers: ['transfers', 'workers'],
  system: ['system', 'workers']
};

/** Stays equal as long as the view's answer does. */
export function viewVersion(log: LogStore, view: ViewName): string {
  return TABLES_OF_VIEW[view]
    .map(table => log.blocks.get(table) ?? 0)
    .join('.');
}
