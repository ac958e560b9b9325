/** The panels' texts as they are in the code: files are in English. */
import type { Trans } from '../base/trans';

const filled = (text: string, args: readonly unknown[]): string =>
  text.replace(/%(\d)/g, (whole, place: string) => {
    const index = Number(place) - 1;
    return index in args ? String(args[index]) : whole;
  });

export const english: Trans = {
  __: (text, ...args) => filled(text, args),
  _n: (one, many, count, ...args) =>
    filled(count === 1 ? one : many, [count, ...args])
};
