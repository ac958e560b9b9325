import { spawn, type ChildProcess } from 'node:child_process';
import fs, { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { ref, task } from '../../graph/nodes';
import { getAsync } from '../../local/get-async';
import { getSync } from '../../local/get-sync';
import { buildNodePrograms } from '../../../testing/node-programs';
import { waitFor } from '../../../testing/wait-for';
import { programFile } from '../../program-files';
import { epochSeconds } from '../clock';
import { LinuxProcessTree } from '../process-tree-linux';
import { PortableProcessTree } from '../process-tree-portable';
import { ResourceProfiler } from '../resource-profiler';
import { SamplerError } from '../sampler-process';
import { RECORD_BYTES } from '../sampler-records';

jest.mock('node:fs', () => ({ ...jest.requireActual('node:fs') }));

const samplerFolders = () =>
  readdirSync(tmpdir()).filter(name => name.startsWith('spanwise-sampler-'));
/** Of a process that was killed some time ago. */
let strangers: readonly string[];

beforeAll(() => {
  buildNodePrograms('sampler.mjs');
  strangers = samplerFolders();
});

function wait(seconds: number) {
  const end = performance.now() + 1000 * seconds;
  while (performance.now() < end) {
    // Busy: nothing else runs in this thread.
  }
}

/** Rounds of which one must be undisturbed: a busy machine may keep the sampler from its core for a while, and not each time. */
const ROUNDS = 10;

/** What `judge` says may be against it in all rounds but one; what `round` itself expects holds in each. */
async function inOneRound<T>(
  round: () => T | Promise<T>,
  judge: (found: T) => void
) {
  for (let left = ROUNDS - 1; ; left--) {
    const found = await round();
    try {
      return judge(found);
    } catch (error) {
      if (left === 0) {
        throw error;
      }
    }
  }
}

/** Busy, until the sampler has written so many more samples, all read in its file. */
function waitForSamples(count: number) {
  // Both ends have the file open; it has no name.
  const size = () => statSync(`/proc/${samplers()[0]}/fd/3`).size;
  const wanted = size() + RECORD_BYTES * count;
  const end = performance.now() + 60_000;
  while (size() < wanted) {
    if (performance.now() > end) {
      throw new Error(`No ${count} samples within a minute.`);
    }
    wait(0.005);
  }
}

/** Processes below this one that run the sampler. */
function samplers(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => Number.isInteger(pid) && pid > 0)
    .filter(pid => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
        const [state, parent] = stat
          .slice(stat.lastIndexOf(')') + 2)
          .split(' ');
        return (
          command.includes('sampler.mjs') &&
          Number(parent) === process.pid &&
          state !== 'Z'
        );
      } catch (error) {
        // It has ended while we looked.
        return (error as NodeJS.ErrnoException).code === undefined;
      }
    });
}

function isZombie(pid: number): boolean {
  return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

/** A child whose own child holds `megabytes` and computes. */
async function grandchild(megabytes: number): Promise<ChildProcess> {
  const program = `const held = Buffer.alloc(${megabytes} * 1e6, 1); process.stdout.write('ready'); for (;;) held[0]++;`;
  const child = spawn(
    'sh',
    ['-c', `"${process.execPath}" -e "${program}" & wait`],
    { detached: true, stdio: ['ignore', 'pipe', 'ignore'] }
  );
  await once(child.stdout!, 'data');
  return child;
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(/.*\) \S (\d+)/.exec(stat)![1]);
  } catch {
    return null; // it has ended while we looked
  }
}

/** What a process and its children hold, as the kernel says of each. */
function familyMegabytes(pid: number): number {
  const children = readdirSync('/proc').filter(
    name => /^\d+$/.test(name) && parentOf(name) === pid
  );
  const held = /VmRSS:\s+(\d+) kB/.exec(
    readFileSync(`/proc/${pid}/status`, 'latin1')
  );
  return children.reduce(
    (sum, child) => sum + familyMegabytes(Number(child)),
    (Number(held![1]) * 1024) / 1e6
  );
}

function endFamily(child: ChildProcess): void {
  // The child leads a process group of its own.
  process.kill(-child.pid!, 'SIGKILL');
}

describe('ResourceProfiler', () => {
  // No test leaves one behind, nor finds that of another.
  afterEach(() => waitFor('the sampler’s end', () => samplers().length === 0));

  it('§3.2: samples time, memory and CPU while a synchronous run blocks this thread', async () => {
    const round = () => {
      const profiler = new ResourceProfiler({ interval: 0.05 });
      const begin = epochSeconds();
      profiler.run(() => getSync({ a: task(wait, 1) }, 'a'));
      const end = epochSeconds();
      const { results } = profiler;
      expect(Object.keys(results[0]!).sort()).toEqual(['cpu', 'mem', 'time']);
      for (const { time, mem, cpu } of results) {
        expect(time).toBeGreaterThan(begin);
        expect(time).toBeLessThan(end);
        expect(mem).toBeGreaterThan(20);
        expect(cpu).toBeGreaterThanOrEqual(0);
      }
      const times = results.map(({ time }) => time);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(Math.max(...results.map(({ cpu }) => cpu))).toBeGreaterThan(5);
      // One per interval, one at the end.
      const due = (profiler.endTime! - profiler.startTime!) / 0.05;
      expect(results.length).toBeLessThanOrEqual((end - begin) / 0.05 + 1);
      return { taken: results.length, due };
    };
    await inOneRound(round, ({ taken, due }) =>
      expect(taken).toBeGreaterThanOrEqual(0.85 * due)
    );
  });

  it('§3.2: memory agrees with what this process says of itself', async () => {
    const cpuSeconds = () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    };
    const round = () => {
      const before = cpuSeconds();
      const first = process.memoryUsage.rss();
      const [mine] = new LinuxProcessTree(process.pid, 0).read();
      const last = process.memoryUsage.rss();
      const after = cpuSeconds();
      // Told in whole steps of 10 ms, user and system each.
      expect(mine!.cpuSeconds).toBeGreaterThan(before - 0.021);
      expect(mine!.cpuSeconds).toBeLessThan(after + 0.021);
      return { told: mine!.residentBytes, own: [first, last] };
    };
    // The kernel’s own count, three times: only what the process takes and gives back meanwhile lies between, most often nothing.
    await inOneRound(round, ({ told, own }) => {
      expect(told).toBeGreaterThan(0.99 * Math.min(...own));
      expect(told).toBeLessThan(1.01 * Math.max(...own));
    });
  });

  it('§3.2: a short block has a sample, an empty one is soon left', () => {
    const profiler = new ResourceProfiler({ interval: 60 });
    const begin = performance.now();
    profiler.run(() => undefined);
    expect(profiler.results).toHaveLength(1);
    // Not an interval later.
    expect(performance.now() - begin).toBeLessThan(59_000);
  });

  it('§3.2: samples the whole block, run or no run, and shows them when it is left', async () => {
    const round = () => {
      const profiler = new ResourceProfiler({ interval: 0.02 });
      let runBegan = NaN;
      let runEnded = NaN;
      profiler.run(() => {
        waitForSamples(3);
        runBegan = epochSeconds();
        getSync({ a: task(wait, 0.05) }, 'a');
        runEnded = epochSeconds();
        waitForSamples(5);
        expect(profiler.results).toEqual([]);
      });
      const times = profiler.results.map(({ time }) => time);
      expect(times.filter(time => time < runBegan).length).toBeGreaterThan(2);
      // One may be under way when the run ends.
      expect(times.filter(time => time > runEnded).length).toBeGreaterThan(3);
      return times[0]! - profiler.startTime!;
    };
    await inOneRound(round, untilFirst => expect(untilFirst).toBeLessThan(0.2));
  });

  it('§3.2: has its times although the core is lost while two clocks are put beside each other', () => {
    const real = process.hrtime.bigint.bind(process.hrtime);
    const reading = jest
      .spyOn(process.hrtime, 'bigint')
      .mockImplementation(() => (wait(2), real()));
    try {
      const begin = epochSeconds();
      const profiler = new ResourceProfiler({ interval: 60 });
      profiler.run(() => undefined);
      const [only] = profiler.results;
      // Its sampler starts in less than those two seconds, and cannot have sampled before.
      expect(only!.time).toBeGreaterThan(begin);
      expect(only!.time).toBeLessThan(epochSeconds() + 1e-3);
    } finally {
      reading.mockRestore();
    }
  });

  it('§3.2: sees grandchildren and who starts later, and not itself', async () => {
    const own = () => process.memoryUsage.rss() / 1e6;
    const round = async () => {
      // (that of the round before)
      await waitFor('the sampler’s end', () => samplers().length === 0);
      const profiler = new ResourceProfiler({ interval: 0.05 });
      let child: ChildProcess | undefined;
      // What this process has, which is sampled too, and then the others: read on both sides of the first sample, and of the last.
      const first = [own()];
      const last: number[] = [];
      const family: number[] = [];
      try {
        await profiler.run(async () => {
          waitForSamples(1);
          first.push(own());
          child = await grandchild(200);
          // One may be under way.
          waitForSamples(2);
          family.push(familyMegabytes(child.pid!));
          last.push(own());
        });
        last.push(own());
        family.push(familyMegabytes(child!.pid!));
      } finally {
        if (child !== undefined) {
          endFamily(child);
        }
      }
      expect(Math.min(...family)).toBeGreaterThan(200);
      const memory = profiler.results.map(({ mem }) => mem);
      const growth = memory.at(-1)! - memory[0]!;
      const [least, most] = [Math.min, Math.max];
      return {
        tooMuch: growth - (most(...last) - least(...first) + most(...family)),
        tooLittle: least(...last) - most(...first) + least(...family) - growth
      };
    };
    // But for what is taken and given back between the two of a pair, which is most often nothing.
    await inOneRound(round, ({ tooMuch, tooLittle }) => {
      expect(tooMuch).toBeLessThan(5);
      expect(tooLittle).toBeLessThan(5);
    });
  });

  it('§3.2: leaves the sampler and what it starts out', async () => {
    const child = await grandchild(1);
    try {
      const count = (excluded: number) =>
        new LinuxProcessTree(process.pid, excluded).read().length;
      expect(count(0) - count(child.pid!)).toBe(2);
      // A pass over all of /proc finds the same.
      const scanning = new LinuxProcessTree(process.pid, 0);
      Object.assign(scanning, { _hasChildrenFiles: false });
      expect(scanning.read()).toHaveLength(count(0));
    } finally {
      endFamily(child);
    }
  });

  it('§3.2: elsewhere than on Linux the same is asked of the system’s programs', async () => {
    const child = await grandchild(50);
    try {
      const readings = await new PortableProcessTree(child.pid!, 0).read();
      expect(readings).toHaveLength(2);
      const largest = Math.max(
        ...readings.map(({ residentBytes }) => residentBytes)
      );
      expect(largest).toBeGreaterThan(50e6);
      const without = await new PortableProcessTree(
        process.pid,
        child.pid!
      ).read();
      const ids = without.map(({ id }) => id);
      expect(ids).toContain(String(process.pid));
      expect(ids).not.toContain(String(child.pid));
      expect(ids).not.toContain(
        readings.map(({ id }) => id).find(id => id !== String(child.pid))
      );
    } finally {
      endFamily(child);
    }
  });

  it('§3.2: registered, it samples runs and not what lies between', async () => {
    const profiler = new ResourceProfiler({ interval: 0.02 });
    const graph = { a: task(wait, 0.15) };
    profiler.register();
    try {
      getSync(graph, 'a');
      const first = profiler.results.length;
      expect(first).toBeGreaterThan(0);
      const ended = profiler.results.at(-1)!.time;
      await new Promise(resolve => setTimeout(resolve, 300));
      getSync(graph, 'a');
      expect(profiler.results.length).toBeGreaterThan(first);
      expect(profiler.results[first]!.time - ended).toBeGreaterThan(0.29);
    } finally {
      profiler.unregister();
    }
    expect([profiler.startTime, profiler.endTime]).toEqual([null, null]);
    expect(samplers()).toHaveLength(1);
    profiler.close();
    profiler.close();
    await waitFor('the sampler’s end', () => samplers().length === 0);
    // Used again, it starts another one.
    const before = profiler.results.length;
    profiler.register();
    try {
      getSync(graph, 'a');
    } finally {
      profiler.unregister();
    }
    expect(profiler.results.length).toBeGreaterThan(before);
    profiler.close();
  });

  it('§3.2: a process that is gone, or has ended and is not yet forgotten, counts nothing', async () => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    const tree = new LinuxProcessTree(child.pid!, 0);
    // Until the event loop has its turn the child stays a zombie.
    const limit = performance.now() + 60_000;
    while (!isZombie(child.pid!) && performance.now() < limit) {
      wait(0.01);
    }
    expect(isZombie(child.pid!)).toBe(true);
    expect(tree.read()).toEqual([]);
    await once(child, 'exit');
    expect(tree.read()).toEqual([]);
  });

  it('§3.2: samples of a run that fails are kept', async () => {
    const profiler = new ResourceProfiler({ interval: 0.02 });
    const graph = {
      a: task(() => new Promise(resolve => setTimeout(resolve, 100))),
      b: task(() => {
        throw new Error('broken');
      }, ref('a'))
    };
    await expect(profiler.run(() => getAsync(graph, 'b'))).rejects.toThrow(
      'broken'
    );
    expect(profiler.results.length).toBeGreaterThan(0);
  });

  it('§3.2: clear replaces the list and forgets the times', () => {
    const profiler = new ResourceProfiler({ interval: 3600 });
    profiler.run(() => undefined);
    const { results } = profiler;
    profiler.clear();
    expect(profiler.results).toEqual([]);
    expect(results).toHaveLength(1);
    expect(profiler.startTime).toBeNull();
  });

  it('keeps samples that are taken before it hears that sampling has begun', () => {
    // A busy machine lets it look only when the first sample has come.
    const slept = jest
      .spyOn(Atomics, 'wait')
      .mockImplementation(() => (wait(0.5), 'timed-out'));
    try {
      const profiler = new ResourceProfiler({ interval: 3600 });
      profiler.run(() => undefined);
      expect(slept).toHaveBeenCalled();
      expect(profiler.results).toHaveLength(1);
    } finally {
      slept.mockRestore();
    }
  });

  it('§3.2: without its sampler it says so, keeps what it has, and does not hang', () => {
    const profiler = new ResourceProfiler({ interval: 0.02 });
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation();
    profiler.run(() => {
      waitForSamples(3);
      const [pid] = samplers();
      process.kill(pid!, 'SIGKILL');
      wait(0.05);
    });
    expect(profiler.results.length).toBeGreaterThan(0);
    expect(warn.mock.calls).toEqual([
      [
        expect.stringMatching(/has ended\. ResourceProfiler has \d+ samples/),
        'SpanwiseWarning'
      ]
    ]);
    warn.mockRestore();
    // The next block has a new one.
    profiler.run(() => wait(0.1));
    expect(profiler.results.length).toBeGreaterThan(0);
  });

  it('§3.2: Ctrl-C, which reaches the sampler too, is no business of its', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation();
    const profiler = new ResourceProfiler({ interval: 0.02 });
    let before = NaN;
    profiler.run(() => {
      process.kill(samplers()[0]!, 'SIGINT');
      before = epochSeconds();
      waitForSamples(5);
    });
    expect(warn.mock.calls).toEqual([]);
    warn.mockRestore();
    // One may be under way.
    const later = profiler.results.filter(({ time }) => time > before);
    expect(later.length).toBeGreaterThan(3);
  });

  it('§3.2: the sampler ends with the process that it watches, however that ends', async () => {
    // The state in which the system leaves the pipe when the process at its other end is gone.
    const sampler = spawn(
      process.execPath,
      [programFile('sampler.mjs'), String(process.pid), '0.05'],
      { stdio: ['pipe', 'ignore', 'ignore', 'pipe'] }
    );
    sampler.stdin!.write('{"what":"collect","number":1}\n');
    await once(sampler.stdio[3] as NodeJS.ReadableStream, 'data');
    sampler.stdin!.destroy();
    const [code] = (await once(sampler, 'exit')) as [number];
    expect(code).toBe(0);
  });

  it('§3.2: an interval is a number of seconds above 0', () => {
    expect(() => new ResourceProfiler({ interval: 0 })).toThrow(RangeError);
    expect(() => new ResourceProfiler({ interval: NaN })).toThrow(RangeError);
    expect(new ResourceProfiler().interval).toBe(1);
  });

  it('leaves no files behind', () =>
    // Others may be starting one just now.
    waitFor('no folder of a sampler', () =>
      samplerFolders().every(name => strangers.includes(name))
    ));
});

describe('a sampler', () => {
  it('of an interval that no timer can wait samples at the begin and at the end alone', async () => {
    const profiler = new ResourceProfiler({ interval: 1e9 });
    await profiler.run(() => new Promise(resolve => setTimeout(resolve, 400)));
    expect(profiler.results.length).toBeGreaterThan(0);
    expect(profiler.results.length).toBeLessThanOrEqual(2);
  });

  it('that cannot be started is an error that says so, and leaves nothing behind', () => {
    const { execPath } = process;
    // (not all folders of samplers: other programs make some at any time)
    const made = jest.spyOn(fs, 'mkdtempSync');
    // A path of an executable with which no process can be started.
    process.execPath = 'a\0b';
    try {
      expect(() => new ResourceProfiler().enter()).toThrow(SamplerError);
    } finally {
      process.execPath = execPath;
    }
    const folders = made.mock.results.map(({ value }) => String(value));
    made.mockRestore();
    expect(folders).toHaveLength(1);
    expect(folders.filter(existsSync)).toEqual([]);
  });
});
