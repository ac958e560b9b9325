import { invariant } from '../base/assert';
import { NO_INPUTS, NONE } from './edge-table';
import { neglected } from './resources';
import { hasRoom, hasRoomFor } from './room';
import type { SchedulerState } from './scheduler-state';
import { FailureReason, holdsInputs, TaskState } from './task-state';
import { ENDED_FLAGS, TaskFlag } from './task-table';
import { formatStory } from './transition-log';
import { keepsItsInputs } from './transitions';
import { mayFollow } from './tasks-ahead';
import type { WorkerRecord } from './worker-table';

/**
 * Recomputes everything that the scheduler keeps more than once, and compares. O(tasks + edges); run after every event in tests.
 *
 * @throws InvariantError with the story of the task concerned.
 */
export function validateState(s: SchedulerState): void {
  const counts = new Map<WorkerRecord | null, number>();
  const underWay = new Map<number, number>();
  let size = 0;
  let edges = 0;
  let processing = 0;
  let withoutWorker = 0;
  let waiting = 0;
  let waitingForResources = 0;
  const asideBy = new Map<number, number>();
  const users = new Map<number, number>();
  for (let task = 0; task < s.tasks.capacity; task++) {
    if (s.tasks.state[task] === TaskState.Forgotten) {
      checkEmptyRow(s, task);
      continue;
    }
    size++;
    const index = s.tasks.restriction[task]!;
    if (index !== NONE) {
      users.set(index, (users.get(index) ?? 0) + 1);
    }
    edges += s.tasks.inputsOf(task).length;
    processing += Number(s.tasks.state[task] === TaskState.Processing);
    waiting += Number(s.tasks.state[task] === TaskState.Waiting);
    checkEdges(s, task);
    checkTask(s, task);
    const client = s.tasks.client[task]!;
    const isUnderWay =
      s.tasks.state[task] === TaskState.Queued ||
      s.tasks.state[task] === TaskState.Processing;
    underWay.set(client, (underWay.get(client) ?? 0) + Number(isUnderWay));
    if (s.tasks.state[task] === TaskState.NoWorker) {
      withoutWorker++;
      asideBy.set(index, (asideBy.get(index) ?? 0) + 1);
    }
    if (s.tasks.state[task] === TaskState.Queued && s.needOf(task) !== null) {
      waitingForResources++;
      check(s, task, s.tasks.worker[task] === NONE, 'has a worker');
    } else if (s.tasks.state[task] === TaskState.Queued) {
      const home = s.tasks.worker[task]!;
      const worker = home === NONE ? null : s.workers.get(home)!;
      counts.set(worker, (counts.get(worker) ?? 0) + 1);
    }
  }
  invariant(size === s.tasks.size, 'the number of tasks is wrong');
  invariant(
    s.restrictions.size === users.size,
    'restrictions are kept that no task has'
  );
  for (const [index, count] of users) {
    invariant(
      s.restrictions.usersOf(index) === count,
      'the tasks of a restriction are miscounted'
    );
  }
  invariant(
    s.restrictions.isMemoryCounted,
    'able workers are remembered of restrictions that have gone'
  );
  for (const [index, count] of asideBy) {
    invariant(
      s.noWorkerBy.get(index) === count,
      'the tasks of a restriction without a worker are miscounted'
    );
  }
  invariant(
    asideBy.size === s.noWorkerBy.size,
    'tasks without a worker are counted that are not there'
  );
  invariant(edges === s.tasks.edges.size, 'edges have leaked');
  invariant(processing === s.tasks.runs.size, 'rows of runs have leaked');
  invariant(
    (counts.get(null) ?? 0) === s.commonCount,
    'the count of the common queue is wrong'
  );
  invariant(
    waitingForResources === s.waitingForResources.count,
    'the count of tasks that wait for resources is wrong'
  );
  invariant(
    waiting === s.waitingCount,
    'the count of tasks that wait for inputs is wrong'
  );
  invariant(
    withoutWorker === s.noWorkerCount,
    'the count of tasks without a worker is wrong'
  );
  for (const [client, tasks] of underWay) {
    invariant(
      s.turns.tasksOf(client) === tasks,
      `the tasks of client ${client} are miscounted`
    );
  }
  for (const worker of s.workers.all) {
    checkWorker(s, worker, counts.get(worker) ?? 0);
  }
  for (const task of s.recalled.tasks) {
    check(s, task, holdsInputs(s.tasks.state[task]!), 'has recalled runs');
  }
  checkNothingIdle(s);
  invariant(s.recommendations.length === 0, 'recommendations are left');
}

function check(
  s: SchedulerState,
  task: number,
  condition: boolean,
  what: string
): void {
  invariant(
    condition,
    () =>
      `task ${task} (${TaskState[s.tasks.state[task]!]}): ${what}\n` +
      formatStory(s.log.story(task))
  );
}

function checkEmptyRow(s: SchedulerState, task: number): void {
  const t = s.tasks;
  check(
    s,
    task,
    t.firstInput[task] === NO_INPUTS &&
      t.firstDependent[task] === NONE &&
      t.firstWant[task] === NONE &&
      t.firstReplica[task] === NONE &&
      t.waiters[task] === 0 &&
      t.waitingOn[task] === 0 &&
      (t.flags[task]! & ~ENDED_FLAGS) === 0 &&
      t.worker[task] === NONE,
    'a forgotten row is not empty'
  );
}

function checkEdges(s: SchedulerState, task: number): void {
  const { state } = s.tasks;
  const inputs = s.tasks.inputsOf(task);
  const dependents = s.tasks.dependentsOf(task);
  for (const input of inputs) {
    check(s, task, state[input] !== TaskState.Forgotten, 'input is forgotten');
    check(
      s,
      task,
      s.tasks.dependentsOf(input).includes(task),
      `not among the dependents of its input ${input}`
    );
  }
  for (const dependent of dependents) {
    check(
      s,
      task,
      s.tasks.inputsOf(dependent).includes(task),
      `not among the inputs of its dependent ${dependent}`
    );
  }
  const waiters = dependents.filter(d => holdsInputs(state[d]!)).length;
  check(s, task, s.tasks.waiters[task] === waiters, 'waiters are miscounted');
  const unfinished = inputs.filter(i => state[i] !== TaskState.Memory).length;
  check(
    s,
    task,
    s.tasks.waitingOn[task] === (holdsInputs(state[task]!) ? unfinished : 0),
    'unfinished inputs are miscounted'
  );
}

function checkTask(s: SchedulerState, task: number): void {
  const t = s.tasks;
  const state = t.state[task] as TaskState;
  const isIn = (...states: TaskState[]): boolean => states.includes(state);
  const { Released, Waiting, NoWorker, Queued, Processing, Memory, Erred } =
    TaskState;
  check(
    s,
    task,
    (t.firstReplica[task] !== NONE) === isIn(Memory),
    'replicas and memory disagree'
  );
  for (const holder of t.holdersOf(task)) {
    check(s, task, s.workers.get(holder) !== undefined, 'a holder is gone');
  }
  check(
    s,
    task,
    isIn(Erred) === (t.reason[task] !== FailureReason.None),
    'reason and erred disagree'
  );
  check(
    s,
    task,
    isIn(Erred) === (t.cause[task] !== NONE),
    'cause and erred disagree'
  );
  check(
    s,
    task,
    isIn(Processing, Queued) || t.worker[task] === NONE,
    'has a worker'
  );
  check(
    s,
    task,
    isIn(Released, Erred) || t.isNeeded(task),
    'is kept though nobody needs it'
  );
  check(
    s,
    task,
    !isIn(Released) || !t.isNeeded(task) || t.waitsForItsGraph(task),
    'is needed but at rest'
  );
  check(
    s,
    task,
    !isIn(Released, Erred) ||
      t.isNeeded(task) ||
      t.firstDependent[task] !== NONE ||
      t.hasFlag(task, TaskFlag.Open),
    'should be forgotten'
  );
  check(
    s,
    task,
    !isIn(NoWorker, Queued) || t.waitingOn[task] === 0,
    'could not run'
  );
  check(s, task, !isIn(Waiting) || t.waitingOn[task]! > 0, 'waits for nothing');
  check(
    s,
    task,
    !isIn(Waiting, NoWorker, Queued, Processing) ||
      t.inputsOf(task).every(input => t.state[input] !== Erred),
    'an input has erred'
  );
  check(
    s,
    task,
    !isIn(Waiting, NoWorker, Queued, Processing) ||
      t.inputsOf(task).every(input => t.state[input] !== Released),
    'an input is not on its way'
  );
  check(
    s,
    task,
    !isIn(NoWorker) || !s.hasEligibleWorker(task),
    'a worker could run it'
  );
  check(
    s,
    task,
    !isIn(Queued) || s.hasEligibleWorker(task),
    'no worker could run it'
  );
  check(
    s,
    task,
    !isIn(Processing) || keepsItsInputs(s, task),
    'an input will never come to its worker'
  );
}

function checkWorker(
  s: SchedulerState,
  worker: WorkerRecord,
  queued: number
): void {
  const t = s.tasks;
  let count = 0;
  let seceded = 0;
  let runnable = 0;
  let fetching = 0;
  let occupancy = 0;
  let usual = 0;
  let resultBytes = 0;
  let previous = NONE;
  const held = new Map<string, number>();
  for (
    let task = worker.firstProcessing;
    task !== NONE;
    task = t.nextProcessing(task)
  ) {
    check(
      s,
      task,
      t.state[task] === TaskState.Processing && t.worker[task] === worker.id,
      `is in the list of worker ${worker.id}`
    );
    check(
      s,
      task,
      t.runs.previous[t.runRow[task]!] === previous,
      'is mislinked'
    );
    check(
      s,
      task,
      !worker.lingering.has(t.runId[task]!),
      'its run is taken for one that was given up'
    );
    check(
      s,
      task,
      !t.hasFlag(task, TaskFlag.TakeBackAsked) ||
        worker.askedBack.has(t.runId[task]!),
      'no answer is expected to its being asked back'
    );
    const lacking = t
      .inputsOf(task)
      .filter(
        input =>
          t.state[input] === TaskState.Memory && !s.hasReplica(input, worker)
      ).length;
    check(s, task, t.lackingOf(task) === lacking, 'lacking is miscounted');
    const isRunnable =
      lacking === 0 &&
      t.waitingOn[task] === 0 &&
      !t.hasFlag(task, TaskFlag.Seceded);
    check(
      s,
      task,
      t.hasFlag(task, TaskFlag.Runnable) === isRunnable,
      'is runnable, or not, and taken for the contrary'
    );
    runnable += Number(isRunnable);
    fetching += Number(lacking > 0);
    previous = task;
    for (const { name, amount } of s.needOf(task) ?? []) {
      held.set(name, (held.get(name) ?? 0) + amount);
    }
    if (t.hasFlag(task, TaskFlag.Seceded)) {
      seceded++;
    } else {
      count++;
      occupancy += s.durations.booked(t.functionRow[task]!);
      usual += s.durations.usual(t.functionRow[task]!);
      resultBytes += s.resultSizes.booked(t.functionRow[task]!);
    }
  }
  invariant(worker.lastProcessing === previous, 'the list ends elsewhere');
  invariant(worker.processingCount === count, 'processing is miscounted');
  invariant(worker.runnableCount === runnable, 'the runnable are miscounted');
  invariant(worker.fetchingCount === fetching, 'the fetching are miscounted');
  invariant(worker.secededCount === seceded, 'seceded runs are miscounted');
  invariant(isNear(worker.occupancy, occupancy), 'occupancy is wrong');
  invariant(
    isNear(worker.usualSeconds.sum, usual),
    'what its tasks usually take is wrong'
  );
  invariant(
    isNear(worker.resultBytes.sum, resultBytes),
    "its tasks' results are misjudged"
  );
  invariant(
    worker.lingering.size > 0 || worker.lingeringSeconds === 0,
    'a wait for runs that were given up is reckoned with, and there are none'
  );
  for (const { need } of worker.resources.kept()) {
    for (const { name, amount } of need) {
      held.set(name, (held.get(name) ?? 0) + amount);
    }
  }
  for (const [name, { held: booked, total }] of worker.resources.amounts()) {
    const sum = held.get(name) ?? 0;
    invariant(isNear(booked, sum), `${name} is miscounted`);
    invariant(sum <= total || isNear(sum, total), `too much ${name} is held`);
    held.delete(name);
  }
  invariant(held.size === 0, 'what the worker does not have is held');
  invariant(worker.queuedCount === queued, 'the queue is miscounted');
  let queuedSeconds = 0;
  let lackingCount = 0;
  let rootSeconds = 0;
  let stored = 0;
  let results = 0;
  for (let task = 0; task < t.capacity; task++) {
    if (t.state[task] === TaskState.Queued && t.worker[task] === worker.id) {
      lackingCount += Number(t.hasFlag(task, TaskFlag.Lacks));
      const seconds = s.durations.booked(t.functionRow[task]!);
      if (t.isRoot(task)) {
        rootSeconds += seconds;
      } else {
        queuedSeconds += seconds;
      }
      check(
        s,
        task,
        t.hasFlag(task, TaskFlag.Lacks) || s.hasInputs(task, worker),
        'is queued as if its worker had all its inputs'
      );
    }
    if (t.state[task] === TaskState.Memory && s.hasReplica(task, worker)) {
      stored += t.nbytes[task]!;
      results++;
      check(s, task, worker.results?.has(task) ?? true, 'is not among results');
    }
  }
  invariant(
    isNear(worker.queuedSeconds.sum, queuedSeconds),
    'the seconds of the queue are wrong'
  );
  invariant(
    worker.lackingCount === lackingCount,
    'queued tasks that lack inputs are miscounted'
  );
  invariant(
    isNear(worker.rootSeconds.sum, rootSeconds),
    'the seconds of the roots are wrong'
  );
  invariant(isNear(worker.storedBytes, stored), 'stored bytes are wrong');
  invariant(
    (worker.results?.size ?? results) === results,
    'a retiring worker has results too many'
  );
}

function checkNothingIdle(s: SchedulerState): void {
  const waiting = neglected(s);
  invariant(
    waiting === NONE,
    `a worker has resources free, yet task ${waiting} is queued`
  );
  const common = s.peekQueue(s.commonQueue, null);
  for (const worker of s.workers.all) {
    const waiting: number[] = [];
    if (common !== NONE && hasRoomFor(s, common, worker)) {
      waiting.push(common);
    }
    const own = s.peekQueue(worker.queue, worker);
    if (own !== NONE && hasRoom(s, worker)) {
      waiting.push(own);
    }
    for (const queue of [worker.fetchQueue, worker.rootQueue]) {
      const task = s.peekQueue(queue, worker);
      if (task !== NONE && hasRoomFor(s, task, worker)) {
        waiting.push(task);
      }
    }
    for (const task of waiting) {
      invariant(
        task === NONE || !mayFollow(s, task, worker),
        `worker ${worker.id} has room, yet task ${task} is queued`
      );
    }
  }
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a), Math.abs(b));
}
