/**
 * Texts of users (keys, functions, tags, errors) as they are shown: characters that nobody sees are written out, as in Python's `repr`, for
 * they can turn the order of what stands around them, or make two names look like one. `spanwise/shown_text.py` is the same for Python, and
 * `src/testing/hidden-characters.json` has the examples for both. What is searched, filtered and copied is the text itself.
 *
 *     a<U+202E>b   a\u202eb          a<U+001B>b   a\x1bb
 *
 * These stay: letters of every script, which turn the order by themselves; tabs and ends of lines; joiners within emoji and within words of
 * scripts that join their letters (Arabic, those of India); tags of flags; what chooses the look of an emoji, of an ideograph or of a
 * Mongolian letter, behind one.
 *
 * Beside controls these are all that Unicode calls ignorable by default (also as yet unassigned ones), and three to annotate texts with.
 */
const HIDDEN_CLASS =
  '\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e' +
  '\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}';
const HIDDEN = new RegExp(`[${HIDDEN_CLASS}]|\r(?!\n)`, 'u');
/** Symbols that are emoji, or letters and signs that have an emoji of their own; some between them are neither. */
const EMOJI =
  '[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55\u3030\u303d' +
  '\u3297\u3299\u{1f000}-\u{1faff}]';
const IDEOGRAPH =
  '[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]';
/** What joiners may stand between: letters from Arabic to Mongolian, symbols, and what lies above the first 65,536 characters. */
const JOINED =
  '[\u0600-\u1cff\u2190-\u2bff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\u{10000}-\u{1ffff}]';
/** What stays, in all but the last; else one hidden character. */
const HIDDEN_OR_KEPT = new RegExp(
  [
    `(?:(?<=${JOINED})(?<![${HIDDEN_CLASS}])|(?<=${EMOJI}\ufe0f))[\u200c\u200d](?![${HIDDEN_CLASS}])(?=${JOINED})`,
    `(?<=${EMOJI})[\ufe0e\ufe0f]`,
    // (keys of a phone)
    '(?<=[#*0-9])\ufe0f(?=\u20e3)',
    `(?<=${IDEOGRAPH})[\ufe00-\ufe02\u{e0100}-\u{e01ef}]`,
    '(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]',
    '\u{1f3f4}[\u{e0020}-\u{e007e}]+\u{e007f}',
    `(${HIDDEN.source})`
  ].join('|'),
  'gu'
);

export function shownText(text: string): string {
  // Nearly no text has any.
  return HIDDEN.test(text)
    ? text.replace(HIDDEN_OR_KEPT, (whole, hidden?: string) =>
        hidden === undefined ? whole : written(hidden.codePointAt(0)!)
      )
    : text;
}

function written(code: number): string {
  if (code === 0x0d) {
    return '\\r';
  }
  const digits = code.toString(16);
  return code < 0x100
    ? `\\x${digits.padStart(2, '0')}`
    : code < 0x10000
      ? `\\u${digits.padStart(4, '0')}`
      : `\\U${digits.padStart(8, '0')}`;
}
