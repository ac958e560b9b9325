/**
 * The static order: a number per id, smaller ones first, so that running the tasks in this order keeps few results in memory. Schedulers
 * choose by it among the tasks that could run.
 *
 * In short: from a leaf walk back along its most expensive dependencies to a root (the critical path), number that path and what it needs,
 * then take the leaf that needs the fewest further roots. In between, number what became runnable by the way, but only as far as it leads
 * to a result that lets others go (a reducer whose inputs are complete, or a leaf).
 */
import {
  areAscending,
  degree,
  type Edges,
  idsUpTo,
  listOf,
  reversed
} from './edges';
import { loopAmong, OrderWeights, totalsOf } from './order-weights';
import { type Reach, reachOf, ReachSearch, SAMPLE } from './reach';
import { TargetLeaves } from './target-leaves';

/** Tasks that wait for each other have no order. */
export class LoopFound extends Error {
  override readonly name = 'LoopFound';

  constructor(
    /** Each id needs the next one; the first is also the last. */
    readonly ids: readonly number[]
  ) {
    super(`Tasks wait for each other: ${ids.join(' -> ')}`);
  }
}

/** A graph as the static order sees it: ids from 0, each with the ids it needs. Ids stand in the graph's own order, by which ties are broken. */
type OrderedGraph = {
  /** Each id's dependencies, each once. */
  readonly dependencies: Edges;
  /** 1 for ids that are data and no tasks; null: there are none. Data that several tasks use is taken to cost nothing. */
  readonly data: Uint8Array | null;
  /** Ids from here on are outside the graph: they exist already and get no number. */
  readonly nodeCount: number;
};

/**
 * The static order by id: a permutation of 0 … `nodeCount` − 1 in which dependencies come first; −1 for ids outside the
 * graph.
 *
 * Time grows with the number of edges: about 1 µs per task. In large graphs, what a task reaches is estimated from samples (`reach.ts`).
 *
 * @param sample - how many tasks a sample has (`reach.ts`); only tests give another number.
 * @throws LoopFound
 */
export function staticOrder(graph: OrderedGraph, sample = SAMPLE): Int32Array {
  const size = graph.dependencies.start.length - 1;
  if (graph.dependencies.ids.length === 0) {
    // All keys have the same weight, so the graph's own order decides.
    return idsUpTo(size).fill(-1, graph.nodeCount);
  }
  if (isLine(graph)) {
    return idsUpTo(size);
  }
  return new StaticOrder(graph, sample).number();
}

/** Whether each task needs the one before it and no other: then no other order is possible. */
function isLine({ dependencies, nodeCount }: OrderedGraph): boolean {
  const { ids, start } = dependencies;
  if (start.length - 1 !== nodeCount || ids.length !== nodeCount - 1) {
    return false;
  }
  for (let id = 0; id < ids.length; id++) {
    if (ids[id] !== id || start[id + 1] !== id) {
      return false;
    }
  }
  return true;
}

/** A way forward from a runnable key, and how many splitters it has passed. */
type Branch = { readonly splits: number; readonly path: number[] };

class StaticOrder {
  private readonly _graph: OrderedGraph;
  private readonly _size: number;
  private readonly _numbers: Int32Array;
  private _next = 0;
  private readonly _done: Uint8Array;
  private _left: number;

  // Without the data that several tasks use: each of these tasks embeds it, so it does not shape
  // the order.
  private readonly _dependencies: Edges;
  private readonly _dependents: Edges;
  private readonly _sharedData: Uint8Array;

  private readonly _needed: Int32Array;
  private readonly _weights: OrderWeights;
  /** For each root the leaves that have it in their sample. */
  private readonly _leavesOfRoots: Edges;
  private readonly _targets: TargetLeaves;

  /** 1: some dependency is numbered, the id itself is not. */
  private readonly _begun: Uint8Array;
  private _begunCount = 0;
  /** 1: the id is on a way forward that is or was followed. */
  private readonly _followed: Uint8Array;
  private readonly _runnable: number[] = [];
  /** Empty except during `_take`, whose calls share it. */
  private readonly _taken: number[] = [];
  /** Ways forward that end at a reducer which still needs others. */
  private readonly _paths = new Map<number, number[][]>();

  constructor(
    graph: OrderedGraph,
    private readonly _sample: number
  ) {
    this._graph = graph;
    const size = (this._size = graph.dependencies.start.length - 1);
    this._numbers = new Int32Array(size).fill(-1);
    this._done = new Uint8Array(size);
    this._left = size;
    this._begun = new Uint8Array(size);
    this._followed = new Uint8Array(size);

    const users = reversed(graph.dependencies);
    // Each list ascending: the order in which a task names its dependencies must not matter.
    const dependencies = areAscending(graph.dependencies)
      ? graph.dependencies
      : reversed(users);
    this._sharedData = new Uint8Array(size);
    for (let id = 0; id < size; id++) {
      const isData = id >= graph.nodeCount || graph.data?.[id] === 1;
      this._sharedData[id] = isData && degree(users, id) > 1 ? 1 : 0;
    }
    this._dependencies = without(dependencies, this._sharedData);
    this._dependents =
      this._dependencies === dependencies
        ? users
        : reversed(this._dependencies);
    this._needed = new Int32Array(size);
    for (let id = 0; id < size; id++) {
      this._needed[id] = degree(this._dependencies, id);
    }

    const totals = totalsOf(this._dependencies, this._dependents);
    const uncounted = (id: number) => totals[id] === 0;
    if (totals.includes(0)) {
      throw new LoopFound(loopAmong(this._dependencies, uncounted));
    }
    const isLeaf = (id: number) =>
      degree(this._dependents, id) === 0 && this._needed[id]! > 0;
    const roots = reachOf(
      this._dependencies,
      this._dependents,
      id => degree(this._dependents, id),
      isLeaf,
      _sample
    );
    this._weights = new OrderWeights(
      this._dependencies,
      totals,
      roots.counts,
      roots.largest
    );
    this._leavesOfRoots = reversed(roots.samples);
    this._targets = this._targetLeaves(roots);
  }

  number(): Int32Array {
    while (this._left > 0) {
      const target = this._targets.next(
        this._begunCount > 0,
        leaf => this._done[leaf] === 1
      );
      this._walk(this._criticalPath(target));
      this._followRunnable();
    }
    return this._numbers;
  }

  private _targetLeaves({ counts, samples }: Reach): TargetLeaves {
    const leaves: number[] = [];
    const roots: number[] = [];
    for (let id = 0; id < this._size; id++) {
      if (this._sharedData[id] === 1) {
        continue;
      }
      if (degree(this._dependents, id) === 0) {
        leaves.push(id);
      }
      if (this._needed[id] === 0) {
        roots.push(id);
      }
    }
    return new TargetLeaves(
      this._size,
      leaves.sort(this._weights.compare),
      this._prefersLongestPath(roots, leaves.length),
      leaf => counts[leaf]!,
      leaf => degree(samples, leaf)
    );
  }

  /**
   * Whether to begin with the leaf that needs most: best for reducers and splitters. Asymmetrical graphs with about as many leaves as
   * roots do better with the quickest leaf.
   */
  private _prefersLongestPath(roots: number[], leafCount: number): boolean {
    if (Math.abs(roots.length - leafCount) / roots.length >= 0.8) {
      return true;
    }
    // In most graphs the first few roots decide, so ids are counted only as they are asked for.
    const search = new ReachSearch(
      this._dependents,
      this._dependencies,
      () => 0,
      () => false,
      this._sample
    );
    // A root that is itself a leaf reaches none. Such roots are skipped until another root was met.
    let common = 0;
    for (const root of roots) {
      const reached = search.countOf(root);
      if (common === 0) {
        common = reached;
      } else if (!this._isLike(common, reached)) {
        return false;
      }
    }
    return true;
  }

  /** Whether two counts may be the same: a count from a sample may be off by two fifths. */
  private _isLike(a: number, b: number): boolean {
    const least = Math.min(a, b);
    return a === b || (least >= this._sample && Math.abs(a - b) <= least);
  }

  /** The path from the target back to a root, each step with its other open dependencies. The last entry is numbered first. */
  private _criticalPath(target: number): number[] {
    const path = [target];
    let next = this._heaviest(listOf(this._dependencies, target));
    while (next >= 0) {
      path.push(next);
      const open = this._openDependencies(next);
      for (const id of open) {
        path.push(id);
      }
      next = this._heaviest(open);
    }
    return path;
  }

  private _heaviest(ids: readonly number[]): number {
    let heaviest = -1;
    for (const id of ids) {
      if (heaviest < 0 || this._weights.compare(id, heaviest) > 0) {
        heaviest = id;
      }
    }
    return heaviest;
  }

  /** Appends to `open` the dependencies that are not numbered. */
  private _openDependencies(id: number, open: number[] = []): number[] {
    const end = this._dependencies.start[id + 1]!;
    for (let at = this._dependencies.start[id]!; at < end; at++) {
      const dependency = this._dependencies.ids[at]!;
      if (this._done[dependency] === 0) {
        open.push(dependency);
      }
    }
    return open;
  }

  private _walk(path: number[]): void {
    let walkedBack = false;
    while (path.length > 0) {
      const id = path.pop()!;
      if (this._done[id] === 1) {
        continue;
      }
      if (this._needed[id] === 0) {
        if (walkedBack && this._runnable.length < path.length) {
          this._followRunnable();
        }
        this._take(id);
        continue;
      }
      path.push(id);
      if (this._paths.size === 0) {
        // No path is known, so all are unknown. In most graphs the whole walk goes here, which
        // makes no lists.
        const end = path.length;
        this._openDependencies(id, path);
        sortTail(path, end, this._weights.compare);
        walkedBack ||= path.length - end > 1;
        continue;
      }
      const open = this._openDependencies(id).sort(this._weights.compare);
      const unknown = open.filter(other => !this._paths.has(other));
      walkedBack ||= unknown.length > 1;
      for (const other of unknown) {
        path.push(other);
      }
      for (const other of open) {
        for (const known of this._paths.get(other) ?? []) {
          for (let i = known.length - 1; i >= 0; i--) {
            path.push(known[i]!);
          }
        }
        this._paths.delete(other);
      }
    }
  }

  /** Numbers a key, then its dependent if that is the only one and needs nothing else. */
  private _take(first: number): void {
    const stack = this._taken;
    stack.push(first);
    while (stack.length > 0) {
      const id = stack.pop()!;
      if (this._done[id] === 1) {
        continue;
      }
      this._takeSharedData(id);
      this._setNumber(id);
      const start = this._dependents.start[id]!;
      const end = this._dependents.start[id + 1]!;
      if (start === end) {
        this._targets.drop(id);
      } else if (degree(this._dependencies, id) === 0) {
        const last = this._leavesOfRoots.start[id + 1]!;
        for (let at = this._leavesOfRoots.start[id]!; at < last; at++) {
          this._targets.rootDone(this._leavesOfRoots.ids[at]!);
        }
      }
      // What is pushed last comes first.
      for (let at = end - 1; at >= start; at--) {
        const user = this._dependents.ids[at]!;
        if (this._begun[user] === 0) {
          this._begun[user] = 1;
          this._begunCount++;
          if (degree(this._dependents, user) === 0) {
            this._targets.touch(user);
          }
        }
        if (--this._needed[user]! === 0) {
          (end - start === 1 ? stack : this._runnable).push(user);
        }
      }
    }
  }

  private _takeSharedData(id: number): void {
    const all = this._graph.dependencies;
    if (degree(all, id) === degree(this._dependencies, id)) {
      return;
    }
    for (const dependency of listOf(all, id)) {
      if (this._sharedData[dependency] === 1 && this._done[dependency] === 0) {
        this._setNumber(dependency);
      }
    }
  }

  private _setNumber(id: number): void {
    this._done[id] = 1;
    this._left--;
    if (this._begun[id] === 1) {
      this._begunCount--;
    }
    if (id < this._graph.nodeCount) {
      this._numbers[id] = this._next++;
    }
  }

  private _takeAll(path: number[]): void {
    for (const id of path) {
      this._take(id);
    }
  }

  /** Follows everything that is runnable; what it frees is followed as well. */
  private _followRunnable(): void {
    while (this._runnable.length > 0) {
      const candidates = this._runnable.splice(0);
      while (candidates.length > 0) {
        const id = candidates.pop()!;
        if (this._followed[id] === 1 || this._done[id] === 1) {
          continue;
        }
        if (degree(this._dependents, id) === 0) {
          this._take(id);
          continue;
        }
        const branches: Branch[] = [{ splits: 0, path: [id] }];
        // Branches are taken first in, first out, and a branch may add others.
        for (let at = 0; at < branches.length; at++) {
          this._follow(branches[at]!, branches);
        }
      }
    }
  }

  /** Follows one branch along keys with a single dependency to a leaf, a reducer, or the next splitter. */
  private _follow(branch: Branch, branches: Branch[]): void {
    const path = branch.path;
    for (;;) {
      const id = path[path.length - 1]!;
      this._followed[id] = 1;
      const userCount = degree(this._dependents, id);
      if (userCount === 0) {
        if (this._needed[id]! <= 1) {
          this._takeAll(path);
        } else {
          this._followed[id] = 0;
        }
        return;
      }
      if (path.length > 1 && degree(this._dependencies, id) !== 1) {
        this._meet(id, branch, branches);
        return;
      }
      if (userCount > 1) {
        // Only branches that begin here; the others are reached from elsewhere too.
        const users = listOf(this._dependents, id);
        for (const user of users.sort(this._weights.compare)) {
          if (degree(this._dependencies, user) === 1) {
            branches.push({ splits: branch.splits + 1, path: [...path, user] });
          }
        }
        return;
      }
      path.push(this._dependents.ids[this._dependents.start[id]!]!);
    }
  }

  /** A branch has come to a reducer: number what leads there if that completes it, else remember the way. */
  private _meet(reducer: number, branch: Branch, branches: Branch[]): void {
    const needed = this._needed[reducer]!;
    const known = this._paths.get(reducer);
    if (known === undefined) {
      if (needed <= 1) {
        this._takeAll(branch.path);
      } else {
        this._paths.set(reducer, [branch.path]);
        this._followed[reducer] = 0;
      }
      return;
    }
    known.push(branch.path);
    this._followed[reducer] = 0;
    if (known.length < needed) {
      return;
    }
    const open = known.filter(path => this._done[path[path.length - 2]!] === 0);
    if (open.length < needed) {
      this._paths.set(reducer, open);
      return;
    }
    this._paths.delete(reducer);
    if (branch.splits > 1) {
      branches.push({ splits: branch.splits - 1, path: open.flat() });
      return;
    }
    this._takeInTurn(open);
  }

  /** Numbers paths, of which one may need a key of another: a blocked path is tried again after the others. */
  private _takeInTurn(paths: number[][]): void {
    let blocked = 0;
    for (let at = 0; at < paths.length && blocked < paths.length - at; at++) {
      const path = paths[at]!;
      const stop = path.findIndex(id => {
        if (this._needed[id]! > 0) {
          return true;
        }
        this._take(id);
        return false;
      });
      if (stop >= 0) {
        paths.push(path);
        blocked++;
      } else {
        blocked = 0;
      }
    }
  }
}

/** Up to here, putting ids into their places one by one takes less than sorting a copy. */
const FEW = 16;

/** Sorts what comes in `list` from `start` on. */
function sortTail(
  list: number[],
  start: number,
  compare: (a: number, b: number) => number
): void {
  if (list.length - start > FEW) {
    for (const id of list.splice(start).sort(compare)) {
      list.push(id);
    }
    return;
  }
  for (let end = start + 1; end < list.length; end++) {
    const id = list[end]!;
    let place = end;
    while (place > start && compare(list[place - 1]!, id) > 0) {
      list[place] = list[place - 1]!;
      place--;
    }
    list[place] = id;
  }
}

/** The edges that do not lead to a marked id. */
function without(edges: Edges, marked: Uint8Array): Edges {
  if (!marked.includes(1)) {
    return edges;
  }
  const start = new Int32Array(edges.start.length);
  const ids: number[] = [];
  for (let id = 0; id + 1 < start.length; id++) {
    for (let at = edges.start[id]!; at < edges.start[id + 1]!; at++) {
      if (marked[edges.ids[at]!] === 0) {
        ids.push(edges.ids[at]!);
      }
    }
    start[id + 1] = ids.length;
  }
  return { start, ids: Int32Array.from(ids) };
}
