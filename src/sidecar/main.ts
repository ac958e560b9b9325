/**
 * The one Node program of Spanwise. Runs as a process of its own; the first
 * argument says in which role:
 *
 *   node spanwise.mjs scheduler --folder DIR
 *   node spanwise.mjs observer --folder DIR
 *   node spanwise.mjs --version
 */
import { BUILD, VERSION } from './build';
import { runObserver } from './observer-process/program';
import { runScheduler } from './scheduler-process/program';

type Program = (args: readonly string[]) => Promise<number>;

const programs: Readonly<Record<string, Program>> = {
  observer: runObserver,
  scheduler: runScheduler
};

async function main(args: readonly string[]): Promise<number> {
  const [first = '', ...rest] = args;
  if (first === '--version') {
    console.log(`spanwise ${VERSION} (build ${BUILD})`);
    return 0;
  }
  const program = programs[first];
  if (program === undefined) {
    console.error(
      `spanwise: the first argument is one of ${Object.keys(programs).join(', ')}, --version`
    );
    return 2;
  }
  return program(rest);
}

void main(process.argv.slice(2)).then(code => {
  // Closing links flush first; anything else that is open must not keep the process alive.
  process.exitCode = code;
  setTimeout(() => process.exit(code), 1000).unref();
});
