/**
 * Files of this package that are not imported: programs for other processes, and the script inside HTML files. Each is one bundle, made by
 * scripts/bundle-node-programs.mjs.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type ProgramName =
  | 'pool-process.mjs'
  | 'pool-thread.mjs'
  | 'sampler.mjs'
  | 'sender.mjs'
  | 'visualize-page.js';

/** Where they lie below the package's root, and below the checkout's. */
const FOLDERS = ['programs', join('.build', 'node-programs')];

/**
 * @returns the program's path
 * @throws Error if the package is incomplete
 */
export function programFile(name: ProgramName): string {
  const here =
    typeof __dirname === 'string'
      ? __dirname
      : dirname(fileURLToPath(import.meta.url));
  for (let folder = here; ; folder = dirname(folder)) {
    for (const candidate of FOLDERS) {
      const path = join(folder, candidate, name);
      if (existsSync(path)) {
        return path;
      }
    }
    if (dirname(folder) === folder) {
      throw new Error(
        `${name}, a part of the package spanwise, is missing beside or above ${here}. If a bundler made this program, leave spanwise out of the bundle (external); else reinstall the package (in a checkout: node scripts/bundle-node-programs.mjs).`
      );
    }
  }
}
