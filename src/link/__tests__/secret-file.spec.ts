import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSecret } from '../secret-file';

const folder = mkdtempSync(join(tmpdir(), 'spanwise-secret-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a secret file', () => {
  it.each([
    ['bytes', Buffer.alloc(32, 7)],
    ['digits', '07'.repeat(32) + '\n']
  ])('holds 32 bytes as %s', async (name, content) => {
    const file = join(folder, name);
    writeFileSync(file, content);
    expect(Buffer.from(await readSecret(file))).toEqual(Buffer.alloc(32, 7));
  });

  it.each([
    ['empty', ''],
    ['cut off', '07'.repeat(31)],
    ['no secret', 'x'.repeat(64)]
  ])(
    'is refused when it is %s: anybody could know it',
    async (name, content) => {
      const file = join(folder, name);
      writeFileSync(file, content);
      await expect(readSecret(file)).rejects.toThrow(
        'does not hold a secret of 32 bytes'
      );
    }
  );
});
