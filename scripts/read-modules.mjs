/** What the project's JavaScript and TypeScript files export, import and name, read from their syntax alone. */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import ts from 'typescript';

const CODE = /\.(tsx?|mjs|cjs)$/;
const ENDINGS = ['', '.ts', '.tsx', '.mjs', '.cjs', '/index.ts', '/index.tsx'];
/** Calls whose first argument names a module. */
const LOADING = /^(require|require\.resolve|jest\.\w+)$/;

/**
 * @param base - the folder of the project
 * @param folders - those with code; files beside them are read too
 * @returns path → module, paths written with `/`
 */
export function readModules(base, folders) {
  const beside = readdirSync(base).filter(name =>
    statSync(join(base, name)).isFile()
  );
  const below = folders
    .filter(folder => existsSync(join(base, folder)))
    .flatMap(folder =>
      readdirSync(join(base, folder), { recursive: true }).map(
        name => `${folder}/${name.split(sep).join('/')}`
      )
    )
    .filter(name => !/\/(node_modules|test-results|\.[^/]*)\//.test(name));
  const names = [...beside, ...below].filter(name => CODE.test(name)).sort();
  return new Map(
    names.map(name => [
      name,
      readModule(name, readFileSync(join(base, name), 'utf8'))
    ])
  );
}

/** The file that `from`, imported by `name`, means; undefined if it is none of these modules. */
export function fileOf(modules, name, from) {
  const target = posix.join(posix.dirname(name), from);
  return from.startsWith('.')
    ? ENDINGS.map(end => target + end).find(file => modules.has(file))
    : undefined;
}

/**
 * @returns
 * - `exports`: name → line
 * - `imports`: `{from, names}`; names is null if everything is taken
 * - `passedOn`: `{as, from, name}` of `export … from`; `*` passes on everything
 * - `named`: identifier → how often it stands in the file
 * - `strings`: the texts in the file
 */
function readModule(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const module = {
    exports: new Map(),
    imports: [],
    passedOn: [],
    named: new Map(),
    strings: new Set()
  };
  const visit = node => {
    if (ts.isIdentifier(node)) {
      module.named.set(node.text, (module.named.get(node.text) ?? 0) + 1);
    } else if (ts.isStringLiteralLike(node)) {
      module.strings.add(node.text);
    } else if (ts.isCallExpression(node)) {
      noteLoading(module, source, node);
    } else if (ts.isImportTypeNode(node)) {
      noteImportType(module, node);
    }
    ts.forEachChild(node, visit);
  };
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) {
      noteImport(module, source, statement);
    } else if (ts.isExportDeclaration(statement)) {
      noteExports(module, source, statement);
    } else {
      noteDeclared(module, source, statement);
    }
    if (!ts.isExportDeclaration(statement)) {
      visit(statement);
    }
  }
  return module;
}

function lineOf(source, node) {
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return line + 1;
}

function noteImport({ imports }, source, { importClause, moduleSpecifier }) {
  const from = moduleSpecifier.text;
  const bindings = importClause?.namedBindings;
  const names = importClause?.name === undefined ? [] : ['default'];
  if (bindings === undefined) {
    imports.push({ from, names });
  } else if (ts.isNamedImports(bindings)) {
    const taken = bindings.elements.map(
      ({ propertyName, name }) => (propertyName ?? name).text
    );
    imports.push({ from, names: [...names, ...taken] });
  } else {
    imports.push({ from, names: membersOf(source, bindings.name.text) });
  }
}

function noteExports({ exports, imports, passedOn }, source, node) {
  const from = node.moduleSpecifier?.text;
  const clause = node.exportClause;
  if (clause === undefined) {
    passedOn.push({ as: '*', from, name: '*' });
  } else if (ts.isNamespaceExport(clause)) {
    exports.set(clause.name.text, lineOf(source, clause));
    imports.push({ from, names: null });
  } else {
    for (const element of clause.elements) {
      const as = element.name.text;
      exports.set(as, lineOf(source, element));
      if (from !== undefined) {
        passedOn.push({
          as,
          from,
          name: (element.propertyName ?? element.name).text
        });
      }
    }
  }
}

/** A declaration that is exported where it stands. */
function noteDeclared({ exports }, source, node) {
  const has = kind => node.modifiers?.some(each => each.kind === kind) ?? false;
  if (ts.isExportAssignment(node)) {
    exports.set('default', lineOf(source, node));
  } else if (!has(ts.SyntaxKind.ExportKeyword)) {
    return;
  } else if (has(ts.SyntaxKind.DefaultKeyword)) {
    exports.set('default', lineOf(source, node));
  } else if (ts.isVariableStatement(node)) {
    for (const declaration of node.declarationList.declarations) {
      for (const id of namesOfBinding(declaration.name)) {
        exports.set(id, lineOf(source, declaration));
      }
    }
  } else if (node.name !== undefined) {
    exports.set(node.name.text, lineOf(source, node));
  }
}

function namesOfBinding(binding) {
  return ts.isIdentifier(binding)
    ? [binding.text]
    : binding.elements
        .filter(ts.isBindingElement)
        .flatMap(({ name }) => namesOfBinding(name));
}

/** `import('./a')`, `require('./a')`, `jest.mock('./a')`. */
function noteLoading({ imports }, source, { expression, arguments: given }) {
  const isLoading =
    expression.kind === ts.SyntaxKind.ImportKeyword ||
    LOADING.test(expression.getText(source));
  if (isLoading && given[0] !== undefined && ts.isStringLiteralLike(given[0])) {
    imports.push({ from: given[0].text, names: null });
  }
}

/** `import('./a').Name` as a type. */
function noteImportType({ imports }, { argument, qualifier }) {
  let first = qualifier;
  while (first !== undefined && ts.isQualifiedName(first)) {
    first = first.left;
  }
  imports.push({
    from: argument.literal.text,
    names: first === undefined ? null : [first.text]
  });
}

/** The names that a file uses of a namespace that it imports; null if it hands the namespace on. */
function membersOf(source, namespace) {
  const members = [];
  let isHandedOn = false;
  const visit = node => {
    if (ts.isImportDeclaration(node)) {
      return;
    }
    const [owner, member] = ts.isPropertyAccessExpression(node)
      ? [node.expression, node.name]
      : ts.isQualifiedName(node)
        ? [node.left, node.right]
        : [];
    if (
      owner !== undefined &&
      ts.isIdentifier(owner) &&
      owner.text === namespace
    ) {
      members.push(member.text);
      return;
    }
    isHandedOn ||= ts.isIdentifier(node) && node.text === namespace;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return isHandedOn ? null : members;
}
