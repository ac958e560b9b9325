import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where a page will be written. Called before anything is drawn: what a long run has recorded is not drawn in vain.
 *
 * @throws TypeError for a URL that is none of a file
 * @throws Error whose `code` is that of the system, and whose message names the path as it was given
 */
export function checkedPath(filename: string | URL): string {
  if (filename instanceof URL && filename.protocol !== 'file:') {
    throw new TypeError(
      `visualize: filename must be a path or a file URL, not ${filename.href}.`
    );
  }
  const path = filename instanceof URL ? fileURLToPath(filename) : filename;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) {
    throw unwritable(path, 'EISDIR', 'it is a folder. Give the path of a file');
  }
  const folder = dirname(resolve(path));
  const isThere =
    statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isThere) {
    throw unwritable(path, 'ENOENT', `there is no folder ${folder}`);
  }
  try {
    accessSync(found === undefined ? folder : path, constants.W_OK);
  } catch {
    throw unwritable(path, 'EACCES', 'nothing may be written there');
  }
  return path;
}

function unwritable(path: string, code: string, why: string): Error {
  return Object.assign(
    new Error(`visualize cannot write to '${path}': ${why}.`),
    { code, path }
  );
}
