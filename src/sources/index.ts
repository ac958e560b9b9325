/** The public face of the sources. */
export {
  CapacityState,
  EmbeddedClusterLog,
  type JoinedWorker,
  type SpanRow
} from './embedded-cluster';
export {
  LAST_SPAN,
  LocalLog,
  type LocalNode,
  type LocalRun,
  type LocalWorker
} from './local-log';
export type { MeasuredTable } from './measured-log';
export { NamesOf } from './names-of';
export { StoredKind } from './stored-sums';
export type { TaskFacts } from './task-facts';
