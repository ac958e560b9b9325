/**
 * The committed files that are written from TypeScript and read by Python as well, or by people: path → content. `scripts/build-schema.mjs` writes
 * them; `src/wire/__tests__/written-files.spec.ts` compares.
 */
import {
  enumerationsForContracts,
  enumerationsForPython
} from '../records/enumerations-text';
import { galleryOfBlocks } from '../records/gallery';
import { tablesForPython } from '../records/tables-json';
import { galleryOfFrames } from '../wire/gallery';
import { rowsForPython } from '../wire/rows-text';
import { schemaForPython } from '../wire/schema-json';
import { replayTrace } from './replay-trace';

export function writtenFiles(): Readonly<Record<string, string | Uint8Array>> {
  const json = (value: object): string => `${JSON.stringify(value, null, 1)}\n`;
  return {
    'spanwise/wire/schema.json': json(schemaForPython()),
    'spanwise/records/tables.json': json(tablesForPython()),
    'spanwise/wire/rows.py': rowsForPython(),
    'spanwise/records/enumerations.py': enumerationsForPython(),
    'src/link/replay-trace.json': `${JSON.stringify(replayTrace())}\n`,
    ...galleryOfFrames(),
    ...galleryOfBlocks()
  };
}

/** Pages of which a part is written: path → the text between its lines `<!-- written -->` and `<!-- /written -->`. */
export function writtenParts(): Readonly<Record<string, string>> {
  return { 'docs/contracts.md': enumerationsForContracts() };
}

/** The page with that part replaced. */
export function withWrittenPart(page: string, part: string): string {
  const [before, rest] = page.split('<!-- written -->\n');
  const after = rest?.split('<!-- /written -->\n')[1];
  if (after === undefined) {
    throw new TypeError('The page has no lines for what is written into it.');
  }
  return `${before}<!-- written -->\n${part}<!-- /written -->\n${after}`;
}
