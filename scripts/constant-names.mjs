/**
 * An eslint rule: how the constants of a file are named.
 *
 * ```
 *   data    numbers, texts, lists, patterns, read-only sets and maps, objects that nothing writes to    SCREAMING
 *   things  what is called or holds functions, what is made and lives on: a socket, a schema, a cache   camelCase
 * ```
 *
 * In programs and specs, whose constants are mostly steps of one run (`'one way'`), what is SCREAMING is data; data may be camelCase.
 * An enumeration has the name of its type; JupyterLab's `CommandIDs` and tokens keep theirs.
 */
import ts from 'typescript';

const SCREAMING = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/;
const CAMEL = /^[a-z][a-zA-Z0-9]*$/;
const JUPYTERLABS = /^(CommandIDs|I[A-Z][A-Za-z]*Token)$/;
const PLAIN =
  ts.TypeFlags.StringLike |
  ts.TypeFlags.NumberLike |
  ts.TypeFlags.BooleanLike |
  ts.TypeFlags.BigIntLike |
  ts.TypeFlags.ESSymbolLike |
  ts.TypeFlags.Undefined |
  ts.TypeFlags.Null;
const READ_ONLY = new Set(['RegExp', 'ReadonlySet', 'ReadonlyMap']);

/** The value itself, without what is said of its type. */
function written(node) {
  return node?.type === 'TSAsExpression' ||
    node?.type === 'TSSatisfiesExpression'
    ? written(node.expression)
    : node;
}

/** Whether something is put into the object: `a.b = …`, `a.b += …`, `a.b++`, `delete a.b`. */
function isWrittenTo({ identifier }) {
  let node = identifier;
  while (
    node.parent.type === 'MemberExpression' &&
    node.parent.object === node
  ) {
    node = node.parent;
  }
  const { parent } = node;
  return (
    node !== identifier &&
    ((parent.type === 'AssignmentExpression' && parent.left === node) ||
      parent.type === 'UpdateExpression' ||
      (parent.type === 'UnaryExpression' && parent.operator === 'delete'))
  );
}

export const constantNames = {
  meta: {
    type: 'suggestion',
    schema: [{ enum: ['one way'] }],
    messages: {
      data: '{{name}} is data: name it in SCREAMING_CASE.',
      thing: '{{name}} is no data that stays as written: name it in camelCase.'
    }
  },
  create(context) {
    const services = context.sourceCode.parserServices;
    const oneWay = context.options[0] === 'one way';
    const checker = services.program.getTypeChecker();
    const isPlain = type =>
      type.isUnionOrIntersection()
        ? type.isUnion()
          ? type.types.every(isPlain)
          : type.types.some(isPlain)
        : (type.flags & PLAIN) !== 0;
    const isCalled = type => type.getCallSignatures().length > 0;
    const holdsFunctions = type =>
      checker
        .getPropertiesOfType(type)
        .some(each => isCalled(checker.getTypeOfSymbol(each))) ||
      checker.getIndexInfosOfType(type).some(each => isCalled(each.type));
    const isData = (type, variable, value) =>
      isPlain(type) ||
      checker.isArrayType(type) ||
      checker.isTupleType(type) ||
      READ_ONLY.has(type.symbol?.name) ||
      READ_ONLY.has(type.aliasSymbol?.name) ||
      (value?.type === 'ObjectExpression' &&
        !value.properties.some(each => each.value?.type === 'NewExpression') &&
        !holdsFunctions(type) &&
        !variable.references.some(isWrittenTo));

    function look(declaration) {
      for (const { id, init } of declaration.declarations) {
        if (id.type !== 'Identifier' || JUPYTERLABS.test(id.name)) {
          continue;
        }
        const type = services.getTypeAtLocation(id);
        const variable = context.sourceCode
          .getDeclaredVariables(declaration)
          .find(each => each.name === id.name);
        const isEnumeration = variable.defs.length > 1;
        if (isCalled(type) || isEnumeration) {
          continue;
        }
        const messageId = isData(type, variable, written(init))
          ? 'data'
          : 'thing';
        const isRight =
          messageId === 'data'
            ? oneWay || SCREAMING.test(id.name)
            : CAMEL.test(id.name);
        if (!isRight) {
          context.report({ node: id, messageId, data: { name: id.name } });
        }
      }
    }
    return {
      'Program > VariableDeclaration[kind=const]:not([declare=true])': look,
      'Program > ExportNamedDeclaration > VariableDeclaration[kind=const]': look
    };
  }
};
