/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'specs',
  plugins: ['./mutation/specs-runner.mjs', './mutation/error-sentences.mjs'],
  ignorers: ['error-sentences'],
  coverageAnalysis: 'perTest',
  mutate: [
    'src/{records,wire,sources}/*.ts',
    'src/observer/{folds,store,tiles}/*.ts',
    'src/panels/*/{rows,figure}*.ts'
  ],
  // A defect in code that runs once, when a module is loaded, would need a process of its own.
  ignoreStatic: true,
  incremental: true,
  incrementalFile: '.build/mutants-known.json',
  reporters: ['progress-append-only', 'json'],
  jsonReporter: { fileName: '.build/mutants.json' },
  tempDirName: '.build/mutation',
  cleanTempDir: 'always',
  allowConsoleColors: false,
  ignorePatterns: ['.build', '.venv', '.test-env', 'lib', 'ui-tests'],
  // Beside other work a spec may take long. A loop that does not end is found sooner: by how often it passes the defect.
  timeoutMS: 60_000
};
