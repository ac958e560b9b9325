/**
 * Texts of users (keys, functions, tags, errors) as they are shown: characters that nobody sees are written out, as in Python's `repr`, for
 * they can turn the order of what stands around them, or make two names look like one. `spanwise/shown_text.py` is the same for Python, and
 * `src/testing/hidden-characters.json` has the examples for both. What is searched, filtered and copied is the text itself.
 *
 *     a<U+202E>b   a\u202eb          a<U+001B>b   a\x1bb
 *
 * These stay: letters of every script, which turn the order by themselves; tabs and ends of lines; joiners within emoji and within words of
 * scripts that join their letters (Arabic, those of India); tags of flags.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|\r(?!\n)/u;
/** What joiners may stand between: letters from Arabic to Mongolian, symbols, and what lies above the first 65,536 characters. */
const JOINED =
  '[\u0600-\u1cff\u2190-\u2bff\ua800-\uabff\ufb50-\ufdff\ufe0f\ufe70-\ufefc\u{10000}-\u{1ffff}]';
/** What stays, in the first two; else one hidden character. */
const HIDDEN_OR_KEPT = new RegExp(
  `(?<=${JOINED})[\u200c\u200d](?=${JOINED})|\u{1f3f4}[\u{e0020}-\u{e007e}]+\u{e007f}|(${HIDDEN.source})`,
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
