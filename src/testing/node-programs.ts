import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import type { ProgramName } from '../node/program-files';

/** Bundles programs of the npm package from the sources under test. */
export function buildNodePrograms(...names: ProgramName[]): void {
  execFileSync(
    process.execPath,
    ['scripts/bundle-node-programs.mjs', '.build/node-programs', ...names],
    { cwd: resolve(__dirname, '..', '..'), timeout: 120_000 }
  );
}
