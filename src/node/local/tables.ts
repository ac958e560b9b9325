import { GraphError } from '../graph/graph-errors';
import type { Key } from '../graph/key';
import { degree } from '../../order/edges';
import type { DataNode } from '../graph/nodes';
import type { RunPlan } from './plan';
import type { Values } from './values';

/** Where a reached id is. `external` and `data` have values from the beginning; the others go from `waiting` to `finished`. */
export const Phase = {
  none: 0,
  external: 1,
  data: 2,
  waiting: 3,
  ready: 4,
  running: 5,
  finished: 6
} as const;
export type Phase = (typeof Phase)[keyof typeof Phase];

/**
 * What changes in a run, by id: where each task is, what it lacks, who still needs its value.
 */
export class RunTables {
  readonly phases: Uint8Array;
  readonly released: Uint8Array;
  /** By phase, how many ids are there. */
  readonly counts = new Int32Array(7);
  releasedCount = 0;
  /** The same as the stack of ready ids, for callbacks. */
  readonly readyKeys: Key[] = [];

  /** Tasks among the dependencies that are not finished. */
  private readonly _lacking: Int32Array;
  /** Dependents that are not finished. */
  private readonly _users: Int32Array;
  private readonly _ready: Int32Array;
  private _readyCount = 0;

  /**
   * Puts data into `values` and finds out what is ready.
   *
   * @param _watched - whether anybody looks at `readyKeys`.
   */
  constructor(
    private readonly _plan: RunPlan,
    private readonly _values: Values,
    private readonly _watched: boolean
  ) {
    const size = _plan.graph.size;
    this.phases = new Uint8Array(size);
    this.released = new Uint8Array(size);
    this._lacking = new Int32Array(size);
    this._users = new Int32Array(size);
    this._ready = new Int32Array(_plan.lastFirst.length);
    for (let id = _plan.graph.nodeCount; id < size; id++) {
      if (_plan.reached[id] === 1) {
        this._enter(id, Phase.external);
      }
    }
    this._placeNodes();
    if (this.counts[Phase.waiting]! > 0 && this._readyCount === 0) {
      throw new GraphError('Found no accessible jobs in the graph');
    }
  }

  get readyCount(): number {
    return this._readyCount;
  }

  get runningCount(): number {
    return this.counts[Phase.running]!;
  }

  /** Tasks that are neither finished nor given up. */
  get openCount(): number {
    return (
      this.counts[Phase.waiting]! +
      this.counts[Phase.ready]! +
      this.counts[Phase.running]!
    );
  }

  /** Takes the ready task that was made ready last; there must be one. */
  takeReady(): number {
    const id = this._ready[--this._readyCount]!;
    if (this._watched) {
      this.readyKeys.pop();
    }
    this._move(id, Phase.running);
    return id;
  }

  /** The task's value is stored: frees dependents, releases dependencies that no task needs any more, books the task as finished. */
  finish(id: number): void {
    const { dependents, dependencies, requested } = this._plan;
    for (let at = dependents.start[id]!; at < dependents.start[id + 1]!; at++) {
      const user = dependents.ids[at]!;
      if (--this._lacking[user]! === 0) {
        this._makeReady(user);
      }
    }
    const end = dependencies.start[id + 1]!;
    for (let at = dependencies.start[id]!; at < end; at++) {
      const dependency = dependencies.ids[at]!;
      if (--this._users[dependency]! === 0 && requested[dependency] === 0) {
        this.released[dependency] = 1;
        this.releasedCount++;
        this._values.delete(dependency);
      }
    }
    this._move(id, Phase.finished);
  }

  /** Whether a task waits for this id. */
  isMissing(id: number): boolean {
    const phase = this.phases[id]!;
    return phase >= Phase.waiting && phase < Phase.finished;
  }

  isFinished(id: number): boolean {
    return this.phases[id] === Phase.finished;
  }

  private _placeNodes(): void {
    const { graph, lastFirst, dependencies, dependents } = this._plan;
    for (const id of lastFirst) {
      this._users[id] = degree(dependents, id);
      if (graph.isData(id)) {
        this._enter(id, Phase.data);
        this._values.set(id, (graph.nodes[id] as DataNode).value);
        continue;
      }
      let lacking = 0;
      const end = dependencies.start[id + 1]!;
      for (let at = dependencies.start[id]!; at < end; at++) {
        const dependency = dependencies.ids[at]!;
        if (dependency < graph.nodeCount && !graph.isData(dependency)) {
          lacking++;
        }
      }
      this._lacking[id] = lacking;
      this._enter(id, Phase.waiting);
      if (lacking === 0) {
        this._makeReady(id);
      }
    }
    for (let id = graph.nodeCount; id < graph.size; id++) {
      this._users[id] = degree(dependents, id);
    }
  }

  private _makeReady(id: number): void {
    this._ready[this._readyCount++] = id;
    if (this._watched) {
      this.readyKeys.push(this._plan.keyOf(id));
    }
    this._move(id, Phase.ready);
  }

  private _enter(id: number, phase: Phase): void {
    this.phases[id] = phase;
    this.counts[phase]!++;
  }

  private _move(id: number, phase: Phase): void {
    this.counts[this.phases[id]!]!--;
    this._enter(id, phase);
  }
}
