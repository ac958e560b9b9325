import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../../../testing/wait-for';
import { WorkerFleet } from '../worker-fleet';

/** Programs in the place of Python: they are called as `executable -P -m spanwise.worker`. */
const STAYS = `#!/bin/sh
read line
echo "$line" >> "$SEEN"
cat > /dev/null
`;
const FAILS = `#!/bin/sh
exit 105
`;

const openDescriptors = async (): Promise<number> =>
  (await readdir('/dev/fd')).length;

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

describe('the fleet of workers', () => {
  let folder: string;
  let seen: string;
  const exits: [number, string][] = [];
  /** Of each worker that ended, whether the next one was started in the same turn. */
  const isNextThere: boolean[] = [];
  const sentences: string[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sw-'));
    seen = join(folder, 'seen');
    exits.length = 0;
    isNextThere.length = 0;
    sentences.length = 0;
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await rm(folder, { recursive: true });
  });

  async function fleetOf(program: string): Promise<WorkerFleet> {
    const executable = join(folder, 'python');
    await writeFile(executable, program);
    await chmod(executable, 0o700);
    let nextWorker = 0;
    const fleet = new WorkerFleet({
      launch: {
        executable,
        path: ['/somewhere'],
        cwd: '/not/there',
        env: { SEEN: seen, PATH: process.env['PATH']! },
        versions: {},
        modules: []
      },
      client: null,
      address: 'unix:/door.sock',
      secretHex: 'ab',
      folder,
      transport: 'unix',
      threads: 2,
      memoryLimit: 1000,
      memory: {},
      resources: { GPU: 2 },
      recording: true,
      onExit: (worker, why) => {
        exits.push([worker, why]);
        queueMicrotask(() => isNextThere.push(fleet.has(worker + 1)));
      },
      takeNumber: () => nextWorker++,
      onGiveUp: sentence => sentences.push(sentence),
      note: sentence => sentences.push(sentence)
    });
    return fleet;
  }

  const started = async (): Promise<{ worker: number }[]> =>
    (await readFile(seen, 'utf8').catch(() => ''))
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line));

  const startedAre = async (count: number): Promise<{ worker: number }[]> => {
    for (;;) {
      const lines = await started();
      if (lines.length >= count) {
        return lines;
      }
      await new Promise(resolve => setTimeout(resolve, 5));
    }
  };

  it('says to each worker what it needs, by its standard input', async () => {
    const fleet = await fleetOf(STAYS);
    fleet.start(2);
    const lines = await startedAre(2);
    expect(lines.map(line => line.worker).sort()).toEqual([0, 1]);
    expect(lines[0]).toMatchObject({
      scheduler: 'unix:/door.sock',
      secretHex: 'ab',
      threads: 2,
      memoryLimit: 1000,
      memory: {},
      path: ['/somewhere']
    });
    await fleet.close();
    expect(exits.map(([worker]) => worker).sort()).toEqual([0, 1]);
  });

  it('replaces a worker that is killed, under a new number', async () => {
    const fleet = await fleetOf(STAYS);
    fleet.start(1);
    await startedAre(1);
    fleet.joined(0);
    fleet.kill(0);
    await startedAre(2);
    expect(exits).toEqual([[0, 'was ended by SIGKILL']]);
    expect([fleet.has(0), fleet.has(1)]).toEqual([false, true]);
    await fleet.close();
  });

  it('removes what a killed worker left, and lets go of its lifeline', async () => {
    const fleet = await fleetOf(STAYS);
    const before = await openDescriptors();
    fleet.start(2);
    await startedAre(2);
    for (const worker of [0, 1]) {
      await mkdir(join(folder, `spill-${worker}`));
      await writeFile(join(folder, `spill-${worker}`, '1'), 'results');
      await writeFile(join(folder, `worker-${worker}.sock`), '');
    }
    const withTwo = await openDescriptors();
    fleet.kill(0);
    const left = async (): Promise<string[]> =>
      (await readdir(folder)).filter(name => /^(spill|worker)-/.test(name));
    await until(async () => (await left()).length === 2);
    expect((await left()).sort()).toEqual(['spill-1', 'worker-1.sock']);
    await startedAre(3);
    await until(async () => (await openDescriptors()) <= withTwo);
    await fleet.close();
    expect(await left()).toEqual([]);
    await until(async () => (await openDescriptors()) <= before);
    expect(sentences).toEqual([]);
  });

  it('waits longer and longer where workers end without having done anything', async () => {
    const fleet = await fleetOf(STAYS);
    fleet.start(1);
    const timers = jest.spyOn(global, 'setTimeout');
    for (let worker = 0; worker < 6; worker++) {
      await startedAre(worker + 1);
      fleet.joined(worker);
      fleet.kill(worker);
      await waitFor('its end', () => exits.length === worker + 1);
      expect(fleet.startingCount).toBe(1);
      await startedAre(worker + 2);
    }
    // The pauses that were asked for: the machine decides how late a timer comes. The others are this test's looks and the limits of
    // starts.
    const pauses = timers.mock.calls
      .map(([, milliseconds]) => milliseconds ?? 0)
      .filter(milliseconds => milliseconds > 50 && milliseconds < 60_000);
    expect(pauses).toEqual([250, 500, 1000]);
    expect(isNextThere).toEqual([true, true, true, false, false, false]);
    // One that has finished something is replaced at once.
    fleet.joined(6);
    fleet.worked(6);
    fleet.kill(6);
    await waitFor('its end', () => exits.length === 7);
    expect(isNextThere[6]).toBe(true);
    await fleet.close();
  });

  it('starts none after a pause when it has been closed', async () => {
    const fleet = await fleetOf(STAYS);
    fleet.start(1);
    for (let worker = 0; worker < 4; worker++) {
      await startedAre(worker + 1);
      fleet.joined(worker);
      fleet.kill(worker);
      await waitFor('its end', () => exits.length === worker + 1);
    }
    expect(isNextThere[3]).toBe(false);
    expect(fleet.startingCount).toBe(1);
    await fleet.close();
    expect(fleet.startingCount).toBe(0);
  });

  it('gives up when workers cannot be started, and says what was tried', async () => {
    const fleet = await fleetOf(FAILS);
    fleet.start(1);
    await waitFor('a sentence', () => sentences.length > 0);
    expect(exits).toHaveLength(3);
    expect(sentences[0]).toMatch(/an error of its own.*python -m spanwise/);
    await fleet.close();
  });

  it('gives up when there is no such interpreter', async () => {
    const fleet = await fleetOf(STAYS);
    await rm(join(folder, 'python'));
    fleet.start(1);
    await waitFor('a sentence', () => sentences.length > 0);
    expect(sentences[0]).toMatch(/could not be started/);
    await fleet.close();
  });
});
