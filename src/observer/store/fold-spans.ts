import type { SpanId } from '../../records/ids';
import type { LogStore } from './log-store';

/**
 * Keeps the bound of `spans`: at so many, a quarter of them is folded (`SpanTree.fold`), and the rows and sums of the folded ones become those of
 * the spans in which they are counted. No figure changes but which spans it is told by. It looks at all rows: 0.1 s for a
 * million tasks, once in 2,048 spans.
 */
export function foldSpans(log: LogStore): void {
  if (log.spans.size < log.foldSpansAt) {
    return;
  }
  const most = log.mostSpans;
  const part = Math.ceil(most / 4);
  const running = new Set(
    [...log.shape.running.values()].map(({ span }) => span)
  );
  const into = log.spans.fold(most - part, (span: SpanId) => running.has(span));
  // Where few can be folded, each new span would look in vain.
  log.foldSpansAt = Math.max(most, log.spans.size + part);
  if (into === null) {
    return;
  }
  log.spanFolds++;
  log.spanSlots.fold(into);
  for (const sums of [
    log.held,
    log.background,
    log.fineSums,
    log.meterSums,
    log.inferredTime,
    log.figures
  ]) {
    sums.fold(into);
  }
  for (const table of log.tablesBySpan) {
    table.foldSpans(into);
  }
}
