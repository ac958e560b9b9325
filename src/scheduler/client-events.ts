import { ReportStatus } from '../records/enumerations';
import { want } from './graph-intake';
import { NONE } from './edge-table';
import type {
  ClientCancels,
  ClientReleases,
  ClientRetries,
  ClientWants
} from './events';
import type { SchedulerState } from './scheduler-state';
import { FailureReason, TaskState } from './task-state';
import { dropIfUnneeded, move } from './transitions';

/** Handles clients' events. The moves that these recommend are settled by `Scheduler.handle`, not here. */

export function clientWants(s: SchedulerState, event: ClientWants): void {
  for (const task of event.taskIds) {
    if (s.tasks.state[task] !== TaskState.Forgotten) {
      want(s, task, event.client);
    }
  }
}

export function clientReleases(s: SchedulerState, event: ClientReleases): void {
  for (const task of event.taskIds) {
    unwant(s, task, event.client);
  }
}

function unwant(s: SchedulerState, task: number, client: number): boolean {
  const tasks = s.tasks;
  const head = tasks.firstWant[task]!;
  if (head === NONE || !tasks.wants.has(head, client)) {
    return false;
  }
  tasks.firstWant[task] = tasks.wants.remove(head, client);
  dropIfUnneeded(s, task);
  return true;
}

export function clientLeft(s: SchedulerState, client: number): void {
  for (let task = 0; task < s.tasks.capacity; task++) {
    unwant(s, task, client);
  }
  s.output.dropClient(client);
}

/** Gives up the tasks and all that depend on them, as far as this client wants them. */
export function clientCancels(s: SchedulerState, event: ClientCancels): void {
  const tasks = s.tasks;
  const seen = new Set<number>();
  for (const named of event.taskIds) {
    const stack: number[] = [named];
    while (stack.length > 0) {
      const task = stack.pop()!;
      if (seen.has(task) || tasks.state[task] === TaskState.Forgotten) {
        continue;
      }
      seen.add(task);
      if (unwant(s, task, event.client)) {
        s.output.report(
          event.client,
          task,
          ReportStatus.Cancelled,
          named,
          FailureReason.None
        );
      }
      pushAll(stack, tasks.dependentsOf(task));
    }
  }
}

/**
 * Tries erred tasks again: the named ones, the failed tasks that caused their errors, and every other task that erred
 * because of those.
 */
export function clientRetries(s: SchedulerState, event: ClientRetries): void {
  const tasks = s.tasks;
  const stack: number[] = [...event.taskIds];
  while (stack.length > 0) {
    const task = stack.pop()!;
    if (tasks.state[task] === TaskState.Erred) {
      pushAll(stack, tasks.inputsOf(task));
      pushAll(stack, tasks.dependentsOf(task));
      move(s, task, TaskState.Released);
    }
  }
}

/** As arguments of one call, some 100,000 would be too many. */
function pushAll(stack: number[], tasks: readonly number[]): void {
  for (const task of tasks) {
    stack.push(task);
  }
}
