import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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
exit 5
`;

describe('the fleet of workers', () => {
  let folder: string;
  let seen: string;
  const exits: [number, string][] = [];
  const sentences: string[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sw-'));
    seen = join(folder, 'seen');
    exits.length = 0;
    sentences.length = 0;
  });

  afterEach(() => rm(folder, { recursive: true }));

  async function fleetOf(program: string): Promise<WorkerFleet> {
    const executable = join(folder, 'python');
    await writeFile(executable, program);
    await chmod(executable, 0o700);
    return new WorkerFleet({
      launch: {
        executable,
        path: ['/somewhere'],
        cwd: '/not/there',
        env: { SEEN: seen, PATH: process.env['PATH']! },
        versions: {},
        modules: []
      },
      address: 'unix:/door.sock',
      secretHex: 'ab',
      folder,
      transport: 'unix',
      threads: 2,
      memoryLimit: 1000,
      recording: true,
      onExit: (worker, why) => exits.push([worker, why]),
      onGiveUp: sentence => sentences.push(sentence)
    });
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
