/** What newer versions of Node have (22.19, 23.9); microseconds. */
type ThreadCpu = {
  threadCpuUsage?: () => { readonly user: number; readonly system: number };
};

/** Why there is no CPU time of threads here; null if there is. */
export function threadCpuMissing(): string | null {
  return (process as ThreadCpu).threadCpuUsage === undefined
    ? `Node ${process.versions.node} cannot tell the CPU time of a thread; version 24 can.`
    : null;
}

/** A clock of the CPU seconds that the calling thread has used; NaN where Node cannot tell. */
export function threadCpuClock(): () => number {
  const usage = (process as ThreadCpu).threadCpuUsage?.bind(process);
  return usage === undefined
    ? () => NaN
    : () => {
        const { user, system } = usage();
        return (user + system) * 1e-6;
      };
}
