/**
 * Every public name has an example, every example compiles and prints what it says, and the package has a reference with all of them. The
 * programs in the package's pages are held to the same.
 */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildNpmPackage } from '../../testing/node-programs';
import { ExampleRuns, expectedLines, isPrintedAs } from './example-runs';
import { type Example, markdownExamples, publicNames } from './public-names';

const checkout = resolve(__dirname, '..', '..', '..');
const names = publicNames(join(checkout, 'src', 'node', 'index.ts'));
const examples = [
  ...names.flatMap(name => [...name.examples, ...name.memberExamples]),
  ...markdownExamples(join(checkout, 'src/node/package-readme.md'), 'README'),
  ...markdownExamples(
    join(checkout, 'docs/local-schedulers.md'),
    'local-schedulers.md'
  ),
  ...markdownExamples(
    join(checkout, 'docs/local-diagnostics.md'),
    'local-diagnostics.md'
  ),
  ...markdownExamples(join(checkout, 'docs/observe.md'), 'observe.md')
];

/** What an example may do wrong, and what is said of it. They run before the others, most in one process with them. */
const FAULTY: readonly (Example & { readonly complaint: RegExp })[] = [
  {
    title: 'throws',
    code: "console.log(1);\nthrow new Error('thrown');\n",
    complaint: /Error: thrown[^]*\(ended: 1\)$/
  },
  {
    title: 'throws later',
    code: "console.log(1);\nsetTimeout(() => { throw new Error('late'); });\n",
    complaint: /Error: late[^]*\(ended: 1\)$/
  },
  {
    title: 'never goes on',
    code: 'console.log(1);\nawait new Promise(() => undefined);\n',
    complaint: /^It awaits what nothing settles any more\.\n$/
  },
  {
    title: 'is no success',
    code: 'console.log(1);\nprocess.exitCode = 3;\n',
    complaint: /^It sets the exit code 3\.\n$/
  },
  {
    title: 'exits',
    code: 'console.log(1);\nprocess.exit(4);\n',
    complaint: /^\n\(ended: Command failed/
  }
];

const MISTYPED: Example = {
  title: 'mistyped',
  code: "const text = { a: 'x' };\nconst two: { a: number } = text;\nconsole.log(Math.abs('2'), two); // → 2 2\n"
};

let scratch: string;
let packageFolder: string;
let runs: ExampleRuns;

beforeAll(async () => {
  // By its real name: that is what TypeScript says of a file, also where the temporary folder is a link.
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'spanwise-reference-')));
  packageFolder = join(scratch, 'package');
  // A copy: what it depends on is put beside it.
  cpSync(buildNpmPackage(join(scratch, 'built')), packageFolder, {
    recursive: true
  });
  const user = mkdtempSync(join(scratch, 'user-'));
  runs = new ExampleRuns(user, packageFolder, join(checkout, 'node_modules'), [
    ...FAULTY,
    ...examples,
    MISTYPED
  ]);
  await runs.start();
}, 600_000);
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('public names', () => {
  it('are values and types', () => {
    expect(names.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['getSync', 'Profiler', 'Key', 'RunOptions'])
    );
  });

  it.each(names)(
    '$name is described, has a group and an example',
    ({ summary, groups, examples: own, strayCode }) => {
      expect(summary).not.toBe('');
      expect(groups).toHaveLength(1);
      expect(own.length).toBeGreaterThan(0);
      // Code that nothing runs goes stale.
      expect(strayCode).toEqual([]);
    }
  );

  it('have no two examples of one title', () => {
    const titles = examples.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });
});

describe('examples', () => {
  it.each(examples)('$title prints what it says', async example => {
    const expected = expectedLines(example.code);
    const { typeErrors, printed, complaints } = await runs.outcomeOf(example);
    expect(typeErrors).toBe('');
    expect(complaints).toBe('');
    expect(expected.length).toBeGreaterThan(0);
    if (!isPrintedAs(printed, expected)) {
      // For the difference; lines in which something stood for anything differ too.
      expect(printed).toEqual(expected);
    }
    expect(isPrintedAs(printed, expected)).toBe(true);
  });

  it.each(FAULTY)('are told of one that $title', async example => {
    const { typeErrors, printed, complaints } = await runs.outcomeOf(example);
    expect(typeErrors).toBe('');
    expect(printed).toEqual(['1']);
    expect(complaints).toMatch(example.complaint);
  });

  it('are told what TypeScript complains of', async () => {
    const { typeErrors, printed } = await runs.outcomeOf(MISTYPED);
    expect(printed).toEqual([]);
    expect(typeErrors).toMatch(
      /^line 2: error TS2322: [^\n]*\n  Types of property 'a' [^\n]*\n[^\n]*\nline 3: error TS2345: [^\n]*\n$/
    );
  });

  it('fail if they print something else', () => {
    const says = ['2', '1.20 s', '[a]'];
    expect(expectedLines('f(); // → 2\n// → … s\n  g(); // → [a]\n')).toEqual([
      '2',
      '… s',
      '[a]'
    ]);
    expect(isPrintedAs(says, ['2', '… s', '[a]'])).toBe(true);
    expect(isPrintedAs(says, ['3', '… s', '[a]'])).toBe(false);
    expect(isPrintedAs(says, ['2', '… s'])).toBe(false);
    expect(isPrintedAs(['a'], ['[a]'])).toBe(false);
    expect(isPrintedAs(['x', 'y', 'z'], ['…', 'z'])).toBe(true);
    expect(isPrintedAs(['z'], ['…', 'z'])).toBe(true);
    expect(isPrintedAs(['x', 'y'], ['…', 'z'])).toBe(false);
  });
});

describe('the reference', () => {
  it('lies in the package, has a page per name and needs no network', () => {
    // It was generated without a warning: warnings are errors of build-npm.mjs.
    const folder = join(packageFolder, 'reference');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const { name } of names) {
      expect(files.some(file => file.endsWith(`/${name}.html`))).toBe(true);
    }
    for (const file of files.filter(each => /\.(html|css)$/.test(each))) {
      const text = readFileSync(join(folder, file), 'utf8');
      const loaded = text.match(
        /(src="|<link[^>]* href="|url\(["']?|@import ["'])(https?:)?\/\/[^"')]*/g
      );
      expect(loaded ?? []).toEqual([]);
    }
  });

  it('is linked from the README', () => {
    const readme = readFileSync(join(packageFolder, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\((?!https?:)([^)]+)\)/g)];
    expect(links.map(([, target]) => target)).toEqual(['reference/index.html']);
    expect(existsSync(join(packageFolder, 'reference/index.html'))).toBe(true);
    // What build-npm.mjs fills in.
    expect(readme).not.toContain('<!--');
    expect(readme).toContain('| `acorn` |');
  });
});
