/** Keeps no state between calls, as long as none asks it to stream. */
const utf8 = new TextDecoder();
/** Up to here a loop is faster than the decoder, which costs some 150 ns whatever the length. */
const SHORT_BYTES = 24;

/** The text of the utf8 bytes from `start` to `end`; short ASCII, which nearly every key is, without the decoder. */
export function decodeText(
  bytes: Uint8Array,
  start: number,
  end: number
): string {
  if (end - start > SHORT_BYTES) {
    return utf8.decode(bytes.subarray(start, end));
  }
  let text = '';
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte >= 0x80) {
      return utf8.decode(bytes.subarray(start, end));
    }
    text += String.fromCharCode(byte);
  }
  return text;
}
