/** The four messages that open every link, and the one that ends it early; docs/contracts.md §2. `handshake.ts` is the state machine. */
import * as v from 'valibot';
import { bytes, map, message, text, u32 } from './describe';

/** Raised by one whenever a released build could misread the new messages; see docs/wire-changelog.md. */
export const PROTOCOL = 2;

/** What the calling side can be. */
export const ROLES = [
  'client',
  'worker',
  'peer',
  'source',
  'panel',
  'doorbell'
] as const;
export type Role = (typeof ROLES)[number];

const refused = message({ code: text, sentence: text });

export const HANDSHAKE = {
  up: {
    hello: message({ protocol: u32, build: text, role: text, nonce: bytes }),
    proof: message({ proof: bytes, intro: v.optional(map, {}) }),
    refused
  },
  down: {
    challenge: message({
      protocol: u32,
      build: text,
      nonce: bytes,
      proof: bytes
    }),
    /** Its content depends on the role, and is checked by the link's own code. */
    welcome: message({ intro: v.optional(map, {}) }),
    refused
  }
} as const;
