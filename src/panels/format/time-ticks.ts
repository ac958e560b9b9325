/**
 * Where the ticks of a time axis stand: 1, 2, 5 × 10ⁿ seconds, then 15 and
 * 30 s, 1, 2, 5, 10, 15, 30 min, then hours, at least `minApart` pixels apart.
 */
type TimeTicks = {
  readonly step: number;
  readonly ticks: readonly number[];
};

// From 10 s on the steps follow the clock.
const CLOCK_STEPS = [
  10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400
];

export function timeTicks(
  from: number,
  to: number,
  pixels: number,
  minApart = 72
): TimeTicks {
  if (!(to > from) || !(pixels > 0)) {
    return { step: 1, ticks: [] };
  }
  const step = stepAtLeast(((to - from) / pixels) * minApart);
  const ticks: number[] = [];
  const last = Math.floor(to / step + 1e-9);
  for (let index = Math.ceil(from / step - 1e-9); index <= last; index += 1) {
    // A product, not a running sum, and rounded to the step's last digit, so
    // that the hundredth tick of 0.1 s is 10 and not 9.99999999.
    ticks.push(Number((index * step).toPrecision(12)));
  }
  return { step, ticks };
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
