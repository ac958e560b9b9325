/**
 * The public names of the package and the examples in their comments, read by TypeScript's own parser: a name is whatever index.ts exports,
 * values and types alike.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
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

/** @param entry - the path of index.ts */
export function publicNames(entry: string): PublicName[] {
  // Without libraries: names and comments need none, and reading is five times as fast.
  const program = ts.createProgram([entry], {
    noLib: true,
    types: [],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(entry);
  const entrySymbol = source && checker.getSymbolAtLocation(source);
  if (entrySymbol === undefined) {
    throw new Error(`${entry} is no module.`);
  }
  return checker.getExportsOfModule(entrySymbol).map(symbol => {
    const target =
      (symbol.flags & ts.SymbolFlags.Alias) === 0
        ? symbol
        : checker.getAliasedSymbol(symbol);
    return describe(symbol.name, target.declarations ?? []);
  });
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
