/**
 * Many drawn runs of the whole machine: see `src/testing/drawn-runs`.
 *
 * ```bash
 * SPANWISE_DRAWN_RUNS=1000000 SPANWISE_SEED=1 node_modules/.bin/jest drawn-runs     # run i has the seed SPANWISE_SEED + i
 * ```
 */
import {
  drawnRun,
  play,
  shrunk,
  type DrawnRun
} from '../../testing/drawn-runs/drawn-run';

const RUNS = Number(process.env.SPANWISE_DRAWN_RUNS ?? 10_000);
const SEED = Number(
  process.env.SPANWISE_SEED ?? Math.floor(Math.random() * 2 ** 31)
);
const IS_ASKED_FOR = process.env.SPANWISE_DRAWN_RUNS !== undefined;

/** Runs that failed once, as they were shrunk then. */
const FAILED_ONCE: readonly [string, DrawnRun][] = [
  [
    'a copy that is told of when its task was released there, and is in memory elsewhere again',
    {
      seed: 165935899,
      tasks: 18,
      steps: 94,
      faults: [
        'losses',
        'stops',
        'retirements',
        'failures',
        'seceding',
        'restrictions',
        'batches',
        'parts'
      ]
    }
  ]
];

describe('the scheduler, whatever comes', () => {
  it.each(FAILED_ONCE)('copes with %s', (_, run) => {
    expect(play(run).events).toBeGreaterThan(0);
  });

  it(
    'gives every wanted task its right outcome and leaves nothing behind',
    () => {
      let events = 0;
      let tasks = 0;
      for (let i = 0; i < RUNS; i++) {
        const run = drawnRun((SEED + i) >>> 0);
        try {
          const figures = play(run);
          events += figures.events;
          tasks += figures.tasks;
        } catch (error) {
          throw new Error(account(run, i, error));
        }
      }
      if (IS_ASKED_FOR) {
        const { user, system } = process.cpuUsage();
        process.stdout.write(
          `${RUNS} runs from seed ${SEED}: ${tasks} tasks, ${events} events, ${((user + system) / 1e6).toFixed(0)} s of CPU.\n`
        );
      }
    },
    240_000 + 50 * RUNS
  );
});

function account(run: DrawnRun, number: number, error: unknown): string {
  const small = shrunk(run);
  let trace = '';
  try {
    play(small, true);
  } catch (again) {
    trace = (again as Error).message;
  }
  return [
    `Run ${number}. Again: SPANWISE_SEED=${run.seed} SPANWISE_DRAWN_RUNS=1 node_modules/.bin/jest drawn-runs`,
    (error as Error).message,
    `Shrunk to ${JSON.stringify(small)}:`,
    trace
  ].join('\n\n');
}
