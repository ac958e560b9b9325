export { KIND_WORDS, PART_WORDS } from './activity-words';
export { formatBytes, formatByteSeconds, formatPart } from './bytes';
export { longFile, placeInCode } from './code-place';
export { formatAmount, formatCount, formatExactCount } from './count';
export { formatChange, formatDifference } from './difference';
export { formatDuration } from './duration';
export { labelPlaces, type Area, type Place } from './label-places';
export { legendWord, partWord, workerLabel } from './legend-word';
export { lostSentence } from './lost-worker';
export { UNKNOWN } from './numerals';
export {
  formatClock,
  formatInstant,
  formatMoment,
  formatOffsetTick,
  formatTick,
  formatTimeRange
} from './point-in-time';
export { processesText } from './processes-text';
export {
  executionsText,
  failedRunsText,
  failedText,
  runningText,
  taskRunsText
} from './runs-text';
export { formatPercent, formatShare, shareOf } from './share';
export { cellOf, type TableCell, type TableData } from './table';
export {
  byteTicks,
  countTicks,
  labelledTicks,
  labelPixels,
  timeTicks
} from './time-ticks';
