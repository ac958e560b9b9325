/** What the client writes into `cluster.json` before it starts a scheduler; docs/contracts.md §8. In the scheduler process. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { PROTOCOL } from '../../wire/handshake-messages';

const launch = v.object({
  executable: v.string(),
  path: v.array(v.string()),
  cwd: v.string(),
  env: v.optional(v.record(v.string(), v.string()), {}),
  versions: v.optional(v.record(v.string(), v.unknown()), {})
});

const settings = v.object({
  protocol: v.literal(PROTOCOL),
  clusterId: v.string(),
  name: v.string(),
  secretHex: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  transport: v.picklist(['unix', 'tcp']),
  nWorkers: v.pipe(v.number(), v.integer(), v.minValue(0)),
  threadsPerWorker: v.pipe(v.number(), v.integer(), v.minValue(1)),
  /** Bytes per worker; 0: no limit. */
  memoryLimit: v.number(),
  launch,
  observer: v.optional(
    v.nullable(v.object({ address: v.string(), secretFile: v.string() })),
    null
  ),
  /** Whether runs, stacks and memory are written down. Without an observer they are not either. */
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
  /** The wall clock's seconds at about the scheduler's start. */
  wallEpoch: v.number()
});

export type ClusterSettings = v.InferOutput<typeof settings>;
export type LaunchSpec = v.InferOutput<typeof launch>;

/**
 * @throws Error with a sentence when the file is not there or not as it should be.
 */
export async function readSettings(folder: string): Promise<ClusterSettings> {
  const path = join(folder, 'cluster.json');
  const result = v.safeParse(
    settings,
    JSON.parse(await readFile(path, 'utf8'))
  );
  if (!result.success) {
    const [issue] = result.issues;
    const where = v.getDotPath(issue) ?? 'the whole';
    throw new Error(`${path} is not right at ${where}: ${issue.message}`);
  }
  return result.output;
}
