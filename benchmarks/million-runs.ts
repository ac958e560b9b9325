import { syntheticLog } from '../src/testing/synthetic-log';

/** The cluster that both benchmarks of many runs show: 8 lanes, 20 functions, 30 spans, half a millisecond a run. */
export function clusterLog(runs: number): ReturnType<typeof syntheticLog> {
  return syntheticLog({
    runs,
    workers: 4,
    threadsPerWorker: 2,
    functions: 20,
    spans: 30,
    meanMilliseconds: 0.5,
    partsShare: 0.1
  });
}
