/** The public face of the sources. */
export { EmbeddedClusterLog } from './embedded-cluster';
export type { MeasuredTable } from './measured-log';
export { ClockChanges } from './clock-changes';
export { MOST_SECEDED } from './worker-lanes';
export { NamesOf } from './names-of';
export type { SpanRow } from './source-log';
export type { PerTask, TaskFacts } from './task-facts';
