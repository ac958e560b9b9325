/** A text of a user that would be markup, or turn the order of what stands around it, if a file showed it unescaped. */
export const EVIL = '</script><img src=x onerror=alert(1)>\u202e';
/** As pages show it: what is hidden in it is written out. */
export const SHOWN = EVIL.replace('\u202e', '\\u202e');
