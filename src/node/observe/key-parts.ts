import { type Key, keyText } from '../graph/key';
import { prefixOf } from '../graph/prefix';

/** A key's text, cut so that many keys share the first part; and its prefix, by which panels colour and count. */
type KeyParts = {
  readonly group: string;
  readonly rest: string;
  readonly functionName: string;
};

/** Names with tokens in them keep coming. */
const MOST_REMEMBERED = 10_000;

/**
 * Cuts keys.
 *
 * ```
 *   ['block-1f3', 0, 1]   group "('block-1f3'"   rest ", 0, 1)"   function block
 *   'inc-12'              group "inc"            rest "-12"       function inc
 * ```
 */
export class KeyCutter {
  /** By a tuple's first part. */
  private readonly _tuples = new Map<string, string>();
  /** By what stands before the first dash, if a digit follows: that alone is the prefix then. */
  private readonly _heads = new Map<string, string>();

  cut(key: Key): KeyParts {
    const text = keyText(key);
    if (typeof key !== 'string') {
      const functionName = this._remembered(this._tuples, key[0], key);
      const length = key[0].length + 3;
      return {
        group: text.slice(0, length),
        rest: text.slice(length),
        functionName
      };
    }
    const dash = key.indexOf('-');
    const functionName =
      dash > 0 && isDigit(key.charCodeAt(dash + 1))
        ? this._remembered(this._heads, key.slice(0, dash), key)
        : prefixOf(key);
    return key.startsWith(functionName)
      ? {
          group: functionName,
          rest: key.slice(functionName.length),
          functionName
        }
      : { group: '', rest: key, functionName };
  }

  private _remembered(
    known: Map<string, string>,
    name: string,
    key: Key
  ): string {
    let found = known.get(name);
    if (found === undefined) {
      if (known.size >= MOST_REMEMBERED) {
        known.clear();
      }
      found = prefixOf(key);
      known.set(name, found);
    }
    return found;
  }
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
