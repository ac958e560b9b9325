import { denseIds, idOf } from '../../../testing/ids';
import { NONE_U32 } from '../../../records/enumerations';
import * as fc from 'fast-check';
import { FrameDecoder, FrameEncoder } from '../../../wire/frame';
import type { Message } from '../../../wire/schema';
import type { AcceptedLink } from '../../../link/door';
import { NamesOf } from '../../../sources';
import { AssignBuilder } from '../assign-message';
import { BlobStore } from '../blob-store';
import { ClientSession, type IClientHost } from '../client-messages';
import { ClusterState } from '../cluster-state';
import { InstructionPerformer } from '../instructions';
import { MemoryRuns } from '../memory-runs';
import { takeWorkerMessage } from '../worker-messages';
import { WorkerSession } from '../worker-session';

const IDLE_TEMPLATES = 2;
const IDLE_BYTES = 60;

const clientUp = new FrameEncoder('client', 'up');
const fromClient = new FrameDecoder('client', 'up');
const workerUp = new FrameEncoder('worker', 'up');
const fromWorker = new FrameDecoder('worker', 'up');

type Down = Message<'client', 'down'>;
type Assigned = Message<'worker', 'down', 'assign'>;
type QueuedRun = {
  readonly taskId: number;
  readonly runId: number;
  readonly text: string;
  readonly own: readonly number[];
};

/** A worker that keeps what it is sent, and minds what is missing. */
class ModelWorker {
  readonly templates = new Map<number, string>();
  readonly chunks = new Map<number, string>();
  readonly store = new Set<number>();
  queue: QueuedRun[] = [];

  take(message: Message<'worker', 'down'>): void {
    switch (message.type) {
      case 'assign':
        return this._assign(message);
      case 'dropBlobs':
        message.fields.templates.forEach(id =>
          expect(this.templates.delete(id)).toBe(true)
        );
        message.fields.chunks.forEach(id =>
          expect(this.chunks.delete(id)).toBe(true)
        );
        return;
      case 'release': {
        const gone = new Set(message.tables.ids.taskId);
        gone.forEach(id => this.store.delete(id));
        this.queue = this.queue.filter(run => !gone.has(run.taskId));
        return;
      }
      default:
        return;
    }
  }

  private _assign({ fields, tables, blobs }: Assigned): void {
    fields.templates.forEach(({ id, blob }) =>
      this.templates.set(id, textOf(blobs[blob]!))
    );
    fields.chunks.forEach(({ id, blob }) =>
      this.chunks.set(id, textOf(blobs[blob]!))
    );
    const { tasks, dependencies } = tables;
    for (let i = 0; i < tasks.rows; i++) {
      const stop =
        i + 1 < tasks.rows ? tasks.firstDependency[i + 1]! : dependencies.rows;
      const chunk = tasks.chunk[i]!;
      this.queue.push({
        taskId: tasks.taskId[i]!,
        runId: tasks.runId[i]!,
        text: `${this.templates.get(tasks.template[i]!)} ${
          chunk === NONE_U32 ? '' : this.chunks.get(chunk)
        }`,
        own: [
          ...dependencies.taskId.slice(tasks.firstDependency[i], stop)
        ].filter(
          (_, k) =>
            dependencies.worker[tasks.firstDependency[i]! + k] === this.id
        )
      });
    }
  }

  constructor(readonly id: number) {}
}

/**
 * A cluster without sockets whose client forgets templates as the real one does. Messages between client and scheduler lie in queues until
 * the tape says that they arrive: whatever can cross does.
 */
class World implements IClientHost {
  readonly state: ClusterState;
  readonly memoryRuns: MemoryRuns;
  readonly startingCount = 0;
  readonly workers = new Map<number, ModelWorker>();
  /** Client ids with futures. */
  readonly held = new Set<number>();
  /** What each run was found to be about to do, and what it should. */
  readonly runs: [found: string, expected: string][] = [];
  private readonly _performer: InstructionPerformer;
  private readonly _session: ClientSession;
  private readonly _up: (() => void)[] = [];
  private readonly _down: Down[] = [];
  private readonly _known = new Map<string, { id: number; named: number }>();
  private readonly _expected = new Map<number, string>();
  private _nextTemplate = 0;
  private _nextChunk = 0;
  private _nextId = 0;
  private _nextWorker = 0;
  private _generation = -1;
  private _time = 0;

  /** By link, what leaves with what is sent next, or by itself when nothing else is to be done. */
  private readonly _late: (() => void)[][] = [];

  constructor() {
    const clock = (): number => (this._time += 0.001);
    this.state = new ClusterState(clock, 0, () => undefined);
    (this.state as { blobs: BlobStore }).blobs = new BlobStore(
      IDLE_TEMPLATES,
      IDLE_BYTES
    );
    this._performer = new InstructionPerformer(this.state);
    this.memoryRuns = new MemoryRuns(this.state.log, clock, () => []);
    this._session = new ClientSession(
      this._link('client', message => this._down.push(message)),
      this.state,
      new NamesOf(this.state.log.names, false),
      this,
      0,
      null
    );
  }

  module(): void {
    throw new Error('nobody loads a module here');
  }

  standing(): string {
    return '';
  }

  ownProfile(): string {
    throw new Error('nobody asks where this process is');
  }

  clientNumbers(): number[] {
    return [];
  }

  othersThan(): number {
    return 0;
  }

  reportAlso(): void {}
  refuse(): void {}
  freeIds(): void {}
  flush(): void {}
  memoryRatesChanged(): void {}
  clientWaits(): void {}
  launchChanged(): void {}
  command(): void {
    throw new Error('There are no workers to change.');
  }

  reserve(): { workers: number[]; sentence: string } {
    return { workers: [], sentence: 'There are no workers to start.' };
  }

  workerEnded(): void {}
  close(): void {}
  warn(): void {}

  join(): void {
    const worker = this._nextWorker++;
    const model = new ModelWorker(worker);
    const intro = {
      worker,
      pid: 0,
      name: '',
      threads: 1,
      memoryLimit: 0,
      resources: {},
      host: '',
      address: '',
      directory: '',
      versions: {}
    };
    const link = this._link('worker', message => model.take(message));
    this.workers.set(worker, model);
    this.state.workers.set(worker, new WorkerSession(link, intro));
    this.state.log.workerJoined(this.state.clock(), intro);
    this.state.handle({ type: 'workerJoined', at: this.state.at, ...intro });
    this.turn();
  }

  die(worker: number): void {
    this.workers.delete(worker);
    this.state.workers.delete(worker);
    this.state.handle({
      type: 'workerLeft',
      at: this.state.at,
      worker,
      why: 'closed'
    });
    this.turn();
  }

  /** A chain or some tasks side by side, in one message or two. */
  submit(contents: readonly string[], pieces: number, onInputs: boolean): void {
    const generation = ++this._generation;
    const size = Math.ceil(contents.length / pieces);
    let before = onInputs ? ([...this.held].at(-1) ?? -1) : -1;
    for (let start = 0; start < contents.length; start += size) {
      const piece = contents.slice(start, start + size);
      const isLast = start + size >= contents.length;
      const first = this._nextId;
      this._nextId += piece.length;
      const fresh: { id: number; text: string }[] = [];
      const template = piece.map(text => {
        const known = this._known.get(text);
        if (known !== undefined) {
          known.named = generation;
          return known.id;
        }
        const id = this._nextTemplate++;
        this._known.set(text, { id, named: generation });
        fresh.push({ id, text });
        return id;
      });
      const chunk = this._nextChunk++;
      const inputs = piece.map((_, i) => {
        const input = before;
        before = onInputs ? first + i : -1;
        return input < 0 ? [] : [input];
      });
      const wanted = piece.map(
        (_, i) => (isLast && i === piece.length - 1) || (first + i) % 3 === 0
      );
      piece.forEach((text, i) => {
        this._expected.set(first + i, `${text} literals ${chunk}`);
        if (wanted[i]) {
          this.held.add(first + i);
        }
      });
      let dependency = 0;
      this._say(
        'submit',
        {
          generation,
          last: isLast,
          names: generation === 0 && start === 0 ? ['f'] : [],
          templates: fresh.map(({ id }, i) => ({ id, blob: 2 + i })),
          chunks: [{ id: chunk, blob: 1, rows: 1 }],
          keysBlob: 0
        },
        {
          tasks: {
            id: piece.map((_, i) => first + i),
            group: piece.map(() => 0),
            suffix: piece.map((_, i) => i),
            function: piece.map(() => 0),
            span: piece.map(() => 0),
            origin: piece.map(() => 0),
            priority: piece.map((_, i) => start + i),
            template,
            chunk: piece.map(() => chunk),
            row: piece.map(() => 0),
            flags: wanted.map(Number),
            retries: piece.map(() => 0),
            restriction: piece.map(() => 0),
            userPriority: piece.map(() => 0),
            firstDependency: inputs.map(own => {
              const at = dependency;
              dependency += own.length;
              return at;
            })
          },
          dependencies: { id: inputs.flat() }
        },
        [
          bytesOf('k'.repeat(piece.length)),
          bytesOf(`literals ${chunk}`),
          ...fresh.map(({ text }) => bytesOf(text))
        ]
      );
    }
  }

  scatter(): void {
    const [worker] = this.workers.keys();
    if (worker === undefined) {
      return;
    }
    const id = this._nextId++;
    this.held.add(id);
    this._say(
      'scattered',
      { names: [], keysBlob: 0 },
      {
        tasks: {
          id: [id],
          group: [0],
          suffix: [0],
          function: [0],
          span: [0],
          flags: [1],
          nbytes: [8]
        },
        holders: { row: [0], worker: [worker] }
      },
      [bytesOf('k')]
    );
  }

  tell(what: 'release' | 'cancel' | 'retry', id: number): void {
    if (what !== 'retry') {
      this.held.delete(id);
    }
    this._say(what, {}, { ids: { id: [id] } });
    if (what === 'cancel') {
      this._say('release', {}, { ids: { id: [id] } });
    }
  }

  /** A run ends. */
  step(worker: ModelWorker, fails: boolean): void {
    const run = worker.queue.shift();
    if (run === undefined) {
      return;
    }
    const task = this.state.rows.ids.resolve(idOf(run.taskId));
    const clientId = this.state.rows.clientId[task]!;
    this.runs.push([run.text, this._expected.get(clientId)!]);
    const absent = run.own.filter(input => !worker.store.has(input));
    const status = absent.length > 0 ? 2 : Number(fails);
    if (status === 0) {
      worker.store.add(run.taskId);
    }
    const one = [0];
    const body = workerUp.encodeBody(
      'finished',
      {
        errors:
          status === 1
            ? [{ row: 0, type: 'E', message: '', text: '', blob: -1 }]
            : []
      },
      {
        runs: {
          taskId: [run.taskId],
          runId: [run.runId],
          status: [status],
          thread: one,
          start: one,
          duration: [0.001],
          cpu: one,
          waitInputs: one,
          waitThread: one,
          nbytes: [8],
          inlineStart: one,
          inlineLength: [NONE_U32],
          firstPart: one,
          type: one
        },
        missing: { taskId: absent, worker: absent.map(() => worker.id) }
      },
      [new Uint8Array(0)]
    );
    takeWorkerMessage(
      this.state,
      this.state.workers.get(worker.id)!,
      fromWorker.decode(body)
    );
    this.turn();
  }

  /** The oldest message on its way to the scheduler, or to the client, arrives. */
  arrive(toClient: boolean): void {
    if (!toClient) {
      this._up.shift()?.();
      return;
    }
    const message = this._down.shift();
    if (message?.type === 'unused') {
      const { generation, templates } = message.fields;
      const given = templates.filter(id => {
        const [text, known] = [...this._known].find(([, k]) => k.id === id)!;
        return known.named <= generation && this._known.delete(text);
      });
      this._say('forget', { templates: given });
    }
  }

  drain(): void {
    for (;;) {
      const worker = [...this.workers.values()].find(w => w.queue.length > 0);
      if (this._up.length > 0) {
        this.arrive(false);
      } else if (this._down.length > 0) {
        this.arrive(true);
      } else if (worker !== undefined) {
        this.step(worker, false);
      } else if (!this._patienceEnds()) {
        return;
      }
    }
  }

  /** What was to leave with something else leaves by itself; false: there is nothing. */
  private _patienceEnds(): boolean {
    const waiting = this._late.filter(({ length }) => length > 0);
    waiting.forEach(leave);
    return waiting.length > 0;
  }

  /** As the client's end of an interrupted submission: everything is given back. */
  forgetAll(): void {
    const templates = [...this._known.values()].map(({ id }) => id);
    this._known.clear();
    this._say('forget', { templates });
    this.drain();
  }

  turn(): void {
    this._performer.perform(new Map());
    this._performer.giveBackIds();
    this._session.askForUnused(this.state.blobs.takeExcess());
  }

  private _say(
    ...message: Parameters<FrameEncoder<'client', 'up'>['encodeBody']>
  ): void {
    const body = clientUp.encodeBody(...message);
    this._up.push(() => {
      this._session.take(fromClient.decode(body));
      this.turn();
    });
  }

  private _link<L extends 'client' | 'worker'>(
    role: L,
    take: (message: Message<L, 'down'>) => void
  ): AcceptedLink<L> {
    const encoder = new FrameEncoder(role, 'down');
    const decoder = new FrameDecoder(role, 'down');
    type Sent = Parameters<typeof encoder.encodeBody>;
    const late: (() => void)[] = [];
    this._late.push(late);
    const sendLater = (...message: Sent): void => {
      const body = encoder.encodeBody(...message);
      late.push(() => take(decoder.decode(body)));
    };
    return {
      intro: {},
      sendLater,
      send: (...message: Sent) => {
        sendLater(...message);
        leave(late);
      },
      flush: () => undefined
    } as unknown as AcceptedLink<L>;
  }
}

function leave(late: (() => void)[]): void {
  late.splice(0).forEach(act => act());
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function act(world: World, number: number): void {
  const pick = number >> 4;
  const workers = [...world.workers.values()];
  const worker = workers[pick % workers.length];
  const held = [...world.held];
  const id = held[pick % held.length];
  switch (number % 16) {
    case 0:
    case 1: {
      // Few different ones, so that they come again after they have been given back; some larger than all that may rest.
      const contents = Array.from(
        { length: 1 + (pick % 5) },
        (_, i) =>
          `template ${(pick + i * i) % 6} ${'.'.repeat((pick % 3) * 40)}`
      );
      return world.submit(contents, 1 + (pick % 2), pick % 4 < 2);
    }
    case 2:
    case 3:
      return id === undefined ? undefined : world.tell('release', id);
    case 4:
      return id === undefined ? undefined : world.tell('cancel', id);
    case 5:
      return id === undefined ? undefined : world.tell('retry', id);
    case 6:
      return worker !== undefined && pick % 3 === 0
        ? world.die(worker.id)
        : undefined;
    case 7:
      return workers.length < 3 ? world.join() : undefined;
    case 8:
      return pick % 4 === 0 ? world.scatter() : undefined;
    case 9:
    case 10:
    case 11:
      return world.arrive(pick % 2 === 0);
    default:
      return worker && world.step(worker, pick % 5 === 0);
  }
}

function checkWorkersHaveOnlyWhatIsKept(world: World): void {
  const { blobs } = world.state;
  for (const { templates, chunks } of world.workers.values()) {
    for (const id of templates.keys()) {
      expect(blobs.template(id)).toBeDefined();
    }
    for (const id of chunks.keys()) {
      expect(blobs.chunk(id)).toBeDefined();
    }
  }
}

describe('blobs of tasks', () => {
  it('are there for every run, whatever crosses, and go with the last of their tasks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 0xffff }), { maxLength: 150, size: 'max' }),
        tape => {
          const world = new World();
          world.join();
          for (const number of tape) {
            act(world, number);
            checkWorkersHaveOnlyWhatIsKept(world);
          }
          world.join();
          world.drain();
          for (const [found, expected] of world.runs) {
            expect(found).toBe(expected);
          }
          [...world.held].forEach(id => world.tell('release', id));
          world.drain();
          const { blobs, core } = world.state;
          expect(core.tasks.size).toBe(0);
          expect(blobs.size).toBeLessThanOrEqual(IDLE_TEMPLATES);
          world.forgetAll();
          expect(blobs.size).toBe(0);
          for (const { templates, chunks } of world.workers.values()) {
            expect([...templates, ...chunks]).toEqual([]);
          }
        }
      ),
      { numRuns: 100 }
    );
  });

  it('rest for the client to name again, so many and so many bytes', () => {
    const blobs = new BlobStore(3, 100);
    const idle = (id: number, nbytes: number): void => {
      blobs.addTemplate(id, new Uint8Array(nbytes));
      blobs.useTemplate(id, 2);
      blobs.unuseTemplate(id, 2);
    };
    [1, 2, 3].forEach(id => idle(id, 10));
    expect(blobs.takeExcess()).toEqual([]);
    idle(4, 10);
    expect(blobs.takeExcess()).toEqual([1]);
    idle(5, 90);
    expect(blobs.takeExcess()).toEqual([2, 3]);
    // Asked for, and named again meanwhile: asked for again when it rests again.
    blobs.useTemplate(2, 1);
    blobs.unuseTemplate(2, 1);
    idle(6, 95);
    expect(blobs.takeExcess()).toEqual([4, 5, 2]);
    blobs.forget([2, 99]);
    expect(blobs.takeFreed()).toEqual({ templates: [2], chunks: [] });
  });

  it('come in messages of a size that a worker can take in, in the order of their tasks', () => {
    const count = 30;
    const state = new ClusterState(
      () => 0,
      0,
      () => undefined
    );
    const { rows, blobs } = state;
    const { tasks } = state.core;
    tasks.ensure(count);
    const taskIds = denseIds(
      ...Array.from({ length: count }, (_, i) => rows.take(idOf(i), 0))
    );
    for (const task of taskIds) {
      blobs.addChunk(task, new Uint8Array(1 << 20));
      rows.template[task] = NONE_U32;
      rows.chunk[task] = task;
    }
    const has = { templates: new Set<number>(), chunks: new Set<number>() };
    const assign = {
      type: 'assign' as const,
      worker: 0,
      taskIds,
      runIds: Uint32Array.from(taskIds),
      priorities: null
    };
    const builder = new AssignBuilder(rows, blobs, 0);
    const found: number[] = [];
    const sizes: number[] = [];
    for (let begin = 0; begin < count;) {
      const message = builder.build(assign, tasks, has, begin);
      const { rows: length, runId } = message.tables.tasks;
      found.push(...runId.slice(0, length));
      sizes.push(message.blobs.length);
      begin = message.end;
    }
    expect(found).toEqual([...taskIds]);
    expect(sizes).toEqual([8, 8, 8, 6]);
    expect(builder.build(assign, tasks, has).end).toBe(count);
  });

  it('keep no message alive of which they are a small part', () => {
    const blobs = new BlobStore();
    const message = new Uint8Array(1000);
    blobs.addTemplate(1, message.subarray(0, 300));
    blobs.addChunk(1, message.subarray(300, 900));
    expect(blobs.template(1)!.buffer.byteLength).toBe(300);
    expect(blobs.chunk(1)!.buffer).toBe(message.buffer);
  });
});
