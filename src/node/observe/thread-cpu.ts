/** Node has it from 22.19 on; its types say always. Microseconds. */
type ThreadCpu = {
  threadCpuUsage?: () => { readonly user: number; readonly system: number };
};

/** Whether this Node can tell the CPU time of a thread. */
export function hasThreadCpu(): boolean {
  return (process as ThreadCpu).threadCpuUsage !== undefined;
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
