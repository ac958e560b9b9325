/** The licences of the packages whose code a bundle holds: who hands the bundle on hands them on too. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param root - of the checkout
 * @param inputs - paths of the files in the bundles, as esbuild's metafile names them
 * @returns one text, by package
 */
export function bundledLicences(root, inputs) {
  const folders = new Set();
  for (const input of inputs) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found !== null) {
      folders.add(found[1]);
    }
  }
  return [...folders]
    .sort()
    .map(folder => licenceOf(join(root, folder)))
    .join('\n\n');
}

function licenceOf(folder) {
  const manifestFile = join(folder, 'package.json');
  const { name, version, license } = existsSync(manifestFile)
    ? JSON.parse(readFileSync(manifestFile, 'utf8'))
    : {};
  const title = `${name ?? folder} ${version ?? ''} (${license ?? 'see below'})`;
  const file = readdirSync(folder).find(each => /^licen[cs]e/i.test(each));
  const text =
    file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim();
  return `${title}\n${'-'.repeat(title.length)}\n${text}`;
}
