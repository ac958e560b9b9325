/** Translators for tests of what users read. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { english } from '../exports/english';

export { english };

/** Brackets what went through it, with what was put in: what is shown without brackets is no text of ours, or went past the translator. */
export const bracketing = {
  __: (text: string, ...args: unknown[]) => `⟦${english.__(text, ...args)}⟧`,
  _n: (one: string, many: string, count: number, ...args: unknown[]) =>
    `⟦${english._n(one, many, count, ...args)}⟧`
} as TranslationBundle;

const units = 'GiB·s|MiB·s|KiB|MiB|GiB|min|µs|ms|s|h|B|M|G';

/**
 * What is left of a text without the texts that {@link bracketing} has seen, without figures, signs, keys of the keyboard and tokens of
 * drawn tasks' keys.
 *
 * @param names - what else is not ours.
 */
export function untranslated(text: string, names: readonly string[]): string {
  let left = text;
  // From the inside out.
  for (let before = ''; before !== left;) {
    before = left;
    left = left.replace(/⟦[^⟦⟧]*⟧/g, ' ');
  }
  const longestFirst = [...new Set(names)].sort((a, b) => b.length - a.length);
  for (const name of longestFirst) {
    left = left.replaceAll(name, ' ');
  }
  return left
    .replaceAll('\u00a0', ' ')
    .replace(/-70a926-\d+|\([A-Z]\)/g, ' ')
    .replace(new RegExp(`(?<=\\d ?)(${units})(?!\\p{Letter})`, 'gu'), ' ')
    .replace(/\P{Letter}+/gu, ' ')
    .trim();
}
