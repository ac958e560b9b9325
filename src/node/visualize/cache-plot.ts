import type { CacheData } from '../diagnostics/records';
import { taskLabel } from '../graph/label';
import { type CachePlot, roundedSeconds, TextTable } from './plots';

export function cachePlot(
  records: readonly CacheData[],
  metricName: string,
  origin: number,
  labelSize: number
): CachePlot {
  const labels = new TextTable();
  return {
    kind: 'cache',
    metricName,
    label: records.map(record => labels.add(taskLabel(record.task, labelSize))),
    entered: records.map(record => roundedSeconds(record.cacheTime - origin)),
    left: records.map(record => roundedSeconds(record.freeTime - origin)),
    // What is no number cannot be drawn (and JSON has no NaN).
    metric: records.map(({ metric }) => (Number.isFinite(metric) ? metric : 0)),
    labels: labels.texts
  };
}
