/**
 * Leaves the words of errors alone: texts inside of what is thrown. No test should pin a sentence; that an error is thrown, of which kind and
 * when, is another defect, which is planted.
 */
const error = {
  shouldIgnore(path) {
    if (!path.isStringLiteral() && !path.isTemplateLiteral()) {
      return undefined;
    }
    const made = path.findParent(
      parent => parent.isNewExpression() || parent.isStatement()
    );
    return made?.isNewExpression() && made.parentPath.isThrowStatement()
      ? 'the words of an error'
      : undefined;
  }
};

export const strykerPlugins = [
  { kind: 'Ignore', name: 'error-sentences', value: error }
];
