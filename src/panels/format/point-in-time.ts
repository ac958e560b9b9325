import type { Seconds } from '../../base/brand';
import {
  EN_DASH,
  fixed,
  MINUS,
  placesForThreeFigures,
  SPACE
} from './numerals';

const twoDigits = (value: number) => String(value).padStart(2, '0');

/** A point since the start, with `places` after the mark: "21.310 s", "2 min 30 s". */
function sinceStart(seconds: number, places: number): string {
  if (seconds < 0) {
    return MINUS + sinceStart(-seconds, places);
  }
  const rounded = Number(seconds.toFixed(places));
  if (rounded < 120) {
    return fixed(rounded, places) + SPACE + 's';
  }
  const allMinutes = Math.floor(rounded / 60);
  const rest = fixed(rounded - allMinutes * 60, places);
  // Two digits before the mark: 2 min 05.250 s
  const restText = /^\d(\D|$)/.test(rest) ? `0${rest}` : rest;
  const minutesText =
    allMinutes < 120
      ? String(allMinutes)
      : `${Math.floor(allMinutes / 60)}${SPACE}h${SPACE}${twoDigits(allMinutes % 60)}`;
  return `${minutesText}${SPACE}min${SPACE}${restText}${SPACE}s`;
}

/** In details: to the millisecond, "21.310 s". */
export function formatInstant(seconds: Seconds): string {
  return sinceStart(seconds, 3);
}

/** In a sentence: in three figures, "7.50 s", from two minutes on in whole seconds, "11 min 29 s". */
export function formatMoment(seconds: Seconds): string {
  return sinceStart(seconds, placesInSentence(seconds));
}

/** As of durations: where minutes are written, there is no mark. */
function placesInSentence(seconds: number): number {
  return seconds < 119.95 ? placesForThreeFigures(seconds) : 0;
}

/**
 * On an axis: as coarse as the distance of the ticks, and in the units of its farthest one, so that its labels are of one kind:
 *
 *     90 s     105 s          where all are below two minutes
 *     45 s     1 min          1 min 15 s     2 min
 *     45 min   1 h            1 h 15 min     2 h
 *
 * @param farthest - of all ticks; for a single point its own.
 */
export function formatTick(
  seconds: number,
  stepSeconds: number,
  farthest = Math.abs(seconds)
): string {
  if (seconds < 0) {
    return MINUS + formatTick(-seconds, stepSeconds, farthest);
  }
  const places = placesForStep(stepSeconds);
  const end = Number(farthest.toFixed(places));
  const rounded = Number(seconds.toFixed(places));
  const hasHours = stepSeconds >= 3600 || end >= 7200;
  const hasMinutes = hasHours || stepSeconds >= 60 || end >= 120;
  const hours = hasHours ? Math.floor(rounded / 3600) : 0;
  const minutes = hasMinutes ? Math.floor((rounded - hours * 3600) / 60) : 0;
  const rest = fixed(rounded - hours * 3600 - minutes * 60, places);
  const units = [
    [hasHours, String(hours), 'h'],
    [hasMinutes && stepSeconds < 3600, String(minutes), 'min'],
    [stepSeconds < 60, rest, 's']
  ] as const;
  // Whole minutes and hours need no zeros behind them, nor what is less than they are any before it.
  const told = units.filter(([isThere]) => isThere);
  const first = told.findIndex(([, figure]) => Number(figure) !== 0);
  const last = told.findLastIndex(([, figure]) => Number(figure) !== 0);
  return (first < 0 ? told.slice(-1) : told.slice(first, last + 1))
    .map(([, figure, unit], i) => {
      const whole = i > 0 && /^\d(\D|$)/.test(figure) ? `0${figure}` : figure;
      return whole + SPACE + unit;
    })
    .join(SPACE);
}

/** For aligned runs: "0 s", "+10 s". */
export function formatOffsetTick(
  seconds: number,
  stepSeconds: number,
  farthest?: number
): string {
  const text = formatTick(seconds, stepSeconds, farthest);
  return seconds > 0 ? `+${text}` : text;
}

/** Places needed to tell neighbours `step` apart: 5 → 0, 0.5 → 1, 0.25 → 2. */
function placesForStep(step: number): number {
  for (let places = 0; places < 6; places += 1) {
    const scaled = step * 10 ** places;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) {
      return places;
    }
  }
  return 6;
}

/**
 * A range: three figures each, "4.10 s – 21.3 s", and as many more as it takes
 * to tell its ends apart, "12.010 s – 12.012 s".
 */
export function formatTimeRange(from: number, to: number): string {
  const needed = Math.min(
    6,
    Math.max(0, Math.ceil(-Math.log10(Math.max(to - from, 1e-9) / 10)))
  );
  const end = (seconds: number) =>
    seconds === 0
      ? `0${SPACE}s`
      : sinceStart(seconds, Math.max(placesInSentence(seconds), needed - 1));
  return `${end(from)} ${EN_DASH} ${end(to)}`;
}

/** By the page's clock: "09:21:40", with the date if it is not that of `nowEpochSeconds`. */
export function formatClock(
  epochSeconds: number,
  nowEpochSeconds: number
): string {
  const at = new Date(epochSeconds * 1000);
  const now = new Date(nowEpochSeconds * 1000);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map(twoDigits)
    .join(':');
  const date = `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;
  return at.toDateString() === now.toDateString() ? time : `${date} ${time}`;
}
