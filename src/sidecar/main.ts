/**
 * The one Node program of Spanwise. Runs as a process of its own; the first
 * argument says in which role:
 *
 *   node spanwise.mjs scheduler --folder DIR
 *   node spanwise.mjs observer --folder DIR
 *   node spanwise.mjs --version
 */
import { build, version } from './build';

const roles = ['scheduler', 'observer'];

function main(args: readonly string[]): number {
  const [first] = args;
  if (first === '--version') {
    console.log(`spanwise ${version} (build ${build})`);
    return 0;
  }
  console.error(
    first !== undefined && roles.includes(first)
      ? `spanwise: this build has no ${first} yet`
      : `spanwise: the first argument is one of ${roles.join(', ')}, --version`
  );
  return 2;
}

process.exitCode = main(process.argv.slice(2));
