import jupyter from '@jupyter/eslint-plugin';
import tseslint from 'typescript-eslint';

/** Where JupyterLab's and Lumino's packages may be named (`scripts/import-table.json`), and browser tests. */
const ofJupyter = [
  'src/{charts,exports,feed,lab,panels,testing}/**/*.{ts,tsx}',
  'src/index.ts',
  'ui-tests/**/*.ts'
];
const testFiles = [
  'src/{charts,exports,feed,lab,panels}/**/__tests__/**/*.{ts,tsx}',
  'src/testing/**/*.{ts,tsx}',
  'ui-tests/**/*.ts'
];

/**
 * What JupyterLab's own rules find, of plugins, signals and disposables: they ask for types, which takes most of the time. All other rules
 * are oxlint's (.oxlintrc.json).
 */
export default tseslint.config(
  {
    ignores: [
      'node_modules',
      'lib',
      'coverage',
      '.*/**',
      'spanwise/**',
      '**/*.cjs',
      '**/*.mjs',
      '**/*.d.ts',
      '**/test-results/**',
      '**/playwright-report/**'
    ]
  },
  {
    files: ofJupyter,
    extends: [tseslint.configs.base],
    plugins: { jupyter },
    languageOptions: {
      parserOptions: {
        project: './tsconfig.lab.json',
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      ...jupyter.configs['recommended-legacy'].rules,
      // One bundle; what is heavy (plotly) is loaded with the first panel.
      'jupyter/prefer-lazy-imports': 'off'
    }
  },
  {
    // Views and plugins translate; pure code gives English to view and export.
    files: ofJupyter,
    ignores: ['src/{charts,panels}/**/*.tsx', 'src/lab/**'],
    rules: { 'jupyter/no-untranslated-string': 'off' }
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
  }
);
