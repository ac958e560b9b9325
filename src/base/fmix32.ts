/**
 * The finaliser of MurmurHash3: each bit of a number turns half of the bits of its result, and no two numbers have one result. So hashes
 * whose high bits tell of little more than the beginning of a text, as those of FNV, come to be spread evenly.
 */
export function fmix32(hash: number): number {
  let mixed = hash;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
