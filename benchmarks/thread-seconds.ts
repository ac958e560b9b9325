import { hasThreadCpu, threadCpuClock } from '../src/node/observe/thread-cpu';

if (!hasThreadCpu()) {
  throw new Error(
    `Node ${process.versions.node} cannot tell the CPU time of a thread: this needs 22.19 or newer.`
  );
}

/** CPU seconds that the calling thread has used. */
export const threadCpuSeconds = threadCpuClock();
