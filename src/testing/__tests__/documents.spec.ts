/** What the documents name is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..', '..');
const FOLDERS = [
  'benchmarks',
  'docs',
  'examples',
  'scripts',
  'spanwise',
  'src',
  'ui-tests'
];
/** Made by building. */
const BUILT = /^spanwise\/(?:node|labextension)\b/;

function filesIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap(
    entry => {
      const name = path.posix.join(folder, entry.name);
      return entry.isDirectory()
        ? /^(?:node_modules|__pycache__|\..*)$/.test(entry.name)
          ? []
          : filesIn(name)
        : [name];
    }
  );
}

const files = FOLDERS.flatMap(filesIn);
const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...files.filter(name => name.endsWith('.md'))
];
const read = (name: string) => readFileSync(path.join(root, name), 'utf8');

it.each(documents)('%s names files that exist', name => {
  const text = read(name);
  const here = path.posix.dirname(name);
  const missing: string[] = [];
  for (const [, link] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
    if (!existsSync(path.join(root, here, link!))) {
      missing.push(link!);
    }
  }
  for (const [, named] of text.matchAll(
    /`([\w./-]+\.(?:tsx?|py|mjs|css|json)|(?:src|spanwise|benchmarks|docs|ui-tests|scripts)\/[\w./-]+)`/g
  )) {
    const found =
      BUILT.test(named!) ||
      existsSync(path.join(root, named!)) ||
      existsSync(path.join(root, here, named!)) ||
      files.some(file => `/${file}`.endsWith(`/${named}`));
    if (!found) {
      missing.push(named!);
    }
  }
  expect(missing).toEqual([]);
});

it('benchmarks/README.md names every file there', () => {
  const text = read('benchmarks/README.md');
  const unnamed = readdirSync(path.join(root, 'benchmarks')).filter(
    name =>
      /\.(?:py|ts)$/.test(name) &&
      name !== '__init__.py' &&
      !text.includes(`\`${name}\``)
  );
  expect(unnamed).toEqual([]);
});

it.each(['src/node/pools'])('the README of %s names every file', folder => {
  const text = read(`${folder}/README.md`);
  const unnamed = readdirSync(path.join(root, folder)).filter(
    name => name.endsWith('.ts') && !text.includes(`\`${name}\``)
  );
  expect(unnamed).toEqual([]);
});
