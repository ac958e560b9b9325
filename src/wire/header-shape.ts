/**
 * A look over msgpack before it is decoded. The decoder makes room for a list as soon as it has read its length, and lists nest: 27 bytes
 * could claim 1.1 GB. Here every item that a length promises has to be there, so what is decoded afterwards is linear in its bytes.
 */
import { BrokenFrame } from './broken-frame';

/** Levels of nested maps and lists. Our own messages nest 8 deep (a result of the tasks view); much deeper ones attack recursion. */
const MOST_NESTED = 64;

/** How many bytes hold the length, by type: bytes 8, 16, 32 and text 8, 16, 32. */
const LENGTH_BYTES = [1, 2, 4] as const;

/**
 * @throws BrokenFrame where a length promises more than there is, where maps and lists nest too deeply, and at types that no message has
 * (extensions: dates and the like).
 */
export function checkShape(bytes: Uint8Array): void {
  const end = bytes.length;
  let at = 0;
  /** Items that are still promised, on all levels together: each takes at least one byte. */
  let owed = 1;
  /** For each level, how many of its items have not begun. */
  const left = [1];
  let depth = 0;

  while (owed > 0) {
    if (at >= end) {
      throw cutShort(at);
    }
    while (left[depth] === 0) {
      depth--;
    }
    left[depth] = (left[depth] ?? 0) - 1;
    owed--;
    const head = bytes[at++] ?? 0;
    if (head < 0x80 || head >= 0xe0) {
      continue;
    }
    let width = 0;
    if (head >= 0xc4 && head <= 0xc6) {
      width = LENGTH_BYTES[head - 0xc4] ?? 4;
    } else if (head >= 0xd9 && head <= 0xdb) {
      width = LENGTH_BYTES[head - 0xd9] ?? 4;
    } else if (head >= 0xdc && head <= 0xdf) {
      width = head % 2 === 0 ? 2 : 4;
    }
    let items = -1;
    if (head < 0x90) {
      items = (head - 0x80) * 2;
    } else if (head < 0xa0) {
      items = head - 0x90;
    } else if (head < 0xc0) {
      at += head - 0xa0;
    } else if (width > 0) {
      const length = lengthAt(bytes, at, width);
      at += width;
      if (head >= 0xdc) {
        items = head < 0xde ? length : length * 2;
      } else {
        at += length;
      }
    } else {
      at += scalarBytes(head);
    }
    if (items >= 0) {
      owed += items;
      if (owed > end - at) {
        throw new BrokenFrame(
          `The header is not msgpack: ${owed} items are promised in ${end - at} bytes.`
        );
      }
    }
    if (items > 0) {
      depth++;
      if (depth > MOST_NESTED) {
        throw new BrokenFrame(
          `The header nests more than ${MOST_NESTED} maps and lists.`
        );
      }
      left[depth] = items;
    }
  }
  if (at !== end) {
    throw at > end
      ? cutShort(end)
      : new BrokenFrame(
          `The header is not msgpack: ${end - at} bytes follow it.`
        );
  }
}

function lengthAt(bytes: Uint8Array, start: number, width: number): number {
  if (start + width > bytes.length) {
    throw cutShort(start);
  }
  let value = 0;
  for (let i = 0; i < width; i++) {
    value = value * 256 + (bytes[start + i] ?? 0);
  }
  return value;
}

/** How many bytes follow the head of an item that is neither text nor bytes, list or map. */
function scalarBytes(head: number): number {
  switch (head) {
    case 0xc0:
    case 0xc2:
    case 0xc3:
      return 0;
    case 0xcc:
    case 0xd0:
      return 1;
    case 0xcd:
    case 0xd1:
      return 2;
    case 0xca:
    case 0xce:
    case 0xd2:
      return 4;
    case 0xcb:
    case 0xcf:
    case 0xd3:
      return 8;
    default:
      throw new BrokenFrame(
        `The header has a type that no message uses: 0x${head.toString(16)}.`
      );
  }
}

const cutShort = (at: number): BrokenFrame =>
  new BrokenFrame(`The header is not msgpack: it ends amid an item at ${at}.`);
