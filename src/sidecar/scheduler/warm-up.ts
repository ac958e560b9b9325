/**
 * Runs throw-away graphs through everything that a real one goes through, so that the first real graph finds compiled code and costs a third
 * of what it costs cold. In the scheduler process, while its workers are still starting.
 */
import { NONE_U32 } from '../../records/enumerations';
import { FrameDecoder, FrameEncoder } from '../../wire/frame';
import type { Message, TablesInput } from '../../wire/schema';
import type { AcceptedLink } from '../../link/door';
import { ClientSession, type IClientHost } from './client-messages';
import { ClusterState } from './cluster-state';
import { InstructionPerformer } from './instructions';
import { MemoryRuns } from './memory-runs';
import { NamesOf } from '../../sources';
import { takeWorkerMessage } from './worker-messages';
import { WorkerSession } from './worker-session';

const ROUNDS = 12;
/** Leaves of the tree: its 2 * 512 − 1 tasks take about 5 ms cold and 2 ms warm, too short to disturb other work. */
const LEAVES = 512;
const WORKERS = 2;
const TASK_SECONDS = 20e-6;

/**
 * Warms up in slices of one graph, other work of the process in between.
 *
 * @param isNeeded - asked before each slice: no more once real work has come.
 */
export async function warmUp(
  clock: () => number,
  isNeeded: () => boolean
): Promise<void> {
  const rehearsal = new Rehearsal(clock);
  for (let round = 0; round < ROUNDS && isNeeded(); round++) {
    rehearsal.run();
    await new Promise(resolve => setImmediate(resolve));
  }
}

type Assigned = { worker: number; taskIds: number[]; runIds: number[] };

/** A cluster without sockets: what goes out is encoded, what its workers would answer is encoded and decoded. */
class Rehearsal implements IClientHost {
  readonly memoryRuns: MemoryRuns;
  private readonly _state: ClusterState;
  private readonly _performer: InstructionPerformer;
  private readonly _client: ClientSession;
  private readonly _clientUp = new FrameEncoder('client', 'up');
  private readonly _fromClient = new FrameDecoder('client', 'up');
  private readonly _workerUp = new FrameEncoder('worker', 'up');
  private readonly _fromWorker = new FrameDecoder('worker', 'up');
  private readonly _clientLink: AcceptedLink<'client'>;
  private _assigned: Assigned[] = [];
  private _nextId = 0;
  private _generation = 0;

  constructor(private readonly _clock: () => number) {
    this._state = new ClusterState(_clock, _clock(), () => undefined);
    this._performer = new InstructionPerformer(this._state);
    this.memoryRuns = new MemoryRuns(this._state.log, _clock, () => []);
    const down = new FrameEncoder('client', 'down');
    this._clientLink = {
      send: (...message: Parameters<typeof down.encode>) =>
        void down.encode(...message),
      flush: () => undefined
    } as unknown as AcceptedLink<'client'>;
    const names = new NamesOf(this._state.log.names, false);
    this._client = new ClientSession(
      this._clientLink,
      this._state,
      names,
      this
    );
    for (let worker = 0; worker < WORKERS; worker++) {
      this._join(worker);
    }
  }

  /** One graph, from its submission until it is forgotten. */
  run(): void {
    const last = this._submit();
    this._perform();
    while (this._assigned.length > 0) {
      const assigned = this._assigned;
      this._assigned = [];
      assigned.forEach(each => this._finish(each));
      this._perform();
    }
    this._hear('release', {}, { ids: { id: [last] } });
    this._perform();
    this._state.log.commit(this._clock());
  }

  // ---- IClientHost: a rehearsal has no use for it

  reportAlso(): void {}
  refuse(): void {}
  freeIds(): void {}
  flush(): void {}
  memoryRatesChanged(): void {}
  clientWaits(): void {}
  close(): void {}
  warn(): void {}

  private _join(worker: number): void {
    const intro = {
      worker,
      pid: 0,
      threads: 1,
      memoryLimit: 0,
      host: '',
      address: '',
      versions: {}
    };
    const down = new FrameEncoder('worker', 'down');
    const link = {
      send: (...message: Parameters<typeof down.encode>) => {
        const [type, , tables] = message;
        down.encode(...message);
        if (type === 'assign') {
          const { tasks } = tables as TablesInput<'worker', 'down', 'assign'>;
          this._assigned.push({
            worker,
            taskIds: Array.from(tasks!.taskId).slice(0, tasks!.rows),
            runIds: Array.from(tasks!.runId).slice(0, tasks!.rows)
          });
        }
      },
      flush: () => undefined
    } as unknown as AcceptedLink<'worker'>;
    const { workers, log, at } = this._state;
    workers.set(worker, new WorkerSession(link, intro));
    log.workerJoined(this._clock(), { ...intro, name: '' });
    this._state.handle({ type: 'workerJoined', at, ...intro });
  }

  /** A binary tree in depth-first order; the ids of leaves have no inputs. */
  private _submit(): number {
    const inputs: number[][] = [];
    const first = this._nextId;
    const build = (leaves: number): number => {
      const own = leaves === 1 ? [] : [build(leaves >> 1), build(leaves >> 1)];
      return first + inputs.push(own) - 1;
    };
    const last = build(LEAVES);
    const count = inputs.length;
    this._nextId += count;
    const zeros = new Uint8Array(count);
    let dependency = 0;
    const isFirst = this._generation === 0;
    this._hear(
      'submit',
      {
        generation: this._generation++,
        names: isFirst ? ['leaf', 'add'] : [],
        templates: isFirst ? [{ id: 0, blob: 1 }] : [],
        keysBlob: 0
      },
      {
        tasks: {
          id: inputs.map((_, i) => first + i),
          group: zeros,
          suffix: inputs.map((_, i) => 4 * i),
          function: inputs.map(own => Math.min(own.length, 1)),
          span: zeros,
          origin: zeros,
          template: zeros,
          chunk: new Uint32Array(count).fill(NONE_U32),
          row: zeros,
          flags: inputs.map((_, i) => Number(first + i === last)),
          retries: zeros,
          restriction: zeros,
          userPriority: zeros,
          firstDependency: inputs.map(own => {
            const start = dependency;
            dependency += own.length;
            return start;
          })
        },
        dependencies: { id: inputs.flat() }
      },
      [new Uint8Array(4 * count), new Uint8Array(64)]
    );
    return last;
  }

  private _hear(
    ...message: Parameters<FrameEncoder<'client', 'up'>['encodeBody']>
  ): void {
    const body = this._clientUp.encodeBody(...message);
    this._client.take(this._fromClient.decode(body));
  }

  private _finish({ worker, taskIds, runIds }: Assigned): void {
    const count = taskIds.length;
    const zeros = new Uint8Array(count);
    const seconds = new Float64Array(count).fill(TASK_SECONDS);
    const now = this._clock();
    const body = this._workerUp.encodeBody(
      'finished',
      {},
      {
        runs: {
          taskId: taskIds,
          runId: runIds,
          status: zeros,
          thread: zeros,
          start: taskIds.map(() => now),
          duration: seconds,
          cpu: seconds,
          waitInputs: zeros,
          waitThread: zeros,
          nbytes: taskIds.map(() => 28),
          inlineStart: zeros,
          inlineLength: zeros,
          firstPart: zeros
        }
      },
      [new Uint8Array(8)]
    );
    const message = this._fromWorker.decode(body) as Message<
      'worker',
      'up',
      'finished'
    >;
    const session = this._state.workers.get(worker)!;
    const runs = takeWorkerMessage(this._state, session, message);
    if (runs !== null) {
      this._state.log.finished(
        worker,
        message.tables,
        runs.tasks,
        this._state.rows
      );
    }
  }

  private _perform(): void {
    this._performer.perform(this._clientLink, []);
    this._performer.giveBackIds();
  }
}
