/** Finds the Jupyter servers of this user and machine that have Spanwise, by the connection files which they write; docs/contracts.md §8. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  type Stats
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Doorbell } from '../../link/ring-doorbell';
import { jupyterRuntimeFolder } from './jupyter-folders';

/** The variable that kernels and terminals of a Jupyter server have: the path of its connection file. */
const CONNECTION_VARIABLE = 'SPANWISE_CONNECTION';

const FILE_NAME = /^spanwise-.*\.json$/;
/** Bits of a mode that let others read, write, enter; and only write. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

const NO_FOLDER: readonly string[] = [
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'ERR_ACCESS_DENIED'
];
/** Such a file is some hundred bytes long. */
const MOST_BYTES = 64 * 1024;

/** No JupyterLab would show what is recorded. The message says what to do. */
export class NoObserverError extends Error {
  override readonly name = 'NoObserverError';
}

/**
 * The files by which a Jupyter server would be found belong to somebody else, or can be changed by others, who could then read what is
 * recorded. It is thrown before anything is computed.
 *
 * @group Observing
 * @example
 * ```ts
 * import { observerSink, UnsafeConnectionError } from 'spanwise';
 *
 * function sinkOrNull() {
 *   try {
 *     return observerSink();
 *   } catch (error) {
 *     if (error instanceof UnsafeConnectionError) {
 *       return null; // others could read what is recorded
 *     }
 *     throw error;
 *   }
 * }
 * console.log(sinkOrNull() !== null); // → true
 * ```
 */
export class UnsafeConnectionError extends Error {
  /** Its class, as errors name it. */
  override readonly name = 'UnsafeConnectionError';
}

type Described = {
  readonly file: string;
  readonly pid: number;
  readonly folder: string;
  readonly doorbell: Doorbell;
  /** Of the file that was read. */
  readonly stats: Stats;
};

/**
 * Doorbells of the servers to ask, in this order: the one that is named, by an option or by `SPANWISE_CONNECTION`; else all that run, the
 * newest first.
 *
 * @param named - path of a connection file.
 * @throws NoObserverError
 * @throws UnsafeConnectionError
 * @internal
 */
export function findDoorbells(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>> = process.env
): Doorbell[] {
  if (named !== undefined) {
    if (typeof (named as unknown) !== 'string') {
      // Programs without types: a number would be read as an open file.
      throw new TypeError(
        `The option "connection" is the path of a connection file, not ${String(named)}.`
      );
    }
    const found = describedBy(named);
    if (found === null) {
      throw new NoObserverError(
        `${named} is not the connection file of a running Jupyter server with Spanwise. Such files lie in ${jupyterRuntimeFolder(env)}.`
      );
    }
    return [checked(found).doorbell];
  }
  const ofTerminal = env[CONNECTION_VARIABLE];
  const own = ofTerminal === undefined ? null : describedBy(ofTerminal);
  if (own !== null) {
    return [checked(own).doorbell];
  }
  const folder = jupyterRuntimeFolder(env);
  const running = filesIn(folder)
    .map(describedBy)
    .filter(found => found !== null)
    .sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs);
  if (running.length === 0) {
    throw new NoObserverError(
      `No JupyterLab with Spanwise was found (looked in ${folder}; JUPYTER_RUNTIME_DIR names another folder). ` +
        `Install Spanwise's wheel beside JupyterLab and start that (jupyter lab), or name its connection file by ${CONNECTION_VARIABLE} or the option "connection".`
    );
  }
  return running.map(found => checked(found).doorbell);
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter(name => FILE_NAME.test(name))
      .map(name => join(folder, name));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The home is no folder or another user's: no server of this user has written there.
    if (code !== undefined && NO_FOLDER.includes(code)) {
      return [];
    }
    throw error;
  }
}

/** The content of a connection file; null if it is not there, is no such file, or its server has ended. */
function describedBy(file: string): Described | null {
  try {
    const { text, stats } = readOpened(file);
    const content = JSON.parse(text) as Record<string, unknown> | null;
    const { pid, folder, doorbell, secretFile } = content ?? {};
    return typeof pid === 'number' &&
      typeof folder === 'string' &&
      typeof doorbell === 'string' &&
      typeof secretFile === 'string' &&
      isAlive(pid)
      ? {
          file,
          pid,
          folder,
          doorbell: { address: doorbell, secretFile },
          stats
        }
      : null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The file was left by a server, is being written, or belongs to another program.
    if (
      code === 'ENOENT' ||
      code === 'ENOTDIR' ||
      error instanceof SyntaxError
    ) {
      return null;
    }
    if (code === 'EACCES') {
      throw new UnsafeConnectionError(
        `${file} cannot be read: it belongs to another user. Start JupyterLab as the user who runs this program.`
      );
    }
    throw error;
  }
}

/**
 * The text of a connection file, and the owner and mode of the very file that it was read from: these are checked, so that nobody can swap
 * the file between reading and checking. A folder, a pipe or a device has no such text.
 */
function readOpened(file: string): { text: string; stats: Stats } {
  // A pipe would be waited for. Windows knows neither flag.
  const { O_RDONLY, O_NONBLOCK = 0 } = constants;
  const descriptor = openSync(file, O_RDONLY | O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > MOST_BYTES) {
      return { text: 'null', stats };
    }
    return { text: readFileSync(descriptor, 'utf8'), stats };
  } finally {
    closeSync(descriptor);
  }
}

/** @throws UnsafeConnectionError unless the files are this user's alone. */
function checked(found: Described): Described {
  if (process.getuid === undefined) {
    return found;
  }
  check(dirname(found.file), OTHERS_WRITE);
  check(found.file, OTHERS);
  checkStats(found.file, found.stats, OTHERS);
  check(found.folder, OTHERS);
  if (dirname(found.doorbell.secretFile) !== found.folder) {
    throw new UnsafeConnectionError(
      `${found.file} names a secret outside of its server's own folder. Restart JupyterLab.`
    );
  }
  check(found.doorbell.secretFile, OTHERS);
  return found;
}

function check(path: string, forbidden: number): void {
  checkStats(path, statOf(path), forbidden);
}

function checkStats(path: string, stats: Stats, forbidden: number): void {
  const mode = (stats.mode & 0o777).toString(8);
  if (stats.isSymbolicLink() || stats.uid !== process.getuid!()) {
    throw new UnsafeConnectionError(
      `${path} does not belong to the user who runs this program, so nothing is sent. Start JupyterLab as this user.`
    );
  }
  if ((stats.mode & forbidden) !== 0) {
    throw new UnsafeConnectionError(
      `${path} is open to other users (mode ${mode}), so nothing is sent. Run "chmod go= ${path}" and restart JupyterLab.`
    );
  }
}

function statOf(path: string): Stats {
  try {
    return lstatSync(path);
  } catch (error) {
    throw new NoObserverError(
      `A file of the Jupyter server is missing (${path}). Restart JupyterLab.`,
      { cause: error }
    );
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process: it is there; who owns its files is asked next.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
