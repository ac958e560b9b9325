/**
 * The committed files that are written from TypeScript and read by Python as well, or by people: path → content. `scripts/build-schema.mjs` writes
 * them; `src/wire/__tests__/written-files.spec.ts` compares.
 */
import {
  enumerationsForContracts,
  enumerationsForPython
} from '../records/enumerations-text';
import { tablesForPython } from '../records/tables-json';
import { messagesForContracts } from '../wire/messages-text';
import { rowsForPython } from '../wire/rows-text';
import { schemaForPython } from '../wire/schema-json';
import { galleryOfBlocks } from './gallery/blocks';
import { galleryOfFrames } from './gallery/frames';
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

/** Pages of which parts are written: path → name of the part → the text between its lines `<!-- written: NAME -->` and `<!-- /written -->`. */
export function writtenParts(): Readonly<
  Record<string, Readonly<Record<string, string>>>
> {
  return {
    'docs/contracts.md': {
      'client → scheduler': messagesForContracts('client', 'up'),
      'scheduler → client': messagesForContracts('client', 'down'),
      'scheduler → worker': messagesForContracts('worker', 'down'),
      'worker → scheduler': messagesForContracts('worker', 'up'),
      'caller → peer door': messagesForContracts('peer', 'up'),
      'peer door → caller': messagesForContracts('peer', 'down'),
      enumerations: enumerationsForContracts()
    }
  };
}

/** The page with that part replaced. */
export function withWrittenPart(
  page: string,
  name: string,
  part: string
): string {
  const begin = `<!-- written: ${name} -->\n`;
  const end = '<!-- /written -->\n';
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from === -1 || to === -1 || page.includes(begin, from + 1)) {
    throw new TypeError(`The page has no one place for "${name}".`);
  }
  return `${page.slice(0, from + begin.length)}${part}${page.slice(to)}`;
}
