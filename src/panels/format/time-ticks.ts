import { formatTick } from './point-in-time';

/**
 * Where the ticks of a time axis stand: 1, 2, 5 × 10ⁿ seconds, then 15 and
 * 30 s, 1, 2, 5, 10, 15, 30 min, then hours, at least 72 pixels apart, and so far that their labels have room; closer only where one would stand
 * alone.
 */
type TimeTicks = {
  readonly step: number;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
};

/** What a label says, by the distance of the ticks and the farthest of them: all labels of an axis have the same units. */
type TickFormat = (seconds: number, step: number, farthest: number) => string;

// From 10 s on the steps follow the clock.
const CLOCK_STEPS = [
  10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400
];

const MIN_APART = 72;
/** In pixels: between two labels. */
const GAP = 8;
/** So wide is a letter or digit in the mean, in a wide font of 11 pixels. */
const LETTER_PIXELS = 6.5;

/** How wide a label of an axis is at most, as far as that can be told without drawing it. */
export function labelPixels(text: string): number {
  return text.length * LETTER_PIXELS;
}

/** Late in a long run, or in a small part of it, labels are longer, and ticks further apart. */
export function timeTicks(
  from: number,
  to: number,
  pixels: number,
  format: TickFormat = formatTick,
  widthOf: (text: string) => number = labelPixels
): TimeTicks {
  if (!(to > from) || !(pixels > 0)) {
    return { step: 1, ticks: [] };
  }
  const roomOf = ({ ticks }: TimeTicks): number =>
    GAP + Math.max(0, ...ticks.map(({ text }) => widthOf(text)));
  const hasRoom = (some: TimeTicks): boolean =>
    roomOf(some) <= (some.step / (to - from)) * pixels;
  const close = ticksApart(from, to, pixels, format, MIN_APART);
  if (!hasRoom(close)) {
    return ticksApart(from, to, pixels, format, roomOf(close));
  }
  if (close.ticks.length > 1) {
    return close;
  }
  // One alone does not tell how long the axis is.
  const closer = ticksApart(from, to, pixels, format, roomOf(close));
  return hasRoom(closer) ? closer : close;
}

function ticksApart(
  from: number,
  to: number,
  pixels: number,
  format: TickFormat,
  minApart: number
): TimeTicks {
  const step = stepAtLeast(((to - from) / pixels) * minApart);
  const places: number[] = [];
  const last = Math.floor(to / step + 1e-9);
  for (let index = Math.ceil(from / step - 1e-9); index <= last; index += 1) {
    // A product, not a running sum, and rounded to the step's last digit, so
    // that the hundredth tick of 0.1 s is 10 and not 9.99999999.
    places.push(Number((index * step).toPrecision(12)));
  }
  const farthest = Math.max(0, ...places.map(Math.abs));
  return {
    step,
    ticks: places.map(at => ({ at, text: format(at, step, farthest) }))
  };
}

/**
 * The labels of an axis without anything around it.
 *
 * @returns of each tick the label, and the place of its middle. A label that would reach over a border is moved
 * inwards, and left out where it then touches the next one.
 */
export function labelledTicks(
  from: number,
  to: number,
  pixels: number,
  format: TickFormat,
  widthOf: (text: string) => number
): { readonly text: string; readonly x: number }[] {
  const { ticks } = timeTicks(from, to, pixels, format, widthOf);
  const placed = ticks.map(({ at, text }) => {
    const width = widthOf(text);
    const middle = ((at - from) / (to - from)) * pixels;
    const x = Math.min(Math.max(width / 2, middle), pixels - width / 2);
    return { text, x, width, isMoved: x !== middle };
  });
  return placed
    .filter(
      ({ x, width, isMoved }, i) =>
        !isMoved ||
        (width <= pixels &&
          [placed[i - 1], placed[i + 1]].every(
            other =>
              other === undefined ||
              Math.abs(other.x - x) >= (other.width + width) / 2 + GAP
          ))
    )
    .map(({ text, x }) => ({ text, x }));
}

function stepAtLeast(seconds: number): number {
  if (seconds > 5) {
    const found = CLOCK_STEPS.find(step => step >= seconds);
    return found ?? Math.ceil(seconds / 86400) * 86400;
  }
  const magnitude = 10 ** Math.floor(Math.log10(seconds));
  for (const factor of [1, 2, 5, 10]) {
    // 1e-9: 0.2 / 0.1 must count as 2.
    if (factor * magnitude >= seconds * (1 - 1e-9)) {
      return Number((factor * magnitude).toPrecision(3));
    }
  }
  return 10 * magnitude;
}

/** Ticks of a byte axis: at 1, 2, 4, 8 … × a binary unit, about `wanted` of them, none between two bytes. */
export function byteTicks(largest: number, wanted = 4): readonly number[] {
  if (!(largest > 0)) {
    return [0];
  }
  const step = Math.max(1, 2 ** Math.ceil(Math.log2(largest / wanted)));
  const ticks: number[] = [];
  for (let value = 0; value <= largest * (1 + 1e-9); value += step) {
    ticks.push(value);
  }
  return ticks;
}

/** Ticks of an axis of counts or per cent: at 1, 2, 5 × 10ⁿ, at most `most` above 0, no fractions. */
export function countTicks(largest: number, most = 4): readonly number[] {
  if (!(largest > 0)) {
    return [0];
  }
  const magnitude = 10 ** Math.floor(Math.log10(largest / most));
  const step = Math.max(
    1,
    magnitude *
      ([1, 2, 5, 10].find(factor => factor * magnitude * most >= largest) ?? 10)
  );
  const last = Math.floor(largest / step + 1e-9);
  return Array.from({ length: last + 1 }, (_, index) => index * step);
}
