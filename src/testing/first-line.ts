import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/**
 * The first line that a program prints: it is ready.
 *
 * @throws Error if it ends without one, or cannot be started: then nothing is to be waited for.
 */
export async function firstLine(
  child: ChildProcess & { readonly stdout: Readable }
): Promise<string> {
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      reject(
        new Error(
          `${child.spawnargs.join(' ')} ended with ${signal ?? code} before it said a word.`
        )
      )
    );
  });
  ended.catch(() => undefined);
  const line = once(createInterface(child.stdout), 'line') as Promise<[string]>;
  return (await Promise.race([line, ended]))[0];
}
