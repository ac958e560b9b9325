/** Reads durations as the panels write them: `12.4 ms`, `29.6 s`, `2 min 05 s`. */
const UNITS: Readonly<Record<string, number>> = {
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  min: 60,
  h: 3600
};

export function secondsOf(text: string): number {
  const parts = partsOf(text);
  return parts.length === 0
    ? NaN
    : parts.reduce((sum, { number, unit }) => sum + Number(number) * unit, 0);
}

/** Seconds of the last digit shown. */
export function resolutionOf(text: string): number {
  const last = partsOf(text).pop();
  if (last === undefined) {
    return NaN;
  }
  const decimals = last.number.split('.')[1]?.length ?? 0;
  return last.unit * 10 ** -decimals;
}

function partsOf(text: string): { number: string; unit: number }[] {
  return [...text.matchAll(/([\d.]+)\s*(µs|ms|min|s|h)/gu)].map(
    ([, number = '', unit = '']) => ({ number, unit: UNITS[unit] ?? NaN })
  );
}
