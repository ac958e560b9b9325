import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { waitFor } from '../../../testing/wait-for';
import { processState } from '../../scheduler-process/process-state';
import { SourceProcess } from '../source-process';

jest.mock('node:fs', () => ({ ...jest.requireActual('node:fs') }));

const started: (() => void)[] = [];

/** A process, and its own child, which it never asks for its end: killed, that one stays a zombie. */
async function family() {
  const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore']
  });
  started.push(() => parent.kill('SIGKILL'));
  const [line] = (await once(parent.stdout!, 'data')) as [Buffer];
  const child = Number(line.toString());
  started.push(() => {
    try {
      process.kill(child, 'SIGKILL');
    } catch {
      // The test has ended it.
    }
  });
  return { parent, child };
}

afterEach(() => {
  jest.restoreAllMocks();
  started.splice(0).forEach(end => end());
});

describe('the process that a log comes from', () => {
  it('is seen while it lives, and gone when it was killed, asked for or not', async () => {
    const { parent, child } = await family();
    const two = [parent.pid!, child].map(pid => new SourceProcess(pid));
    expect(two.map(({ isSeen, isGone }) => [isSeen, isGone])).toEqual([
      [true, false],
      [true, false]
    ]);
    process.kill(child, 'SIGKILL');
    await waitFor('the child’s end', () => two[1]!.isGone);
    expect(two[0]!.isGone).toBe(false);
    parent.kill('SIGKILL');
    await waitFor('the parent’s end', () => two[0]!.isGone);
  });

  it('is gone once it has begun to end, before its state says so', async () => {
    const { parent } = await family();
    const seen = new SourceProcess(parent.pid!);
    const before = fs.readFileSync(`/proc/${parent.pid}/stat`, 'latin1');
    const [name, ...rest] = before.split(') ');
    const words = rest.join(') ').split(' ');
    expect(seen.isGone).toBe(false);
    // As the kernel tells of it while it frees what the process had: it runs, and ends.
    words[0] = 'R';
    words[6] = String(Number(words[6]) | 4);
    jest
      .spyOn(fs, 'readFileSync')
      .mockReturnValue(`${name}) ${words.join(' ')}`);
    expect(seen.isGone).toBe(true);
  });

  it.each(['EMFILE', 'ENFILE', 'EACCES'])(
    'is taken to live while that cannot be told (%s)',
    async code => {
      const { parent } = await family();
      const seen = new SourceProcess(parent.pid!);
      const reading = jest.spyOn(fs, 'readFileSync');
      reading.mockImplementation(() => {
        throw Object.assign(new Error(code), { code });
      });
      expect(seen.isGone).toBe(false);
      expect(processState(parent.pid!)).toBeNull();
      // Of one that could not be looked at when it said hello nothing is known later either.
      const unseen = new SourceProcess(parent.pid!);
      reading.mockRestore();
      expect([unseen.isSeen, unseen.isGone]).toEqual([false, false]);
      parent.kill('SIGKILL');
      await waitFor('its end', () => seen.isGone);
      expect(unseen.isGone).toBe(false);
    }
  );

  it('is never gone where it was never seen', async () => {
    const { parent } = await family();
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    for (const pid of [0, -1, 2 ** 31, 2 ** 32 - 1, NaN, parent.pid!]) {
      const unseen = new SourceProcess(pid);
      expect([unseen.isSeen, unseen.isGone]).toEqual([false, false]);
    }
  });
});
