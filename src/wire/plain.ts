/** Messages of events as `spanwise/wire/plain.py` opens them. Pure. */
import { encode } from '@msgpack/msgpack';

/** What an event of the scheduler says: `null`, numbers, texts, and lists and objects of them. */
export type Plain =
  | null
  | boolean
  | number
  | string
  | readonly Plain[]
  | { readonly [name: string]: Plain };

export function packPlain(message: Plain): Uint8Array {
  return encode(message);
}
