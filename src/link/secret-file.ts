import { readFile } from 'node:fs/promises';

const SECRET_BYTES = 32;

/**
 * The secret in a file: 32 bytes, or their 64 hexadecimal digits.
 *
 * @throws Error for anything else: anybody could guess the secret of an empty or truncated file.
 */
export async function readSecret(path: string): Promise<Uint8Array> {
  const content = await readFile(path);
  const secret =
    content.length === SECRET_BYTES
      ? content
      : Buffer.from(content.toString('ascii').trim(), 'hex');
  if (secret.length !== SECRET_BYTES) {
    throw new Error(`${path} does not hold a secret of ${SECRET_BYTES} bytes.`);
  }
  return secret;
}
