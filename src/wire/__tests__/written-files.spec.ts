import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  withWrittenPart,
  writtenFiles,
  writtenParts
} from '../../testing/written-files';

const root = join(__dirname, '../../..');

describe('files written from TypeScript', () => {
  it.each(Object.entries(writtenFiles()))(
    '%s is what `jlpm build:schema` writes',
    (path, content) => {
      const file = join(root, path);
      const found = existsSync(file) ? readFileSync(file) : null;
      expect(found?.equals(Buffer.from(content as Uint8Array))).toBe(true);
    }
  );

  it.each(
    Object.entries(writtenParts()).flatMap(([path, parts]) =>
      Object.entries(parts).map(([name, part]) => [path, name, part] as const)
    )
  )('%s has of "%s" what `jlpm build:schema` writes', (path, name, part) => {
    const page = readFileSync(join(root, path), 'utf8');
    expect(withWrittenPart(page, name, part)).toBe(page);
  });
});
