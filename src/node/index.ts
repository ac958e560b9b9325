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
export { type CallbackHooks } from './local/callback';
export {
  type Cache,
  type EmptyState,
  type RunGraph,
  type RunState
} from './local/state';
