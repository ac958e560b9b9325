import { RunStatus } from '../../records/enumerations';
import type { DenseTaskIds } from '../../records/ids';
import { Scheduler, TaskState } from '..';

/** More than a call takes arguments. */
const DEPENDENTS = 200_000;

it.each(['clientCancels', 'clientRetries'] as const)(
  '%s reaches the dependents of a task, however many there are',
  type => {
    const scheduler = new Scheduler();
    const count = DEPENDENTS + 1;
    const firstInput = new Uint32Array(count + 1);
    for (let i = 2; i <= count; i++) {
      firstInput[i] = i - 1;
    }
    scheduler.handle({
      type: 'graphSubmitted',
      at: 0,
      client: 0,
      generation: 0,
      last: true,
      taskIds: Int32Array.from({ length: count }, (_, i) => i) as DenseTaskIds,
      userPriority: null,
      functionIds: new Uint32Array(count),
      retries: null,
      restrictions: null,
      restrictionSets: [],
      firstInput,
      inputs: new Int32Array(DEPENDENTS) as DenseTaskIds,
      data: null,
      wanted: new Uint8Array(count).fill(1)
    });
    scheduler.takeInstructions();
    if (type === 'clientRetries') {
      scheduler.handle({
        type: 'workerJoined',
        ...{ at: 0, worker: 0, threads: 1, memoryLimit: 0, host: 'a' }
      });
      const [assigned] = scheduler.takeInstructions();
      scheduler.handle({
        type: 'tasksFinished',
        at: 0,
        worker: 0,
        taskIds: new Int32Array(1) as DenseTaskIds,
        runIds:
          assigned?.type === 'assign' ? assigned.runIds : new Uint32Array(),
        status: Uint8Array.of(RunStatus.Failed),
        nbytes: Float64Array.of(0),
        duration: Float64Array.of(0),
        missingInputs: new Int32Array() as DenseTaskIds,
        missingWorkers: new Uint16Array()
      });
      expect(scheduler.tasks.state[DEPENDENTS]).toBe(TaskState.Erred);
    }
    const taskIds = new Int32Array(1) as DenseTaskIds;
    scheduler.handle({ type, at: 1, client: 0, taskIds });
    expect(scheduler.tasks.state[DEPENDENTS]).toBe(
      type === 'clientCancels' ? TaskState.Forgotten : TaskState.Waiting
    );
  }
);
