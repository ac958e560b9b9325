/** Leaving no traces: the folder that a program was started with. In the Node programs. */
import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';

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
        await rm(join(folder, name), { recursive: true, force: true });
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
