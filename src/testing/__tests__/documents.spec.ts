/** Files, scripts and names that the documents mention exist. */
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

/** As links name them: "What is exact" is `what-is-exact`. */
function headingsOf(page: string): Set<string> {
  const headings = read(page).matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
        .replaceAll(' ', '-')
    )
  );
}

it.each(documents)('%s names files and headings that exist', name => {
  const text = read(name);
  const here = path.posix.dirname(name);
  const missing: string[] = [];
  for (const [, link = '', heading] of text.matchAll(
    /\]\(([^)#:]*)(?:#([^)]*))?\)/g
  )) {
    const target = link === '' ? name : path.posix.join(here, link);
    if (!existsSync(path.join(root, target))) {
      missing.push(link);
    } else if (heading !== undefined && !headingsOf(target).has(heading)) {
      missing.push(`${link}#${heading}`);
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

/** Names of groups of controls: screen readers say them, the screen shows what one chooses from. */
function unseenNames(): string[] {
  return files
    .filter(name => /^src\/panels\/[^_]*\.tsx$/.test(name))
    .flatMap(name =>
      [
        ...read(name).matchAll(
          /<(?:ToolSelect|RadioGroup)(?:<\w+>)?\s+label=\{trans\.__\('([^']+)'\)/g
        )
      ].map(([, label]) => label!)
    );
}

it.each([
  'task-stream',
  'fine-performance-metrics',
  'profile',
  'memory-sampler'
])('docs/%s.md names controls by what is on the screen', page => {
  const unseen = unseenNames();
  expect(unseen).toEqual(expect.arrayContaining(['Unit', 'Group by']));
  const text = read(`docs/${page}.md`);
  const named = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name!);
  expect(named.filter(name => unseen.includes(name))).toEqual([]);
});

it.each(documents)('%s installs from no registry what none has', name => {
  const untrue = read(name)
    .split('\n')
    .filter(line =>
      /(?:pip|npm) install (?:[^`\n]* )?spanwise(?![\w./@[-])/.test(line)
    )
    .filter(line => !/publish/.test(line));
  expect(untrue).toEqual([]);
});

it.each(documents)('%s runs scripts that there are, by jlpm', name => {
  const text = read(name);
  const { scripts } = JSON.parse(read('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const called = [...text.matchAll(/`jlpm ([a-z]+(?::[a-z:]+)?)`/g)];
  const known = new Set([...Object.keys(scripts), 'install']);
  expect(
    called.map(([, script]) => script!).filter(s => !known.has(s))
  ).toEqual([]);
  // The `npm` beside the tools' Node does not start.
  expect(text).not.toMatch(/\bnpm run\b/);
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
