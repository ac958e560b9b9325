/**
 * The settings that a client gives the scheduler that it starts, a line on its standard input; docs/contracts.md §8. Checked like a message.
 */
import * as v from 'valibot';
import { amounts } from './describe';
import { MAX_DENSE_IDS } from '../base/versioned-ids';
import { PROTOCOL } from './handshake-messages';
import { check } from './validate';

const launch = v.object({
  executable: v.string(),
  /** Where its packages are: environments may share an interpreter. */
  prefix: v.optional(v.string()),
  path: v.array(v.string()),
  cwd: v.string(),
  env: v.optional(v.record(v.string(), v.string()), {}),
  versions: v.optional(v.record(v.string(), v.unknown()), {}),
  /** What workers import ahead of their first task. */
  modules: v.optional(v.array(v.string()), [])
});

const share = v.optional(v.nullable(v.pipe(v.number(), v.minValue(0))));

/** What workers do as their memory fills, passed on to them: shares of the limit, and bytes; null: never. Without one: the worker's own default. */
const workerMemory = v.object({
  target: share,
  spill: share,
  pause: share,
  terminate: share,
  maxSpill: share,
  share,
  /** Where spilled results lie; null: in the cluster's folder. */
  folder: v.optional(v.nullable(v.string()))
});

const positive = v.pipe(v.number(), v.finite(), v.gtValue(0));

/** Whether and how often the threads of tasks are looked at, and how often workers send what was seen, seconds; whether the scheduler looks at itself unasked. */
const profile = v.object({
  enabled: v.optional(v.boolean(), true),
  interval: v.optional(positive, 0.01),
  cycle: v.optional(positive, 1),
  scheduler: v.optional(v.boolean(), false)
});

const clusterSettings = v.object({
  protocol: v.literal(PROTOCOL),
  clusterId: v.string(),
  name: v.string(),
  secretHex: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  transport: v.picklist(['unix', 'tcp']),
  /** Of tcp; 0: a free one. */
  port: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 16 - 1)),
    0
  ),
  nWorkers: v.pipe(v.number(), v.integer(), v.minValue(0)),
  threadsPerWorker: v.pipe(v.number(), v.integer(), v.minValue(1)),
  /** Bytes per worker; 0: no limit. */
  memoryLimit: v.number(),
  memory: v.optional(workerMemory, {}),
  profile: v.optional(profile, {}),
  /** Of each worker: what tasks may hold of it beside threads. */
  resources: v.optional(amounts, {}),
  /** So many transfers of each direction a worker keeps. */
  transferLogLength: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(1)),
    1000
  ),
  launch,
  observer: v.optional(
    v.nullable(v.object({ address: v.string(), secretFile: v.string() })),
    null
  ),
  /** The client's process; `started` tells it from a later one with its pid (`spanwise/processes/process_state.py`). */
  client: v.optional(
    v.nullable(
      v.object({
        pid: v.pipe(v.number(), v.integer(), v.minValue(1)),
        started: v.number()
      })
    ),
    null
  ),
  /** Seconds after which a stopped worker is removed; 0: never. */
  workerTtlSeconds: v.optional(v.pipe(v.number(), v.minValue(0)), 60),
  /** Roots go to a worker that has fewer than so many tasks per thread, `inf`: to all at once; null: by the scheduler's own rule. */
  workerSaturation: v.optional(
    v.nullable(
      v.union([v.literal('inf'), v.pipe(v.number(), v.finite(), v.gtValue(0))])
    ),
    null
  ),
  /** Whether runs, stacks and memory are recorded. Without an observer they are not recorded in any case. */
  recording: v.optional(v.boolean(), true),
  notebook: v.optional(
    v.nullable(
      v.object({
        kernelId: v.optional(v.string()),
        path: v.optional(v.string())
      })
    ),
    null
  ),
  /** Waiting tasks fail after so many seconds in which all workers are full and nothing moves; 0: never. */
  stallSeconds: v.optional(v.pipe(v.number(), v.minValue(0)), 30),
  /** So many workers may die while a task could be running there; with the next one it fails. */
  allowedFailures: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10_000)),
    3
  ),
  /** The cluster ends when nothing has been computed for so long (a server's: nor held, nor asked); 0: never. */
  idleSeconds: v.optional(v.pipe(v.number(), v.minValue(0)), 0),
  /** How many tasks there may be at a time: as many as there are ids, unless fewer for tests. */
  mostTasks: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_DENSE_IDS))
  ),
  /** Who ends the cluster by ending: one program, or the Jupyter server, whose notebooks share it. */
  owner: v.optional(v.picklist(['program', 'server']), 'program'),
  /** The wall clock's seconds at about the scheduler's start. */
  wallEpoch: v.number()
});

export type ClusterSettings = v.InferOutput<typeof clusterSettings>;
export type ClientProcess = NonNullable<ClusterSettings['client']>;
export type ProfileSettings = ClusterSettings['profile'];
export type WorkerMemory = ClusterSettings['memory'];
export type LaunchSpec = v.InferOutput<typeof launch>;

/** The thread time that a sample stands for; 0: none are taken. */
export function sampleSecondsOf({
  enabled,
  interval
}: ProfileSettings): number {
  return enabled ? interval : 0;
}

/**
 * @param content - the line's JSON, parsed.
 * @throws BrokenFrame naming the first field that is wrong.
 */
export function checkClusterSettings(content: unknown): ClusterSettings {
  return check(clusterSettings, content, 'the settings');
}
