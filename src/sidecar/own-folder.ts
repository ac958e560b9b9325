/** Leaving no traces: the folder that a program was started with. In the Node programs. */
import { readdir, readlink, rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** How the folders begin that workers make where `temporary-directory` says, with a link to them where they are looked for. */
const ELSEWHERE = 'spanwise-spill-';

/** Removes an entry that was made by Spanwise, and what a worker has written elsewhere if it is the link to that. */
export async function removeOwn(path: string): Promise<void> {
  const target = await readlink(path).catch(() => null);
  const options = { recursive: true, force: true, maxRetries: 3 };
  if (target !== null && basename(target).startsWith(ELSEWHERE)) {
    await rm(target, options);
  }
  await rm(path, options);
}

/**
 * Removes what a program and its parent put into its folder, and the folder itself if that leaves it empty. All other entries stay:
 * `--folder` comes from a command line, and may name a folder that holds somebody's work.
 *
 * @param ours - whether an entry of this name was made by Spanwise.
 */
export async function removeOwnFolder(
  folder: string,
  ours: RegExp
): Promise<void> {
  try {
    for (const name of await readdir(folder)) {
      if (ours.test(name)) {
        await removeOwn(join(folder, name));
      }
    }
    await rmdir(folder);
  } catch (error) {
    // Its owner was faster, or the folder holds entries that are not Spanwise's.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') {
      throw error;
    }
  }
}
