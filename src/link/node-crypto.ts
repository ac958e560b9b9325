/** The handshake's cryptography by Node. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IHandshakeCrypto } from '../wire/handshake';

export const nodeCrypto: IHandshakeCrypto = {
  random: byteLength => randomBytes(byteLength),
  hmac: (secret, data) => createHmac('sha256', secret).update(data).digest(),
  equal: (a, b) => a.length === b.length && timingSafeEqual(a, b)
};
