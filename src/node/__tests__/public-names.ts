/**
 * The public names of the package and the examples in their comments, read by TypeScript's own parser: a name is whatever index.ts exports,
 * values and types alike.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

type PublicName = {
  readonly name: string;
  /** The first sentence of its comment: what it is. */
  readonly summary: string;
  /** Where the reference lists it. */
  readonly groups: readonly string[];
  /** Its own, in its own comment. */
  readonly examples: readonly Example[];
  /** In comments of its members. */
  readonly memberExamples: readonly Example[];
  /** Lines where code stands outside of an `@example`, so that no test runs it. */
  readonly strayCode: readonly string[];
};

export type Example = {
  /** For the test's name: `getSync`, `getSync 2`, `README 3`. */
  readonly title: string;
  /** A whole ES module. */
  readonly code: string;
};

/**
 * Reads index.ts and the files that it names, and nothing that those import: all of the package takes five times as long.
 *
 * @param entry - the path of index.ts, which only passes on names of other files
 */
export function publicNames(entry: string): PublicName[] {
  return readSource(entry).statements.flatMap(statement => {
    if (ts.isImportDeclaration(statement)) {
      return [];
    }
    if (
      !ts.isExportDeclaration(statement) ||
      statement.moduleSpecifier === undefined ||
      statement.exportClause === undefined ||
      !ts.isNamedExports(statement.exportClause)
    ) {
      throw new Error(
        `${entry} may only say export { … } from '…': ${statement.getText()}`
      );
    }
    const { text } = statement.moduleSpecifier as ts.StringLiteral;
    const source = readSource(resolve(dirname(entry), `${text}.ts`));
    return statement.exportClause.elements.map(({ name, propertyName }) => {
      const declared = declarationsOf((propertyName ?? name).text, source);
      if (declared.length === 0) {
        throw new Error(`${source.fileName} declares no ${name.text}.`);
      }
      return describe(name.text, declared);
    });
  });
}

function readSource(path: string): ts.SourceFile {
  const text = readFileSync(path, 'utf8');
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/** At the file's top: a value and a type may share a name, and functions have one for each form. */
function declarationsOf(name: string, file: ts.SourceFile): ts.Declaration[] {
  return file.statements
    .flatMap((statement): ts.NamedDeclaration[] =>
      ts.isVariableStatement(statement)
        ? [...statement.declarationList.declarations]
        : [statement as unknown as ts.NamedDeclaration]
    )
    .filter(each => each.name?.getText() === name);
}

/** The programs in a page: every block marked `ts`. */
export function markdownExamples(path: string, title: string): Example[] {
  return blocksIn(readFileSync(resolve(path), 'utf8')).map(({ code }, at) => ({
    title: `${title} ${at + 1}`,
    code
  }));
}

function describe(
  name: string,
  declarations: readonly ts.Declaration[]
): PublicName {
  const own = declarations.flatMap(commentsOf);
  const members = declarations.flatMap(declaration =>
    membersOf(declaration).flatMap(commentsOf)
  );
  const [first] = own;
  const examples = own.flatMap(blocksIn).filter(({ isExample }) => isExample);
  return {
    name,
    summary: first === undefined ? '' : firstSentence(first),
    groups: own.flatMap(comment =>
      [...comment.matchAll(/^@group (.+)$/gm)].map(([, group]) => group!)
    ),
    examples: titled(name, examples),
    memberExamples: titled(
      `${name}, member`,
      members.flatMap(blocksIn).filter(({ isExample }) => isExample)
    ),
    strayCode: [...own, ...members]
      .flatMap(blocksIn)
      .filter(({ isExample }) => !isExample)
      .map(({ code }) => code.split('\n', 1)[0]!)
  };
}

function titled(name: string, blocks: readonly Block[]): Example[] {
  return blocks.map(({ code }, at) => ({
    title: blocks.length === 1 ? name : `${name} ${at + 1}`,
    code
  }));
}

/** Of a class or a type of members; of anything else none. */
function membersOf(declaration: ts.Declaration): readonly ts.Node[] {
  if (ts.isClassLike(declaration) || ts.isInterfaceDeclaration(declaration)) {
    return [...declaration.members];
  }
  return ts.isTypeAliasDeclaration(declaration)
    ? typeMembers(declaration.type)
    : [];
}

function typeMembers(type: ts.TypeNode): readonly ts.Node[] {
  if (ts.isTypeLiteralNode(type)) {
    return [...type.members];
  }
  return ts.isIntersectionTypeNode(type) || ts.isUnionTypeNode(type)
    ? type.types.flatMap(typeMembers)
    : [];
}

/** The text of each comment of a declaration, without stars. */
function commentsOf(node: ts.Node): string[] {
  // A variable's comment belongs to its statement.
  const holder = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  return ts
    .getJSDocCommentsAndTags(holder)
    .filter(ts.isJSDoc)
    .map(comment =>
      comment
        .getText()
        .replace(/^\/\*\*|\*\/$/g, '')
        .split('\n')
        .map(line => line.replace(/^\s*\* ?/, ''))
        .join('\n')
        .trim()
    );
}

function firstSentence(comment: string): string {
  const text = comment.split(/^@/m)[0]!.replace(/\s+/g, ' ').trim();
  return /^.*?[.:](?= |$)/.exec(text)?.[0] ?? '';
}

type Block = { readonly code: string; readonly isExample: boolean };

/** Fenced blocks of TypeScript; `isExample` of those whose section began with `@example`. */
function blocksIn(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  let tag = '';
  let from = -1;
  lines.forEach((line, at) => {
    if (from >= 0) {
      if (line.trim() === '```') {
        const code = `${lines.slice(from, at).join('\n')}\n`;
        blocks.push({ code, isExample: tag === 'example' });
        from = -1;
      }
    } else if (/^```(ts|typescript)$/.test(line.trim())) {
      from = at + 1;
    } else {
      tag = /^@(\w+)/.exec(line)?.[1] ?? tag;
    }
  });
  return blocks;
}
