/**
 * A rule for oxlint: how the constants of a file are named.
 *
 * ```
 *   data    numbers, texts, lists, patterns, read-only sets and maps, objects that nothing writes to    SCREAMING
 *   things  what is called or holds functions, what is made and lives on: a socket, a schema, a cache   camelCase
 * ```
 *
 * In programs and specs, whose constants are mostly steps of one run (`'one way'`), what is SCREAMING is data; data may be camelCase.
 * An enumeration has the name of its type; JupyterLab's `CommandIDs` and tokens keep theirs.
 *
 * Of types it asks the compiler in machine code, whose interface for programs may change with each release (`typescript-native`). It looks
 * at the `tsconfig.json` of the folder in which oxlint runs, and at files as they are on the disk.
 */
import path from 'node:path';
import { API, SignatureKind, TypeFlags } from 'typescript-native/unstable/sync';

const SCREAMING = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/;
const CAMEL = /^[a-z][a-zA-Z0-9]*$/;
const JUPYTERLABS = /^(CommandIDs|I[A-Z][A-Za-z]*Token)$/;
const PLAIN =
  TypeFlags.StringLike |
  TypeFlags.NumberLike |
  TypeFlags.BooleanLike |
  TypeFlags.BigIntLike |
  TypeFlags.ESSymbolLike |
  TypeFlags.Undefined |
  TypeFlags.Null;
const READ_ONLY = new Set(['RegExp', 'ReadonlySet', 'ReadonlyMap']);

/** The projects that the compiler has read, by their folders: one, but in tests. */
const projects = new Map();

function projectOf(folder) {
  let project = projects.get(folder);
  if (project === undefined) {
    const file = path.join(folder, 'tsconfig.json');
    const compiler = new API({ cwd: folder });
    project = compiler
      .updateSnapshot({ openProjects: [file] })
      .getProject(file);
    projects.set(folder, project);
  }
  return project;
}

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

/** What the compiler says of the types of a file's constants. */
class Types {
  constructor(checker) {
    this._checker = checker;
  }

  isCalled(type) {
    return (
      this._checker.getSignaturesOfType(type, SignatureKind.Call).length > 0
    );
  }

  holdsFunctions(type) {
    const checker = this._checker;
    return (
      checker
        .getTypeOfSymbol(checker.getPropertiesOfType(type))
        .some(each => this.isCalled(each)) ||
      checker
        .getIndexInfosOfType(type)
        .some(({ valueType }) => this.isCalled(valueType))
    );
  }

  /** Whether it is data whatever the value is. */
  isOfData(type) {
    return (
      isPlain(type) ||
      this._checker.isArrayType(type) ||
      this._checker.isTupleType(type) ||
      READ_ONLY.has(type.getSymbol()?.name) ||
      READ_ONLY.has(type.getAliasSymbol()?.name)
    );
  }
}

function isPlain(type) {
  if (type.isUnionType()) {
    return type.getTypes().every(isPlain);
  }
  return type.isIntersectionType()
    ? type.getTypes().some(isPlain)
    : (type.flags & PLAIN) !== 0;
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
    const oneWay = context.options[0] === 'one way';
    const found = [];

    function look(declaration) {
      for (const { id, init } of declaration.declarations) {
        if (id.type !== 'Identifier' || JUPYTERLABS.test(id.name)) {
          continue;
        }
        // (what is camelCase in a program or a spec is right, be it data or not)
        if (oneWay && CAMEL.test(id.name)) {
          continue;
        }
        const variable = context.sourceCode
          .getDeclaredVariables(declaration)
          .find(each => each.name === id.name);
        const isEnumeration = variable.defs.length > 1;
        if (!isEnumeration) {
          found.push({ id, variable, value: written(init) });
        }
      }
    }

    function judge() {
      if (found.length === 0) {
        return;
      }
      const { checker, program } = projectOf(context.cwd);
      const file = context.filename;
      const said = checker.getTypeAtPosition(
        file,
        found.map(({ id }) => id.range[0])
      );
      const types = new Types(checker);
      for (const [index, { id, variable, value }] of found.entries()) {
        const type = said[index];
        if (type === undefined) {
          throw new Error(
            `The compiler knows no type of ${id.name}: is ${file} a file of tsconfig.json, as it is on the disk?`
          );
        }
        if (types.isCalled(type)) {
          continue;
        }
        const isData =
          types.isOfData(type) ||
          (value?.type === 'ObjectExpression' &&
            !value.properties.some(
              each => each.value?.type === 'NewExpression'
            ) &&
            !types.holdsFunctions(type) &&
            !variable.references.some(isWrittenTo));
        const isRight = isData
          ? oneWay || SCREAMING.test(id.name)
          : CAMEL.test(id.name);
        if (!isRight) {
          const messageId = isData ? 'data' : 'thing';
          context.report({ node: id, messageId, data: { name: id.name } });
        }
      }
    }
    return {
      'Program > VariableDeclaration[kind=const]:not([declare=true])': look,
      'Program > ExportNamedDeclaration > VariableDeclaration[kind=const]':
        look,
      'Program:exit': judge
    };
  }
};
