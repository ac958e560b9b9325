/** The tests that a file of TypeScript has, by their titles: what it says, without running it. */
import ts from 'typescript';

export type WrittenTest = {
  /** As written; of a template, its text with the marks of the language. */
  readonly title: string;
  /** It, or a `describe` around it, is left out of runs. */
  readonly isSkipped: boolean;
  /** Its body, or a function of the file that it calls, asserts something. */
  readonly asserts: boolean;
};

const TEST = /^(?:it|test)\b/;
const SKIPPED =
  /^(?:it|test|describe)(?:\.\w+)*\.(?:skip|todo|failing|fixme)\b/;
const SKIPPED_WORD = /^(?:xit|xtest|xdescribe)\b/;
/** `waitFor` is an error if what it waits for does not come. */
const ASSERTS = /\bexpect\b|\bexpect[A-Z]\w*\(|\bfc\.assert\b|\bwaitFor\(/;

export function testsOf(path: string, text: string): WrittenTest[] {
  const kind = path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const file = ts.createSourceFile(
    path,
    text,
    ts.ScriptTarget.Latest,
    true,
    kind
  );
  const asserting = assertingFunctions(file);
  const tests: WrittenTest[] = [];
  const visit = (node: ts.Node, isSkipped: boolean): void => {
    let isSkippedBelow = isSkipped;
    if (ts.isCallExpression(node)) {
      const called = node.expression.getText().replaceAll(/\s+/g, '');
      isSkippedBelow ||= SKIPPED.test(called) || SKIPPED_WORD.test(called);
      const [title, ...body] = node.arguments;
      if (
        title !== undefined &&
        (TEST.test(called) || /^(?:xit|xtest)\b/.test(called)) &&
        (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title))
      ) {
        const own = body.map(each => each.getText()).join('\n');
        tests.push({
          title: ts.isStringLiteralLike(title)
            ? title.text
            : title.getText().slice(1, -1),
          isSkipped: isSkippedBelow,
          asserts:
            ASSERTS.test(own) ||
            asserting.some(name => new RegExp(`\\b${name}\\b`).test(own))
        });
      }
    }
    ts.forEachChild(node, child => visit(child, isSkippedBelow));
  };
  visit(file, false);
  return tests;
}

/** Names of the file's functions that assert something, by themselves or through another one. */
function assertingFunctions(file: ts.SourceFile): string[] {
  const bodies = new Map<string, string>();
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionDeclaration(node) && node.name !== undefined) {
      bodies.set(node.name.text, node.getText());
    } else if (
      ts.isVariableDeclaration(node) &&
      ts.isIdentifier(node.name) &&
      node.initializer !== undefined &&
      ts.isArrowFunction(node.initializer)
    ) {
      bodies.set(node.name.text, node.initializer.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  const names = new Set<string>();
  for (let before = -1; names.size > before;) {
    before = names.size;
    for (const [name, body] of bodies) {
      const calls = [...names].some(
        each => each !== name && new RegExp(`\\b${each}\\b`).test(body)
      );
      if (ASSERTS.test(body) || calls) {
        names.add(name);
      }
    }
  }
  return [...names];
}
