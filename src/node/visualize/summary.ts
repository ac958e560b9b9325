/** One line of words that says what a picture shows: for readers who cannot see it, or are in a hurry. */
import { formatDuration } from '../diagnostics/format-duration';
import type { CachePlot, Plot, ResourcePlot, TaskPlot } from './plots';
import { stepLines } from './lines';

export function summaryOf(plots: readonly Plot[]): string {
  return plots.map(plotSummary).join(' · ');
}

function plotSummary(plot: Plot): string {
  switch (plot.kind) {
    case 'tasks':
      return tasksSummary(plot);
    case 'resources':
      return resourcesSummary(plot);
    case 'cache':
      return cacheSummary(plot);
  }
}

/** `854 tasks on 4 workers in 2.31 s, 83 % of the time busy` */
function tasksSummary(plot: TaskPlot): string {
  const { start, duration, rows } = plot;
  if (start.length === 0) {
    return 'No task was recorded';
  }
  const first = start[0]!;
  const last = start.reduce(
    (most, from, index) => Math.max(most, from + duration[index]!),
    first
  );
  const share =
    last > first ? busySeconds(plot) / (rows.length * (last - first)) : 1;
  const tasks = `${start.length.toLocaleString('en')} ${start.length === 1 ? 'task' : 'tasks'}`;
  const workers = `${rows.length} ${rows.length === 1 ? 'worker' : 'workers'}`;
  return `${tasks} on ${workers} in ${formatDuration(last - first)}, ${Math.round(100 * share)} % of the time busy`;
}

/** Seconds in which a worker had at least one task, summed over workers; tasks are sorted by start. */
function busySeconds({ row, start, duration }: TaskPlot): number {
  const busyUntil: number[] = [];
  let busy = 0;
  start.forEach((from, task) => {
    const until = busyUntil[row[task]!] ?? -Infinity;
    const to = from + duration[task]!;
    if (to > until) {
      busy += to - Math.max(from, until);
      busyUntil[row[task]!] = to;
    }
  });
  return busy;
}

function resourcesSummary({ cpuPercent, memoryMb }: ResourcePlot): string {
  if (cpuPercent.length === 0) {
    return 'No sample was taken';
  }
  const most = (values: readonly number[]) =>
    values.reduce((greatest, value) => Math.max(greatest, value), 0);
  return `up to ${most(cpuPercent).toFixed(0)} % CPU and ${most(memoryMb).toFixed(0)} MB of memory`;
}

function cacheSummary(plot: CachePlot): string {
  const [line] = stepLines(plot, () => 0, 1);
  const peak = line!.y.reduce((most, held) => Math.max(most, held), 0);
  return plot.metricName === 'bytes'
    ? `results of at most ${(peak / 1e6).toLocaleString('en', { maximumSignificantDigits: 3 })} MB held at once`
    : `at most ${peak.toLocaleString('en')} held at once (${plot.metricName})`;
}
