import jupyter from '@jupyter/eslint-plugin';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';
import { constantNames } from './scripts/constant-names.mjs';

/** Folders without a clock, without chance, without a platform. */
const pureFiles = [
  'src/{base,records,wire,scheduler,observer}/**/*.ts',
  'src/node/graph/**/*.ts',
  'src/node/local/{plan,request,values,tables,state,state-view,loop,executor}.ts',
  'src/panels/format/**/*.ts',
  'src/panels/*/{rows,figure,viewport}.ts'
];
const testFiles = [
  '**/__tests__/**/*.{ts,tsx}',
  'src/testing/**/*.{ts,tsx}',
  'ui-tests/**/*.{ts,tsx}'
];
/** Roles begin with I, private members with _. */
const names = [
  {
    selector: 'interface',
    format: ['PascalCase'],
    custom: { regex: '^I[A-Z]', match: true }
  },
  {
    selector: 'memberLike',
    modifiers: ['private'],
    format: ['camelCase'],
    leadingUnderscore: 'require'
  }
];
const why = 'Pure folders get time and chance from their caller.';

const hiddenText = {
  selector:
    "AssignmentExpression[left.property.name=/^(textContent|innerText|innerHTML|outerHTML)$/]:not([right.callee.name='shownText'])",
  message: 'Write out what is hidden in a text: shownText(…).'
};

export default tseslint.config(
  {
    ignores: [
      'node_modules',
      'lib',
      'coverage',
      '.*/**',
      'spanwise/**',
      '**/*.cjs',
      '**/*.d.ts',
      '**/test-results/**',
      '**/playwright-report/**'
    ]
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.base],
    plugins: { jupyter, house: { rules: { 'constant-names': constantNames } } },
    languageOptions: {
      parserOptions: {
        project: './tsconfig.json',
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      ...jupyter.configs['recommended-legacy'].rules,
      // Promises and exhaustive switches, whose types take longest, are oxlint's (.oxlintrc.json).
      // One bundle; what is heavy (plotly) is loaded with the first panel.
      'jupyter/prefer-lazy-imports': 'off',
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports' }
      ],
      // Fields first, then what is done with them.
      '@typescript-eslint/member-ordering': [
        'error',
        {
          default: 'never',
          classes: {
            memberTypes: [
              'field',
              ['static-initialization', 'constructor', 'method', 'get', 'set']
            ],
            order: 'as-written'
          }
        }
      ],
      '@typescript-eslint/naming-convention': ['error', ...names],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { args: 'none' }],
      'house/constant-names': 'error',
      curly: ['error', 'all'],
      eqeqeq: ['error', 'always'],
      'no-console': 'error',
      'no-duplicate-case': 'error',
      'no-duplicate-imports': 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
      'no-var': 'error',
      'prefer-arrow-callback': 'error',
      'prefer-const': 'error'
    }
  },
  {
    // Texts of users, of foreign clusters and of errors are in nearly all that is shown.
    files: ['src/{charts,exports,lab,panels}/**/*.{ts,tsx}'],
    ignores: [...testFiles, 'src/panels/notices.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          name: '@jupyterlab/apputils',
          importNames: [
            'InputDialog',
            'Notification',
            'showDialog',
            'showErrorMessage'
          ],
          message: 'src/panels/notices.ts shows texts with nothing hidden.'
        }
      ],
      'no-restricted-syntax': ['error', hiddenText]
    }
  },
  {
    files: pureFiles,
    ignores: testFiles,
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: why },
        { object: 'Date', property: 'now', message: why }
      ],
      // (a rule that is set again is not added to)
      'no-restricted-syntax': [
        'error',
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: why
        },
        hiddenText
      ]
    }
  },
  {
    // Views and plugins translate; pure code gives English to view and export.
    files: ['src/**'],
    ignores: ['src/{charts,panels}/**/*.tsx', 'src/lab/**'],
    rules: { 'jupyter/no-untranslated-string': 'off' }
  },
  {
    // Programs that talk to a terminal.
    files: ['src/sidecar/main.ts', 'benchmarks/**', 'examples/**'],
    rules: { 'no-console': 'off' }
  },
  {
    files: [...testFiles, '{benchmarks,examples}/**/*.ts'],
    rules: { 'house/constant-names': ['error', 'one way'] }
  },
  {
    files: testFiles,
    rules: {
      'jupyter/command-id-convention': 'off',
      'jupyter/no-untranslated-string': 'off',
      'jupyter/plugin-id-convention': 'off',
      'jupyter/require-disposable-ownership': 'off',
      'jupyter/require-disposable-transfer': 'off'
    }
  },
  prettier
);
