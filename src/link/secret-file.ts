import { readFile } from 'node:fs/promises';

/** The secret in a file: 32 bytes, or their 64 hexadecimal digits. */
export async function readSecret(path: string): Promise<Uint8Array> {
  const content = await readFile(path);
  return content.length === 32
    ? content
    : Buffer.from(content.toString('ascii').trim(), 'hex');
}
