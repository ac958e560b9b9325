import type { Key } from './key';

/** What stands for a key that has no readable beginning. */
const NAMELESS = 'Other';

/**
 * The prefix of a key: what the names of one kind of task begin with; for colours, groups and statistics.
 *
 * ```
 *   'x-1-2-3'               → 'x'                  ['x-2', 1]              → 'x'
 *   'sum-aggregate-c28fcb'  → 'sum-aggregate'      "('x-2', 1)"            → 'x'
 *   'x-abcdefab'            → 'x'                  32 hexadecimal digits   → 'data'
 *   'add-ones_like-sum-39c' → 'add'                '<m.sub.Cls object …>'  → 'Cls'
 * ```
 *
 * @group Keys
 * @example
 * ```ts
 * import { prefixOf, type Key } from 'spanwise';
 *
 * const keys: Key[] = ['load-1', 'load-2', ['sum-aggregate-c28fcb', 0]];
 * console.log(keys.map(prefixOf)); // → [ 'load', 'load', 'sum-aggregate' ]
 * ```
 */
export function prefixOf(key: Key): string {
  const text = typeof key === 'string' ? key : key[0];
  const words = text.split('-');
  let prefix = firstWord(words[0]!);
  if (prefix === '') {
    return NAMELESS;
  }
  for (const word of words.slice(1)) {
    if (!/^\p{L}+$/u.test(word) || isTokenLike(word)) {
      break;
    }
    prefix += `-${word}`;
  }
  if (prefix.startsWith('<')) {
    const name = prefix.replace(/^[<>]+|[<>]+$/g, '').split(/\s/)[0]!;
    return name.slice(name.lastIndexOf('.') + 1) || NAMELESS;
  }
  return prefix.length === 32 && /^[0-9a-f]+$/.test(prefix) ? 'data' : prefix;
}

/** `_(x)` and `('x` mean x: a word that does not begin with a letter is cut at its comma and peeled. */
function firstWord(word: string): string {
  return /^\p{L}/u.test(word)
    ? word
    : word.split(',')[0]!.replace(/^[_'()"]+|[_'()"]+$/g, '');
}

/** The letters of a hexadecimal token may make a word; ordinary words of eight letters from a–f are lost with it. */
function isTokenLike(word: string): boolean {
  return word.length === 8 && /^[a-f]/.test(word);
}
