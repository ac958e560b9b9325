/**
 * Writes what Python reads of the TypeScript descriptions, and the sample frames that both sides test:
 *
 *     src/wire/schema.ts    -> spanwise/wire/schema.json
 *     src/wire/worker-link.ts -> spanwise/wire/rows.py
 *     src/wire/{client,worker,peer}-link.ts -> docs/contracts.md §§4-5
 *     src/records/tables.ts -> spanwise/records/tables.json
 *     src/records/enumerations.ts -> spanwise/records/enumerations.py, docs/contracts.md §11
 *     src/testing/replay-trace.ts -> src/link/replay-trace.json
 *     src/testing/gallery/{frames,blocks}.ts -> src/testing/gallery/{frames,blocks}/*.{bin,json}
 *
 * Specs on both sides fail when these are stale.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = await mkdtemp(join(root, '.schema-'));
try {
  const outfile = join(folder, 'schema.mjs');
  await build({
    entryPoints: [join(root, 'src/testing/written-files.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    logLevel: 'warning'
  });
  const { withWrittenPart, writtenFiles, writtenParts } = await import(
    pathToFileURL(outfile).href
  );
  for (const [path, content] of Object.entries(writtenFiles())) {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  for (const [path, parts] of Object.entries(writtenParts())) {
    const file = join(root, path);
    let page = await readFile(file, 'utf8');
    for (const [name, part] of Object.entries(parts)) {
      page = withWrittenPart(page, name, part);
    }
    await writeFile(file, page);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
