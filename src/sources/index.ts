/** The public face of the sources. */
export { CapacityState, EmbeddedClusterLog } from './embedded-cluster';
export type { MeasuredTable } from './measured-log';
export { NamesOf } from './names-of';
export { StoredKind } from './stored-sums';
export type { TaskFacts } from './task-facts';
