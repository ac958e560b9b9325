/**
 * The one Node program of Spanwise. Runs as a process of its own; the first
 * argument says in which role:
 *
 *   node spanwise.cjs scheduler --folder DIR
 *   node spanwise.cjs observer --folder DIR
 *   node spanwise.cjs --version
 */
import { BUILD, VERSION } from './build';

type Program = (args: readonly string[]) => Promise<number>;

// Bundled apart, see scripts/bundle-node.mjs: each start reads the one that it is for.
const programs: Readonly<Record<string, () => Promise<Program>>> = {
  observer: async () =>
    (await import('./observer-process/program')).runObserver,
  scheduler: async () =>
    (await import('./scheduler-process/program')).runScheduler
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
  return (await program())(rest);
}

void main(process.argv.slice(2)).then(code => {
  // Closing links flush first; anything else that is open must not keep the process alive.
  process.exitCode = code;
  setTimeout(() => process.exit(code), 1000).unref();
});
