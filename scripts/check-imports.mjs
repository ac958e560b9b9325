/**
 * Checks every import under src against scripts/import-table.json.
 *
 * Prints one line per import that is not allowed and per circle of files that
 * import each other (imports of types count), and exits 1; says how many files
 * it read otherwise. Specs (`__tests__`) and src/testing may import anything; nothing
 * shipped may import them.
 */
import { readFileSync, readdirSync, existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** "panels/<any>/{rows,figure}" becomes a test for "panels/profile/rows.ts". */
function folderPattern(folder) {
  const escaped = folder
    .replace(/[.]/g, '\\.')
    .replace(/\*/g, '[^/]+')
    .replace(/\{([^}]+)\}/g, (_, names) => `(${names.replaceAll(',', '|')})`);
  return new RegExp(`^${escaped}(/|\\.tsx?$|$)`);
}

/** "@lumino/*" and "node:*" match by prefix; "react" also matches "react/x". */
function isListed(specifier, listed) {
  return listed.some(name =>
    name.endsWith('*')
      ? specifier.startsWith(name.slice(0, -1))
      : specifier === name || specifier.startsWith(`${name}/`)
  );
}

function shippedFiles(src) {
  return readdirSync(src, { recursive: true })
    .map(name => name.split(sep).join('/'))
    .filter(name => /\.tsx?$/.test(name))
    .filter(name => !/(^|\/)__tests__\//.test(name))
    .filter(name => !name.startsWith('testing/'))
    .filter(name => statSync(join(src, name)).isFile())
    .sort();
}

/**
 * One sentence per circle of files.
 *
 * Files that reach each other are one knot; of each knot the shortest circle
 * through its first file is told. When that is cut, the next one is.
 *
 * @param imports - file → the files that it imports
 */
function circles(imports) {
  /** The shortest way from a file back to itself, or undefined. */
  function circleThrough(start) {
    const cameFrom = new Map();
    const queue = [start];
    for (const file of queue) {
      for (const next of imports.get(file) ?? []) {
        if (next === start) {
          const way = [start];
          for (let at = file; at !== start; at = cameFrom.get(at)) {
            way.splice(1, 0, at);
          }
          return way;
        }
        if (!cameFrom.has(next)) {
          cameFrom.set(next, file);
          queue.push(next);
        }
      }
    }
    return undefined;
  }

  const told = new Set();
  const sentences = [];
  for (const file of imports.keys()) {
    const way = told.has(file) ? undefined : circleThrough(file);
    if (way !== undefined && !way.some(each => told.has(each))) {
      sentences.push(
        `circle: ${[...way, file].map(f => `src/${f}`).join(' → ')}`
      );
    }
    for (const each of way ?? []) {
      told.add(each);
    }
  }
  return sentences;
}

/**
 * @param src - the folder to check
 * @param table - the contents of import-table.json
 * @returns how many files were read and one sentence per problem
 */
export function checkImports(src, table) {
  const rows = table.rows.map(row => ({
    ...row,
    pattern: folderPattern(row.folder)
  }));
  const rowOf = path => rows.find(row => row.pattern.test(path));
  const files = shippedFiles(src);
  const problems = [];
  const imports = new Map();
  for (const file of files) {
    const imported = new Set();
    imports.set(file, imported);
    const row = rowOf(file);
    if (row === undefined) {
      problems.push(
        `src/${file}: its folder is not in scripts/import-table.json`
      );
      continue;
    }
    const text = readFileSync(join(src, file), 'utf8');
    for (const found of ts.preProcessFile(text, true, true).importedFiles) {
      const specifier = found.fileName;
      const line = text.slice(0, found.pos).split('\n').length;
      const at = `src/${file}:${line}`;
      if (!specifier.startsWith('.')) {
        if (!isListed(specifier, row.outside)) {
          problems.push(`${at}: ${row.folder} may not import "${specifier}"`);
        }
        continue;
      }
      const target = relative(src, resolve(src, dirname(file), specifier))
        .split(sep)
        .join('/');
      if (target.startsWith('..')) {
        problems.push(`${at}: "${specifier}" leaves src`);
        continue;
      }
      const targetFile = resolveFile(src, target);
      const targetRow = rowOf(targetFile);
      imported.add(targetFile);
      const known = { from: file, to: target };
      const allowed =
        targetRow !== undefined &&
        (targetRow.folder === row.folder ||
          row.src.includes(targetRow.folder) ||
          table.debt.some(d => d.from === known.from && d.to === known.to));
      if (!allowed) {
        problems.push(
          `${at}: ${row.folder} may not import ${targetRow?.folder ?? target}`
        );
      }
    }
  }
  problems.push(...circles(imports));
  return { files: files.length, problems };
}

/** "base/ring" and "panels/profile" as the compiler would find them. */
function resolveFile(src, target) {
  for (const ending of ['.ts', '.tsx', '/index.ts', '/index.tsx']) {
    if (existsSync(join(src, target + ending))) {
      return target + ending;
    }
  }
  return target;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const table = JSON.parse(
    readFileSync(join(root, 'scripts', 'import-table.json'), 'utf8')
  );
  const { files, problems } = checkImports(join(root, 'src'), table);
  for (const problem of problems) {
    console.error(problem);
  }
  if (problems.length > 0) {
    console.error(
      `${problems.length} imports against the table in ARCHITECTURE.md ("Who may import whom"), or in circles.`
    );
    process.exitCode = 1;
  } else {
    console.log(`imports: ${files} files follow the table, without circles`);
  }
}
