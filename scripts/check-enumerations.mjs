/**
 * Finds second numberings: places that say again what src/records/enumerations.ts says, in TypeScript, Python, and comments.
 *
 *     const PART_COMPUTE = 4;                  a constant named like a member
 *     OK, ERROR = 0, 1                         several
 *     // kind: 1 transfer, 2 disk-read         words with numbers
 *     ['ok', 'failed', 'lost']                 the words in the order of their numbers
 *     box.kind === 4                           a column that is one of them, beside a number
 *     id === 0xffffffff                        the numbers that say "none"
 *
 * Prints a line for each and exits 1. Specs and Python's tests may hold numbers: they are what is compared with.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const HOME = 'src/records/enumerations.ts';
const FEWEST_FILES = 100;
/** Written from it; edges of types drawn by tests; the core's own states and flags, which never leave it. */
const FREE = [
  HOME,
  'spanwise/records/enumerations.py',
  'src/testing/drawn-frames.ts',
  'src/scheduler/task-state.ts',
  'src/scheduler/task-table.ts',
  'src/scheduler/validate-state.ts'
];
/** Words that stand for other things as well, where they do: file → text of the line. */
const MEANT_OTHERWISE = [
  ['benchmarks/size-of.ts', 'return status === 0'],
  ['src/charts/lane-raster.ts', 'kind !== 0 &&']
];

const kebab = name =>
  name
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();

/** @returns enumeration → its members as [word, number], by number. */
export function enumerationsIn(text) {
  const found = new Map();
  for (const [, name, body] of text.matchAll(/enum (\w+) \{([^}]*)\}/g)) {
    found.set(
      name,
      [...body.matchAll(/(\w+) = (\d+)/g)].map(([, member, value]) => [
        kebab(member),
        Number(value)
      ])
    );
  }
  return found;
}

const NONE = /\b0x_?f{4}(_?f{4})?\b|\b4_?294_?967_?295\b|\b65_?535\b/i;
const COLUMN =
  /\b(?:kind|status|state|origin|flags)(?:\[[^\]]*\])?!?\)? ?(?:===|!==|==|!=|&|>|<|>=|<=|:|=|\?\?) ?\d{1,2}\b(?![.\d_])/i;
const PYTHON_TUPLE = /^\s*(_?[A-Z][A-Z_0-9]*(?:, [A-Z][A-Z_0-9]*)+) = \d/;
const CONSTANT = /\b_?([A-Z][A-Z_0-9]+)(?:: \w+)? = (\d{1,2});?\s*$/;
const NUMBERED = /\b(?<number>\d{1,2}) (?<word>[a-z][a-z-]+)/g;
const NAMED =
  /['"]?\b(?<word>[A-Za-z][\w-]*)['"]?\]?(?: =|:) (?<number>\d{1,2})\b(?![.\d])/g;
const LISTED = /(['"])([a-z-]+)\1(?:\s*[,|]\s*(['"])([a-z-]+)\3)+/g;

/** Words beside numbers. */
function pairsIn(text) {
  return [NUMBERED, NAMED].flatMap(pattern =>
    [...text.matchAll(pattern)].map(({ groups: { word, number } }) => [
      kebab(word),
      Number(number)
    ])
  );
}

/** @returns one sentence per place of the file that says again what an enumeration says. */
export function secondNumberings(path, text, enumerations) {
  if (FREE.includes(path)) {
    return [];
  }
  const problems = [];
  const lines = text.split('\n');
  const said = (line, what) => {
    const isMeant = MEANT_OTHERWISE.some(
      ([file, of]) => file === path && lines[line].includes(of)
    );
    if (!isMeant) {
      problems.push(`${path}:${line + 1}: ${what} (${HOME})`);
    }
  };
  const members = [...enumerations].map(([name, all]) => [name, new Map(all)]);
  /** The enumeration that has a member whose name this one ends with. */
  const ofName = (name, value) =>
    members.find(([, words]) =>
      [...words].some(
        ([word, number]) =>
          (value === undefined || number === value) &&
          (kebab(name) === word || kebab(name).endsWith(`-${word}`))
      )
    )?.[0];
  lines.forEach((line, i) => {
    if (NONE.test(line)) {
      said(i, 'the number that says "none": NONE_U16, NONE_U32, or LARGEST_…');
    }
    if (COLUMN.test(line)) {
      said(i, 'a column of an enumeration beside a bare number');
    }
    const constant = CONSTANT.exec(line);
    if (constant !== null) {
      const of = ofName(constant[1], Number(constant[2]));
      if (of !== undefined) {
        said(i, `${constant[1]} numbers a member of ${of} again`);
      }
    }
    const tuple = PYTHON_TUPLE.exec(line);
    if (tuple !== null) {
      const named = tuple[1].split(', ').map(name => ofName(name));
      const of = named.find(
        (each, k) => each !== undefined && named.indexOf(each) !== k
      );
      if (of !== undefined) {
        said(i, `${tuple[1]} number members of ${of} again`);
      }
    }
    const here = pairsIn(line);
    if (here.length === 0) {
      return;
    }
    // Three lines together: an object or enum of its own has one member a line.
    const near = pairsIn(lines.slice(i, i + 3).join('\n'));
    for (const [name, words] of members) {
      const own = near.filter(([word]) => words.has(word));
      if (
        here.some(([word]) => words.has(word)) &&
        new Set(own.map(([word]) => word)).size > 1 &&
        new Set(own.map(([, number]) => number)).size > 1
      ) {
        said(i, `members of ${name} are numbered again`);
        break;
      }
    }
  });
  for (const match of text.matchAll(LISTED)) {
    const words = [...match[0].matchAll(/['"]([a-z-]+)['"]/g)].map(m => m[1]);
    const of = members.find(([, numbers]) => {
      const all = [...numbers.keys()];
      return (
        words.length > 2 &&
        words.length >= Math.min(3, all.length) &&
        words.every((word, k) => word === all[k])
      );
    });
    if (of !== undefined) {
      said(
        text.slice(0, match.index).split('\n').length - 1,
        `the words of ${of[0]} in their order again`
      );
    }
  }
  return problems;
}

function shippedFiles() {
  return ['src', 'spanwise', 'benchmarks']
    .flatMap(folder =>
      readdirSync(join(root, folder), { recursive: true }).map(name =>
        [folder, ...name.split(sep)].join('/')
      )
    )
    .filter(name => /\.(tsx?|py)$/.test(name))
    .filter(name => !/\/(__tests__|tests|labextension)\//.test(name))
    .sort();
}

/** @returns how many files were read, and what was found. */
export function checkEnumerations() {
  const enumerations = enumerationsIn(readFileSync(join(root, HOME), 'utf8'));
  const files = shippedFiles();
  return {
    files: files.length,
    problems: files.flatMap(path =>
      secondNumberings(
        path,
        readFileSync(join(root, path), 'utf8'),
        enumerations
      )
    )
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { files, problems } = checkEnumerations();
  for (const problem of problems) {
    console.error(problem);
  }
  if (files < FEWEST_FILES) {
    console.error(
      `Only ${files} files were found, and there are at least ${FEWEST_FILES}: folders are missing, or have other names.`
    );
    process.exitCode = 1;
  } else if (problems.length > 0) {
    console.error(`${problems.length} second numberings in ${files} files.`);
    process.exitCode = 1;
  } else {
    console.log(`enumerations: ${files} files number nothing again`);
  }
}
