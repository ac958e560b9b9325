/** Rules of ours, for oxlint. */
import { constantNames } from './constant-names.mjs';

const FIELDS = new Set([
  'PropertyDefinition',
  'TSAbstractPropertyDefinition',
  'AccessorProperty'
]);

/** Roles begin with I, private members with _. */
const roleNames = {
  meta: { type: 'suggestion', schema: [] },
  create(context) {
    function look(key) {
      const name = key?.name ?? key?.value;
      if (typeof name === 'string' && !/^_[a-z][a-zA-Z0-9]*$/.test(name)) {
        context.report({
          node: key,
          message: `${name} is private: name it in camelCase that begins with _.`
        });
      }
    }
    return {
      TSInterfaceDeclaration({ id }) {
        if (!/^I[A-Z][a-zA-Z0-9]*$/.test(id.name)) {
          context.report({
            node: id,
            message: `${id.name} is an interface: name it in PascalCase that begins with I.`
          });
        }
      },
      '[accessibility=private]'(node) {
        if (node.type === 'TSParameterProperty') {
          const { parameter } = node;
          look(
            parameter.type === 'AssignmentPattern' ? parameter.left : parameter
          );
        } else if (!node.computed && node.kind !== 'constructor') {
          look(node.key);
        }
      }
    };
  }
};

/** Fields first, then what is done with them. */
const fieldsFirst = {
  meta: { type: 'suggestion', schema: [] },
  create(context) {
    return {
      ClassBody({ body }) {
        let hasOther = false;
        for (const member of body) {
          const isField =
            FIELDS.has(member.type) &&
            !/^(Arrow)?FunctionExpression$/.test(member.value?.type ?? '');
          if (isField && hasOther) {
            context.report({
              node: member,
              message: 'Fields stand before constructors and methods.'
            });
          }
          hasOther ||= !isField && member.type !== 'TSIndexSignature';
        }
      }
    };
  }
};

/** Texts of users, of foreign clusters and of errors are in nearly all that is shown. */
const hiddenText = {
  meta: { type: 'problem', schema: [] },
  create(context) {
    return {
      "AssignmentExpression[left.property.name=/^(textContent|innerText|innerHTML|outerHTML)$/]:not([right.callee.name='shownText'])"(
        node
      ) {
        context.report({
          node,
          message: 'Write out what is hidden in a text: shownText(…).'
        });
      }
    };
  }
};

const WHY = 'Pure folders get time and chance from their caller.';

const noClock = {
  meta: { type: 'problem', schema: [] },
  create(context) {
    return {
      "NewExpression[callee.name='Date'][arguments.length=0]"(node) {
        context.report({ node, message: WHY });
      }
    };
  }
};

export default {
  meta: { name: 'house' },
  rules: {
    'constant-names': constantNames,
    'fields-first': fieldsFirst,
    'hidden-text': hiddenText,
    'no-clock': noClock,
    'role-names': roleNames
  }
};
