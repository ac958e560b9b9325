import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import type { ProgramName } from '../node/program-files';

const checkout = resolve(__dirname, '..', '..');

/** Bundles programs of the npm package from the sources under test; scripts/test has bundled them for all specs at once. */
export function buildNodePrograms(...names: ProgramName[]): void {
  if (process.env['SPANWISE_NODE_PROGRAMS'] !== 'built') {
    build('scripts/bundle-node-programs.mjs', '.build/node-programs', ...names);
  }
}

/**
 * The npm package, made from the sources under test.
 *
 * @param folder - where it is made, unless scripts/test has made it for all specs at once
 * @returns where it is: to read only
 */
export function buildNpmPackage(folder: string): string {
  const built = process.env['SPANWISE_NPM_PACKAGE'];
  if (built !== undefined) {
    return built;
  }
  build('scripts/build-npm.mjs', folder);
  return folder;
}

/** What it says is in the error if it fails. */
function build(...args: string[]): void {
  execFileSync(process.execPath, args, {
    cwd: checkout,
    encoding: 'utf8',
    timeout: 240_000,
    stdio: ['ignore', 'pipe', 'pipe']
  });
}
