import type { ResourceData } from '../diagnostics/records';
import { type ResourcePlot, roundedSeconds } from './plots';

export function resourcePlot(
  records: readonly ResourceData[],
  origin: number
): ResourcePlot {
  return {
    kind: 'resources',
    time: records.map(record => roundedSeconds(record.time - origin)),
    cpuPercent: records.map(record => Math.round(record.cpu * 100) / 100),
    memoryMb: records.map(record => Math.round(record.mem * 1000) / 1000)
  };
}
