/** Node has it from 22.19 on; its types say always. Microseconds. */
type ThreadCpu = {
  threadCpuUsage?: () => { readonly user: number; readonly system: number };
};

/**
 * For so long after a look at the kernel's account, 3 to 8 µs each, a thread is taken to have computed.
 * A task in which it is put off its core, or sleeps, gets at most that much too many; what follows on the
 * thread gets so much less.
 */
const TRUSTED_SECONDS = 5e-5;

/** Whether this Node can tell the CPU time of a thread. */
export function hasThreadCpu(): boolean {
  return (process as ThreadCpu).threadCpuUsage !== undefined;
}

/** A clock of the CPU seconds that the calling thread has used; NaN where Node cannot tell. */
export function threadCpuClock(): () => number {
  const usage = (process as ThreadCpu).threadCpuUsage?.bind(process);
  if (usage === undefined) {
    return () => NaN;
  }
  let lookedAt = -Infinity;
  let used = 0;
  let told = 0;
  return () => {
    let at = performance.now() * 1e-3;
    if (at - lookedAt > TRUSTED_SECONDS) {
      // Linux brings a running thread's time up to date at its timer's ticks, each 1 to 10 ms, and when
      // somebody asks for that of the whole process: without it a task of 0.2 ms takes nothing, or 4 ms.
      process.cpuUsage();
      const { user, system } = usage();
      used = (user + system) * 1e-6;
      at = performance.now() * 1e-3;
      lookedAt = at;
    }
    told = Math.max(told, used + (at - lookedAt));
    return told;
  };
}
