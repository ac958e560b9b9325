export { kindWords, partWords } from './activity-words';
export { formatBytes, formatBytesOf, formatByteSeconds } from './bytes';
export { formatCount, formatCounted, formatExactCount } from './count';
export { formatChange, formatDifference } from './difference';
export { formatDuration } from './duration';
export { UNKNOWN } from './numerals';
export {
  formatClock,
  formatInstant,
  formatOffsetTick,
  formatTick,
  formatTimeRange
} from './point-in-time';
export { formatShare, shareOf } from './share';
export { byteTicks, timeTicks } from './time-ticks';
