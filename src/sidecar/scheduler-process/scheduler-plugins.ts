/**
 * Modules that clients have loaded into this process, and which are told what happens: `src/scheduler/plugin.ts` is what they may be. Only
 * who has the cluster's secret may load one, which is in a file that only its user can read: it is the user's own code.
 *
 * A plugin that throws, or takes too long, is reported and removed. One that does not end holds the scheduler, as any code here would.
 */
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type ModulePlugin,
  type PluginWorker,
  type RunPart,
  type SchedulerPlugin,
  TaskState,
  type TaskStateName,
  type TransitionFacts
} from '../../scheduler';
import { PartKind } from '../../records/enumerations';
import type { ClusterState } from './cluster-state';
import { factsOf } from './scheduler-watchers';
import type {
  Happening,
  IEventListener,
  Member,
  Move,
  Submitted,
  TaskEvents
} from './task-events';

export type ModuleOrder = {
  readonly name: string;
  readonly load: boolean;
  readonly path: string;
  readonly exported: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly idempotent: boolean;
};

type LoadOrder = Pick<ModuleOrder, 'path' | 'exported' | 'options'>;

/** What a test replaces. */
type Means = {
  readonly load: (order: LoadOrder) => Promise<SchedulerPlugin>;
  readonly loadSeconds: number;
  /** The processor's milliseconds of this process. */
  readonly cpuMs: () => number;
};

interface IModuleHost {
  /** Does something in this turn, after all sockets were read. */
  gather(act: () => void): void;
  /** A notice for the user. */
  warn(sentence: string): void;
}

/** What one plugin may take of the processor for the happenings of a turn, and in addition for each of them. */
const MOST_MS = 50;
const MOST_MS_EACH = 0.05;
/** What a module may take until it is loaded: less than clients wait for the answer. */
const LOAD_SECONDS = 20;

/** The processor's milliseconds of this process. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const STATES: readonly TaskStateName[] = [
  'forgotten',
  'released',
  'waiting',
  'no-worker',
  'queued',
  'processing',
  'memory',
  'erred'
];

const ACTIONS: Readonly<Record<PartKind, string>> = {
  [PartKind.Transfer]: 'transfer',
  [PartKind.DiskRead]: 'disk-read',
  [PartKind.Deserialize]: 'deserialize',
  [PartKind.Compute]: 'compute',
  [PartKind.Serialize]: 'serialize',
  [PartKind.DiskWrite]: 'disk-write',
  [PartKind.Import]: 'import'
};

/** The cluster, as far as plugins are told of it. */
type PluginCluster = Pick<ClusterState, 'start' | 'wallEpoch' | 'workers'> & {
  readonly events: Pick<TaskEvents, 'listen' | 'unlisten' | 'flush'>;
};

export class SchedulerPlugins implements IEventListener {
  private readonly _plugins = new Map<string, SchedulerPlugin>();
  /** Number of each worker that is there, or was when something happened that is still to be told. */
  private readonly _addresses = new Map<number, string>();
  private _isClosed = false;
  private readonly _means: Means;

  constructor(
    private readonly _cluster: PluginCluster,
    private readonly _host: IModuleHost,
    means: Partial<Means> = {}
  ) {
    this._means = { load, loadSeconds: LOAD_SECONDS, cpuMs, ...means };
  }

  /** Loads or unloads; `done` gets whether there was one of the name, and why it was not loaded. */
  take(order: ModuleOrder, done: (known: boolean, why: string) => void): void {
    const known = this._plugins.has(order.name);
    if (!order.load) {
      this._cluster.events.flush();
      this._remove(order.name);
      done(known, '');
    } else if (known && order.idempotent) {
      done(known, '');
    } else {
      void this._load(order).then(
        plugin =>
          this._host.gather(() => {
            this._add(order.name, plugin);
            done(known, '');
          }),
        (error: unknown) =>
          this._host.gather(() =>
            done(
              known,
              `${order.path} was not loaded: ${error instanceof NotLoadedError ? error.message : textOf(error)}`
            )
          )
      );
    }
  }

  close(): void {
    this._isClosed = true;
    for (const name of [...this._plugins.keys()]) {
      this._remove(name);
    }
  }

  hear(happened: readonly Happening[]): void {
    for (const [name, plugin] of [...this._plugins]) {
      const failLater = (what: string): void => {
        if (this._plugins.get(name) === plugin) {
          this._fail(name, what);
        }
      };
      const began = this._means.cpuMs();
      try {
        for (const each of happened) {
          this._catch(this._tell(plugin, each), failLater);
        }
      } catch (error) {
        this._fail(name, `has thrown ${textOf(error)}`);
        continue;
      }
      const took = this._means.cpuMs() - began;
      if (took > MOST_MS + happened.length * MOST_MS_EACH) {
        this._fail(
          name,
          `took ${Math.round(took)} ms of the processor for ${happened.length} calls, while the scheduler waited`
        );
      }
    }
    for (const each of happened) {
      if (each.what === 'remove-worker') {
        this._addresses.delete(each.worker!.id);
      }
    }
  }

  /** A module may wait for what never comes, and who asked for it waits with it. */
  private async _load(order: ModuleOrder): Promise<SchedulerPlugin> {
    const { load, loadSeconds } = this._means;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () =>
          reject(
            new NotLoadedError(
              `it did not get ready within ${loadSeconds} s. A top-level await of it, or a promise that its export returns, may wait for something that does not come`
            )
          ),
        loadSeconds * 1000
      );
    });
    try {
      return await Promise.race([load(order), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  private _add(name: string, plugin: SchedulerPlugin): void {
    if (this._isClosed) {
      return;
    }
    this._remove(name);
    if (this._plugins.size === 0) {
      for (const { id, intro } of this._cluster.workers.values()) {
        this._addresses.set(id, intro.address);
      }
      this._cluster.events.listen(this);
    } else {
      this._cluster.events.flush();
    }
    this._plugins.set(name, plugin);
  }

  private _fail(name: string, what: string): void {
    this._remove(name);
    this._host.warn(
      `The scheduler plugin "${name}" ${what}. It was removed; the cluster goes on.`
    );
  }

  private _remove(name: string): void {
    const plugin = this._plugins.get(name);
    if (plugin === undefined) {
      return;
    }
    this._plugins.delete(name);
    if (this._plugins.size === 0) {
      this._cluster.events.unlisten(this);
      this._addresses.clear();
    }
    const warn = (what: string): void =>
      this._host.warn(`The scheduler plugin "${name}" ${what} in close().`);
    try {
      this._catch(plugin.close?.(), warn);
    } catch (error) {
      warn(`has thrown ${textOf(error)}`);
    }
  }

  /** A method may be an async function, for which nobody waits: what it throws later would end this process. */
  private _catch(answer: unknown, fail: (what: string) => void): void {
    if (answer instanceof Promise) {
      answer.catch((error: unknown) =>
        this._host.gather(() => fail(`has thrown ${textOf(error)}`))
      );
    }
  }

  private _tell(plugin: SchedulerPlugin, happening: Happening): unknown {
    if (happening.what === 'move') {
      return plugin.transition?.(
        happening.key,
        STATES[happening.from]!,
        STATES[happening.to]!,
        this._factsOf(happening)
      );
    }
    return happening.what === 'graph'
      ? plugin.updateGraph?.(graphOf(happening))
      : this._tellMember(plugin, happening);
  }

  private _tellMember(plugin: SchedulerPlugin, member: Member): unknown {
    const { what, client, worker, why } = member;
    switch (what) {
      case 'add-worker':
        this._addresses.set(worker!.id, worker!.intro.address);
        return plugin.addWorker?.(factsOf(worker!) satisfies PluginWorker);
      case 'remove-worker':
        return plugin.removeWorker?.(factsOf(worker!), why);
      case 'add-client':
        return plugin.addClient?.(`client-${client}`);
      case 'remove-client':
        return plugin.removeClient?.(`client-${client}`);
      case 'restart':
        return plugin.restart?.();
      case 'log-event':
        return undefined;
    }
  }

  private _factsOf(move: Move): TransitionFacts {
    const { run, failure, worker } = move;
    const ended = move.to === TaskState.Memory || move.to === TaskState.Erred;
    return {
      time: this._wall(move.t),
      stimulus: move.stimulus,
      ...(worker < 0 ? {} : { worker: this._addressOf(worker) }),
      ...(run === null || !ended
        ? {}
        : {
            thread: run.ident,
            startstops: run.parts.map((part): RunPart => {
              const start = this._wall(run.start) + part.offset;
              const kind: PartKind = part.kind;
              return {
                action: ACTIONS[kind],
                start,
                stop: start + part.duration,
                ...(kind === PartKind.Transfer
                  ? { source: this._addressOf(part.from) }
                  : {})
              };
            })
          }),
      ...(run === null || move.to !== TaskState.Memory
        ? {}
        : { nbytes: run.nbytes, typename: run.type }),
      ...(failure === null ? {} : { cause: failure.cause }),
      ...(failure === null || failure.error === null
        ? {}
        : {
            exceptionText: `${failure.error.type}: ${failure.error.message}`,
            tracebackText: failure.error.text
          })
    };
  }

  private _addressOf(worker: number): string {
    return this._addresses.get(worker) ?? `worker-${worker}`;
  }

  private _wall(t: number): number {
    return t - this._cluster.start + this._cluster.wallEpoch;
  }
}

function graphOf({
  client,
  keys,
  inputs,
  wanted,
  stimulus
}: Submitted): Parameters<NonNullable<SchedulerPlugin['updateGraph']>>[0] {
  return {
    client: `client-${client}`,
    keys: keys.filter((_, i) => wanted[i] === 1),
    tasks: new Map(keys.map((key, i) => [key, inputs[i]!])),
    stimulus
  };
}

async function load({
  path,
  exported,
  options
}: LoadOrder): Promise<SchedulerPlugin> {
  if (!isAbsolute(path)) {
    throw new TypeError('its path is not absolute');
  }
  const module = (await import(pathToFileURL(path).href)) as Record<
    string,
    unknown
  >;
  const found = module[exported] as ModulePlugin | undefined;
  const plugin: unknown =
    typeof found === 'function' ? await found(options) : found;
  if (typeof plugin !== 'object' || plugin === null) {
    throw new TypeError(
      `its export "${exported}" is no plugin, and makes none: it is ${typeof plugin}`
    );
  }
  return plugin;
}

/** Why a module was not loaded, which is no error of its code: a sentence without a trace. */
class NotLoadedError extends Error {}

/** What was thrown, which may be anything. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error
      ? (error.stack ?? String(error))
      : String(error);
  } catch {
    return 'something that has no text';
  }
}
