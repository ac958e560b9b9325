import { readFileSync } from 'node:fs';
import { hasThreadCpu, threadCpuClock } from '../thread-cpu';

const itOnLinux = process.platform === 'linux' && hasThreadCpu() ? it : it.skip;

/** What the kernel counts of the calling thread, of which it is late by a tick at most. */
function kernelSeconds(): number {
  return (
    Number(
      readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]
    ) * 1e-9
  );
}

describe('threadCpuClock', () => {
  itOnLinux(
    'measures pieces that are shorter than a tick of the kernel',
    () => {
      const now = threadCpuClock();
      const kernelBefore = kernelSeconds();
      let measured = 0;
      for (let piece = 0; piece < 1000; piece++) {
        const started = performance.now();
        const before = now();
        while (performance.now() - started < 0.2) {
          // It computes.
        }
        const cpu = now() - before;
        // As panels count it: no task uses more than it lasts.
        measured += Math.min(cpu, (performance.now() - started) * 1e-3);
      }
      const kernel = kernelSeconds() - kernelBefore;
      expect(measured).toBeGreaterThan(0.85 * kernel);
      expect(measured).toBeLessThan(kernel + 0.01);
    }
  );

  itOnLinux('counts no rest between pieces, and never goes back', () => {
    const now = threadCpuClock();
    const nobody = new Int32Array(new SharedArrayBuffer(4));
    const begun = performance.now();
    const readings = [now()];
    for (let piece = 0; piece < 100; piece++) {
      Atomics.wait(nobody, 0, 0, 2);
      readings.push(now(), now());
    }
    const wall = (performance.now() - begun) * 1e-3;
    expect(readings).toEqual([...readings].sort((a, b) => a - b));
    expect(readings.at(-1)! - readings[0]!).toBeLessThan(0.3 * wall);
  });
});
