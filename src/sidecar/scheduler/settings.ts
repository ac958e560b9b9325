/** Reads what the client has written for this scheduler. In the scheduler process. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  checkClusterFile,
  type ClusterSettings
} from '../../wire/cluster-file';

/**
 * @throws Error with a sentence when the file is not there or not as it should be.
 */
export async function readSettings(folder: string): Promise<ClusterSettings> {
  const text = await readFile(join(folder, 'cluster.json'), 'utf8');
  return checkClusterFile(JSON.parse(text));
}
