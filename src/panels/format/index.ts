export { kindWords, partWords } from './activity-words';
export {
  formatBytes,
  formatByteRate,
  formatBytesOf,
  formatByteSeconds
} from './bytes';
export { formatCount, formatCounted, formatExactCount } from './count';
export { formatChange, formatDifference } from './difference';
export { formatDuration, formatEstimate } from './duration';
export {
  enDash,
  englishNumerals,
  minus,
  type Numerals,
  numeralsOf,
  space,
  unknown
} from './numerals';
export {
  formatClock,
  formatInstant,
  formatOffsetTick,
  formatTick,
  formatTimeRange
} from './point-in-time';
export { formatShare, shareOf } from './share';
export { byteTicks, timeTicks, type TimeTicks } from './time-ticks';
