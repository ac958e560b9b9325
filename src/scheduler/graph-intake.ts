import { ReportStatus } from '../records/enumerations';
import { grownColumn } from '../base/growable-columns';
import { Int32List } from '../base/int-list';
import { invariant } from '../base/assert';
import { staticOrder } from '../order/static-order';
import { NONE } from './edge-table';
import type { DataPlaced, GraphSubmitted } from './events';
import { placeIn, rankOf, urgencyOf } from './rank';
import type { SchedulerState } from './scheduler-state';
import { FailureReason, holdsInputs, TaskState } from './task-state';
import { TaskFlag, type TaskTable } from './task-table';
import { blame, dropIfUnneeded, move } from './transitions';

/** How far ahead of a task, in the order of all, the tasks that it submits are: more than any graph has tasks. */
const STEP_WITHIN = 2 ** 23;

/** Counts as users to come while none was told: the task is kept until its graph is complete. */
const UNTOLD = 2 ** 31 - 1;

/**
 * The graph that a client is sending: where it begins in the order of all tasks, and its tasks so far.
 *
 * ```
 *   users not told   tasks  a b c d e f │              all are `Open`, and begin with the last part
 *   users told       tasks  a b c d│e f │              each part begins when it has come, in the static order of that part
 *                                  └ begun
 *                    toCome 0 0 2 1│0 3   c is `Expected`: two of its users come later
 * ```
 */
type OpenGraph = {
  readonly client: number;
  readonly generation: number;
  readonly firstPlace: number;
  /** As `GraphSubmitted.userPriority`, of the task within which it is submitted. */
  readonly boost: number;
  /** Whose turn it takes. */
  readonly turn: number;
  /** Once begun, a task may be forgotten and its row be another's, unless users of it are still to come. */
  readonly tasks: Int32List;
  /** How many of `tasks` have their rank and may start. */
  begun: number;
  /** Edges between two tasks that have not begun. */
  innerEdges: number;
  /** By place in `tasks`: how many users are still to come; null: not told. */
  readonly toCome: Int32List | null;
};

/** Enters graphs and placed data into the task table, and gives each task its rank. */
export class GraphIntake {
  private _graphs = new Map<number, OpenGraph>();
  /** A task's place in the graph that it came with. Those of forgotten tasks are stale: compare with the graph's list. */
  private _places = new Int32Array(0);
  /** `Expected` tasks whose last user has come. Their users are to wait for them before they stop being needed for their own sake. */
  private readonly _complete = new Int32List();

  submit(s: SchedulerState, event: GraphSubmitted): void {
    const { taskIds, firstInput, inputs } = event;
    const graph = this._graphOf(s, event);
    this._addRows(s, event, graph);
    const tasks = s.tasks;
    // From the last to the first: each goes to the front of its input's dependents, so these end up in the order of the graph.
    for (let i = taskIds.length - 1; i >= 0; i--) {
      const task = taskIds[i]!;
      const given = firstInput[i + 1]! - firstInput[i]!;
      let count = 0;
      for (let k = firstInput[i]!; k < firstInput[i + 1]!; k++) {
        count += isThere(tasks, inputs[k]!) ? 1 : 0;
      }
      if (count < given) {
        tasks.flags[task]! |= TaskFlag.Orphan;
      }
      if (count === 0) {
        continue;
      }
      s.durations.noteInputs(tasks.functionRow[task]!);
      let edge = tasks.reserveInputs(task, count) + count;
      for (let k = firstInput[i + 1]! - 1; k >= firstInput[i]!; k--) {
        const input = inputs[k]!;
        if (isThere(tasks, input)) {
          tasks.setInput(task, --edge, input);
          graph.innerEdges += tasks.flags[input]! & TaskFlag.Open ? 1 : 0;
          this._userCame(graph, input);
        }
      }
    }
    for (let i = 0; i < taskIds.length; i++) {
      if (event.wanted !== null && event.wanted[i] === 1) {
        want(s, taskIds[i]!, event.client);
      }
    }
    if (event.last) {
      this.close(s, event.client);
    } else if (graph.toCome !== null) {
      this._begin(s, graph);
    }
  }

  /** Lets go of tasks whose users have all come: called when these have begun to wait for them. */
  letGoOfComplete(s: SchedulerState): void {
    const complete = this._complete;
    for (let i = 0; i < complete.length; i++) {
      const task = complete.at(i);
      s.tasks.flags[task]! &= ~TaskFlag.Expected;
      dropIfUnneeded(s, task);
    }
    complete.clear();
  }

  get hasComplete(): boolean {
    return this._complete.length > 0;
  }

  /** The client's present graph is complete, or the client has gone: needed tasks that waited for this start now. */
  close(s: SchedulerState, client: number): void {
    const graph = this._graphs.get(client);
    if (graph === undefined) {
      return;
    }
    this._graphs.delete(client);
    this._begin(s, graph);
    const { toCome } = graph;
    for (let i = 0; toCome !== null && i < toCome.length; i++) {
      if (toCome.at(i) > 0) {
        this._complete.push(graph.tasks.at(i));
      }
    }
  }

  /** Ranks the tasks that have not begun, and starts those that are needed. */
  private _begin(s: SchedulerState, graph: OpenGraph): void {
    const { begun, tasks: list } = graph;
    this._order(s, graph);
    graph.begun = list.length;
    graph.innerEdges = 0;
    for (let i = begun; i < list.length; i++) {
      const task = list.at(i);
      s.tasks.flags[task]! &= ~TaskFlag.Open;
      if (
        s.tasks.state[task] === TaskState.Released &&
        s.tasks.isNeeded(task)
      ) {
        s.recommendations.push(task, TaskState.Waiting);
      } else {
        dropIfUnneeded(s, task);
      }
    }
    // Of another client: in its own nothing has waited for this part.
    if (this._graphs.size > Number(this._graphs.get(graph.client) === graph)) {
      startUsersElsewhere(s, list, begun);
    }
  }

  /** One more user of a task has come. */
  private _userCame({ tasks, toCome }: OpenGraph, task: number): void {
    const place = this._places[task]!;
    if (toCome === null || place >= tasks.length || tasks.at(place) !== task) {
      return; // of another graph
    }
    const left = toCome.at(place) - 1;
    toCome.set(place, left);
    if (left === 0) {
      this._complete.push(task);
    }
  }

  /** No further part of the client's present graph comes: a task of it that has not begun, and has no result, fails as soon as it is needed. */
  refuse(s: SchedulerState, client: number): void {
    const graph = this._graphs.get(client);
    if (graph === undefined) {
      return;
    }
    const { flags, state } = s.tasks;
    for (let i = graph.begun; i < graph.tasks.length; i++) {
      const task = graph.tasks.at(i);
      if (state[task] === TaskState.Memory) {
        continue; // it needed nothing else of the graph: its result is right, and can be computed again
      }
      flags[task]! |= TaskFlag.Refused;
      if (holdsInputs(state[task]! as TaskState)) {
        blame(s, task, task, FailureReason.NoRoom);
        s.recommendations.push(task, TaskState.Erred);
      }
    }
    this.close(s, client);
  }

  /**
   * Ranks the tasks that have not begun by their static order. Tasks that have started keep their rank, which is the order in which they
   * came.
   */
  private _order(s: SchedulerState, graph: OpenGraph): void {
    if (graph.innerEdges === 0) {
      return;
    }
    const { edges, firstInput, flags, rank, state } = s.tasks;
    const { begun, tasks: list } = graph;
    const count = list.length - begun;
    const places = this._places;
    const data = new Uint8Array(count);
    let hasData = false;
    for (let i = 0; i < count; i++) {
      if ((flags[list.at(begun + i)]! & TaskFlag.Data) !== 0) {
        data[i] = 1;
        hasData = true;
      }
    }
    const start = new Int32Array(count + 1);
    const ids = new Int32Array(graph.innerEdges);
    const listedFor = new Int32Array(count).fill(NONE);
    let length = 0;
    for (let i = 0; i < count; i++) {
      const task = list.at(begun + i);
      for (let e = firstInput[task]!; edges.dependent[e] === task; e++) {
        const input = edges.input[e]!;
        const place = places[input]! - begun;
        // Of an earlier part, or of another client's graph that is coming in too: that has no place here.
        if (
          place >= 0 &&
          place < count &&
          list.at(begun + place) === input &&
          listedFor[place] !== i
        ) {
          listedFor[place] = i;
          ids[length++] = place;
        }
      }
      start[i + 1] = length;
    }
    const numbers = staticOrder({
      dependencies: { start, ids: ids.subarray(0, length) },
      data: hasData ? data : null,
      nodeCount: count
    });
    for (let i = 0; i < count; i++) {
      const task = list.at(begun + i);
      if (state[task] === TaskState.Released) {
        rank[task]! += numbers[i]! - i;
      }
    }
  }

  place(s: SchedulerState, event: DataPlaced): void {
    const { taskIds } = event;
    const tasks = s.tasks;
    tasks.ensure(extentOf(taskIds));
    for (let i = 0; i < taskIds.length; i++) {
      const task = taskIds[i]!;
      checkFree(s, task);
      tasks.add(
        task,
        s.nextPlace++,
        event.client,
        s.durations.rowOf(event.functionIds[i]!),
        TaskFlag.Placed
      );
      tasks.setBytes(task, event.nbytes[i]!);
    }
    for (let k = 0; k < event.holderRows.length; k++) {
      const task = taskIds[event.holderRows[k]!]!;
      const worker = s.workers.get(event.holderWorkers[k]!);
      if (worker !== undefined && !s.hasReplica(task, worker)) {
        s.addReplica(task, worker);
      }
    }
    for (let i = 0; i < taskIds.length; i++) {
      const task = taskIds[i]!;
      if (event.wanted[i] === 1) {
        want(s, task, event.client);
      }
      // Data whose holders have gone meanwhile counts as lost as soon as somebody needs it.
      if (tasks.firstReplica[task] !== NONE) {
        move(s, task, TaskState.Memory);
      } else {
        dropIfUnneeded(s, task);
      }
    }
  }

  private _graphOf(s: SchedulerState, event: GraphSubmitted): OpenGraph {
    const { client, generation } = event;
    let graph = this._graphs.get(client);
    invariant(
      graph === undefined || graph.generation === generation,
      'A client has one graph coming in at a time.'
    );
    if (graph === undefined) {
      // (Not spread: a lone call is a graph of one task, of whose way that would be a hundredth.)
      const { firstPlace, boost, turn } = placeOf(s, event);
      graph = {
        client,
        generation,
        firstPlace,
        boost,
        turn,
        tasks: new Int32List(),
        begun: 0,
        innerEdges: 0,
        toCome: (event.users?.length ?? 0) === 0 ? null : new Int32List()
      };
      this._graphs.set(client, graph);
    }
    return graph;
  }

  private _addRows(
    s: SchedulerState,
    event: GraphSubmitted,
    graph: OpenGraph
  ): void {
    const { taskIds, userPriority, retries, restrictions, data, users } = event;
    const { tallies } = event;
    const tasks = s.tasks;
    tasks.ensure(extentOf(taskIds));
    if (this._places.length < tasks.capacity) {
      this._places = grownColumn(this._places, tasks.capacity);
    }
    const taken = event.restrictionSets.map(set => s.restrictions.take(set));
    for (let i = 0; i < taskIds.length; i++) {
      const task = taskIds[i]!;
      checkFree(s, task);
      const place = graph.firstPlace + graph.tasks.length;
      const boost = userPriority === null ? 0 : userPriority[i]!;
      const tally = tallies === undefined ? 0 : tallies[i]!;
      s.tallies.ensure(tally + 1);
      tasks.add(
        task,
        rankOf(place, boost + graph.boost),
        graph.turn,
        s.durations.rowOf(event.functionIds[i]!),
        data !== null && data[i] === 1
          ? TaskFlag.Open | TaskFlag.Data
          : TaskFlag.Open,
        tally
      );
      this._places[task] = graph.tasks.length;
      graph.tasks.push(task);
      if (graph.toCome !== null) {
        const toCome = Math.min(users?.[i] ?? UNTOLD, UNTOLD);
        graph.toCome.push(toCome);
        if (toCome > 0) {
          tasks.flags[task]! |= TaskFlag.Expected;
        }
      }
      // Another client's graph may have come between two parts of this one.
      s.nextPlace = Math.max(s.nextPlace, place + 1);
      if (retries !== null) {
        tasks.retries[task] = retries[i]!;
      }
      if (restrictions !== null && restrictions[i]! > 0) {
        const index = taken[restrictions[i]! - 1]!;
        tasks.restrict(task, index);
        s.restrictions.use(index);
      }
    }
    taken.forEach(index => s.restrictions.letGo(index));
  }
}

/** Notes that a client wants a task: a task at rest starts, one that has an outcome is reported. */
export function want(s: SchedulerState, task: number, client: number): void {
  const tasks = s.tasks;
  const head = tasks.firstWant[task]!;
  if (tasks.wants.has(head, client)) {
    return;
  }
  tasks.firstWant[task] = tasks.wants.add(head, client);
  switch (tasks.state[task] as TaskState) {
    case TaskState.Released:
      if (!tasks.waitsForItsGraph(task)) {
        s.recommendations.push(task, TaskState.Waiting);
      }
      break;
    case TaskState.Memory:
      s.output.report(
        client,
        task,
        ReportStatus.Memory,
        NONE,
        FailureReason.None
      );
      break;
    case TaskState.Erred:
      s.output.report(
        client,
        task,
        ReportStatus.Erred,
        tasks.cause[task]!,
        tasks.reason[task]!
      );
      break;
    default:
      // Under way: its outcome will be reported to all clients that want it.
      break;
  }
}

/**
 * Where a graph begins in the order of all tasks. What a task submits goes before all that stand beside it: otherwise each of these would
 * begin, and keep a thread or memory, before the first can end. It takes the turns of the client for which that task runs.
 */
function placeOf(
  s: SchedulerState,
  { client, within = NONE }: GraphSubmitted
): Pick<OpenGraph, 'firstPlace' | 'boost' | 'turn'> {
  const { state, rank, client: turns } = s.tasks;
  if (within === NONE || state[within] === TaskState.Forgotten) {
    return { firstPlace: s.nextPlace, boost: 0, turn: client };
  }
  const around = rank[within]!;
  return {
    firstPlace: Math.max(0, placeIn(around) - STEP_WITHIN),
    boost: -urgencyOf(around),
    turn: turns[within]!
  };
}

/** A task of another graph that is still coming in may need nothing of that, and have waited for this graph alone. */
function startUsersElsewhere(
  s: SchedulerState,
  list: Int32List,
  first: number
): void {
  const { edges, state, firstDependent } = s.tasks;
  for (let i = first; i < list.length; i++) {
    for (
      let e = firstDependent[list.at(i)]!;
      e !== NONE;
      e = edges.nextDependent[e]!
    ) {
      const user = edges.dependent[e]!;
      if (
        state[user] === TaskState.Released &&
        s.tasks.isNeeded(user) &&
        !s.tasks.waitsForItsGraph(user)
      ) {
        s.recommendations.push(user, TaskState.Waiting);
      }
    }
  }
}

/** (Not a closure: code that was compiled in a loop is given up where it meets another one.) */
function isThere({ state }: TaskTable, input: number): boolean {
  return input !== NONE && state[input] !== TaskState.Forgotten;
}

function checkFree(s: SchedulerState, task: number): void {
  invariant(
    s.tasks.state[task] === TaskState.Forgotten,
    () => `Task id ${task} is not free.`
  );
}

function extentOf(ids: Int32Array): number {
  let extent = 0;
  for (let i = 0; i < ids.length; i++) {
    extent = Math.max(extent, ids[i]! + 1);
  }
  return extent;
}
