export { boundsOf } from './bounds';
export type { SimulatedGraph } from './graph';
export { recordedGraph, type RecordedRows } from './recorded-graph';
export {
  DEFAULT_CLUSTER,
  type Order,
  type Report,
  type SimulatedCluster
} from './orders';
export { simulate, type ISimulatedScheduler, type Outcome } from './simulation';
export { SpanwiseCore } from './spanwise-core';
export { randomGraph, workloads } from './workloads';
