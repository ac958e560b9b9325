/**
 * The committed files that are written from TypeScript and read by Python as well: path → content. `scripts/build-schema.mjs` writes
 * them; `src/wire/__tests__/written-files.spec.ts` compares.
 */
import { galleryOfBlocks } from '../records/gallery';
import { tablesForPython } from '../records/tables-json';
import { galleryOfFrames } from '../wire/gallery';
import { schemaForPython } from '../wire/schema-json';

export function writtenFiles(): Readonly<Record<string, string | Uint8Array>> {
  const json = (value: object): string => `${JSON.stringify(value, null, 1)}\n`;
  return {
    'spanwise/wire/schema.json': json(schemaForPython()),
    'spanwise/records/tables.json': json(tablesForPython()),
    ...galleryOfFrames(),
    ...galleryOfBlocks()
  };
}
