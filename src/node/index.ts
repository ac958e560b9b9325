import './node-version';

export {
  KeyMap,
  KeySet,
  keyText,
  type Key,
  type ReadonlyKeyMap,
  type ReadonlyKeySet,
  type TupleKey
} from './graph/key';
export {
  Alias,
  alias,
  data,
  DataNode,
  ref,
  Task,
  task,
  TaskRef,
  type Graph,
  type Node,
  type TaskFunction
} from './graph/nodes';
export { cull } from './graph/cull';
export {
  CycleError,
  GraphError,
  MissingDependencyError,
  UnknownKeyError
} from './graph/graph-errors';
export { delayed, Delayed, type Eventually, type Get } from './graph/delayed';
export { order } from './graph/order';
export { prefixOf } from './graph/prefix';
export { addCallbacks, Callback, type CallbackHooks } from './local/callback';
export { getAsync, type AsyncOptions } from './local/get-async';
export { getSync, PromiseResultError } from './local/get-sync';
export { type Keys } from './local/request';
export { type RunOptions } from './local/run';
export { taskKeyOf, type TaskNote } from './local/task-note';
export {
  type Cache,
  type EmptyState,
  type RunGraph,
  type RunState
} from './local/state';
export { taskLabel } from './graph/label';
export {
  CacheProfiler,
  type CacheMetric,
  type CacheProfilerOptions
} from './diagnostics/cache-profiler';
export { Profiler } from './diagnostics/profiler';
export {
  ProgressBar,
  type ProgressBarOptions
} from './diagnostics/progress-bar';
export { type ProgressStream } from './diagnostics/progress-output';
export {
  type CacheData,
  type ResourceData,
  type TaskData
} from './diagnostics/records';
export {
  ResourceProfiler,
  type ResourceProfilerOptions
} from './diagnostics/resource-profiler';
export { SamplerError } from './diagnostics/sampler-process';
export { sizeOf } from './diagnostics/size-of';
export { type VisualizeOptions } from './visualize/options';
export { type PlotlyFigure } from './visualize/plotly-figure';
export {
  type CachePlot,
  type IPlottable,
  type Plot,
  type ResourcePlot,
  type TaskPlot,
  type TimeRange,
  type WorkerRow
} from './visualize/plots';
export { Figure, visualize } from './visualize/visualize';
export { module, NotPortableError } from './graph/portable';
export { getProcesses, type ProcessesOptions } from './pools/get-processes';
export { getThreads, type ThreadsOptions } from './pools/get-threads';
export { InterruptedError } from './local/interrupt';
export { WorkerEndedError } from './pools/pool-errors';
export { UnsendableError } from './pools/unsendable';
export { type PoolOptions, ProcessPool, ThreadPool } from './pools/worker-pool';
export { UnsafeConnectionError } from './observe/connections';
export {
  type LogDescription,
  type LogEnd,
  type LogSink
} from './observe/log-sink';
export {
  observe,
  type Observation,
  type ObserveOptions
} from './observe/observe';
export { observerSink, type ConnectionOptions } from './observe/observer-sink';
export {
  createRecorder,
  type OpenRun,
  type Recorder,
  type RecorderOptions,
  type RunFacts,
  type RunOutcome
} from './observe/recorder';
export { currentSpan, span, type Span } from './observe/span';
export {
  type ModulePlugin,
  type PluginWorker,
  type RunPart,
  type SchedulerPlugin,
  type SubmittedGraph,
  type TaskStateName,
  type TransitionFacts
} from '../scheduler/plugin';
