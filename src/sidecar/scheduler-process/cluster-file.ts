/**
 * Writes the file with which other programs of this user join the cluster, beside its socket. In the scheduler's process.
 *
 * ```
 *   spanwise-XXXX/            0700
 *     scheduler.sock          what guests dial (or a port of the loopback interface)
 *     cluster.json            0600: where that is, and who listens
 *     secret                  0600: what opens it
 * ```
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterSettings } from '../../wire/cluster-settings';
import { PROTOCOL } from '../../wire/handshake-messages';
import { BUILD } from '../build';

const FILE = 'cluster.json';
const SECRET = 'secret';
/** What the file is called until it is complete. */
const PART = 'cluster.json.part';

/**
 * Where a guest finds a cluster; docs/contracts.md §8. A cluster that was killed may have left its file in the folder: no guest is to read
 * that, even if the new one cannot be written.
 */
export async function writeClusterFile(
  folder: string,
  settings: ClusterSettings,
  address: string
): Promise<void> {
  await removeClusterFile(folder);
  try {
    await writeFiles(folder, settings, address);
  } catch (error) {
    await removeClusterFile(folder);
    throw error;
  }
}

async function writeFiles(
  folder: string,
  settings: ClusterSettings,
  address: string
): Promise<void> {
  const secretFile = join(folder, SECRET);
  await writePrivate(secretFile, settings.secretHex);
  const { executable, prefix, versions } = settings.launch;
  await writePrivate(
    join(folder, PART),
    `${JSON.stringify(
      {
        protocol: PROTOCOL,
        build: BUILD,
        clusterId: settings.clusterId,
        name: settings.name,
        address,
        secretFile,
        pid: process.pid,
        environment: { executable, prefix, versions },
        observer: settings.observer
      },
      null,
      1
    )}\n`
  );
  await rename(join(folder, PART), join(folder, FILE));
}

/** Nobody is to look for a cluster that has ended. */
export async function removeClusterFile(folder: string): Promise<void> {
  for (const name of [FILE, PART, SECRET]) {
    await rm(join(folder, name), { force: true });
  }
}

/** It is never open to others, not even for the moment of writing it. */
function writePrivate(path: string, text: string): Promise<void> {
  return writeFile(path, text, { mode: 0o600, flag: 'wx' });
}
